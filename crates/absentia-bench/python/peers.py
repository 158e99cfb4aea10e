"""One measured run of another library: ``python peers.py REQUEST`` prints one line of JSON.

REQUEST is the JSON object that the benchmark's own runs take as well (see ``src/request.rs``). Every
peer runs with its best settings for speed: float32, the requested number of threads, BLAS on one thread where
the library asks for that (the benchmark sets the environment), no loss computed on the way.
"""

import importlib.metadata
import json
import os
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp


def load(request):
    """The binary matrix of a folder, as written by ``src/data.rs``."""
    folder = request["data"]
    indptr = np.load(os.path.join(folder, "indptr.npy"))
    indices = np.load(os.path.join(folder, "indices.npy"))
    shape = (len(indptr) - 1, request["items"])
    return sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr.astype(np.int32)), shape=shape)


class Record:
    """Seconds of each iteration, and points of a curve: seconds since the start, saving left out."""

    def __init__(self, request):
        self.is_curve = request["task"] == "curve"
        self.last_only = request["last_only"]
        self.iterations = request["iterations"]
        self.out = request["out"]
        self.seconds, self.measured, self.elapsed = [], [], []
        self.number, self.paused, self.start = 0, 0.0, time.perf_counter()

    def after(self, seconds, factors):
        """Notes an iteration; ``factors()`` yields the user and item factors after it."""
        now = time.perf_counter()
        self.number += 1
        self.seconds.append(seconds)
        if self.is_curve and (not self.last_only or self.number == self.iterations):
            self.point(self.number, now - self.start - self.paused, *factors())
        self.paused += time.perf_counter() - now

    def point(self, number, elapsed, users, items):
        self.measured.append(number)
        self.elapsed.append(elapsed)
        if self.out:
            for name, factors in (("users", users), ("items", items)):
                path = os.path.join(self.out, f"{number}-{name}.npy")
                np.save(path, np.ascontiguousarray(factors, np.float32))


def run_implicit(matrix, request, record):
    from implicit.cpu.als import AlternatingLeastSquares

    settings = {"alpha": 50.0, "regularization": 60.0} if request["objective"] == "implicit" else {}
    model = AlternatingLeastSquares(
        factors=request["factors"],
        iterations=request["iterations"],
        num_threads=request["threads"],
        use_cg=request["solver"] == "cg",
        random_state=1,
        **settings,
    )
    factors = lambda: (model.user_factors, model.item_factors)
    record.start = time.perf_counter()
    model.fit(matrix, show_progress=False, callback=lambda _, seconds, __: record.after(seconds, factors))


def run_irspack(matrix, request, record):
    from irspack import IALSRecommender

    settings = {"alpha0": 0.1, "reg": 1e-3}
    if request["objective"] == "implicit":
        # implicit's objective: weight 50 observed, 1 missing, a plain penalty of 60.
        matrix = matrix * np.float32(49.0)
        settings = {"alpha0": 1.0, "reg": 60.0, "nu": 0.0, "loss_type": "ORIGINAL"}
    record.start = time.perf_counter()
    model = IALSRecommender(
        matrix,
        n_components=request["factors"],
        solver_type=request["solver"].upper(),
        max_cg_steps=3,
        ialspp_subspace_dimension=request["block"],
        n_threads=request["threads"],
        **settings,
    )
    model.start_learning()
    for _ in range(request["iterations"]):
        start = time.perf_counter()
        model.run_epoch()
        seconds = time.perf_counter() - start
        record.after(seconds, lambda: (model.get_user_embedding(), model.get_item_embedding()))


def run_cmfrec(matrix, request, record):
    """No hook per iteration: differences of fits to one iteration and to more."""
    from cmfrec import CMF_implicit

    matrix = matrix.tocoo()
    settings = {"alpha": 49.0, "lambda_": 60.0} if request["objective"] == "implicit" else {}

    def fit(iterations):
        model = CMF_implicit(
            k=request["factors"],
            niter=iterations,
            use_cg=True,
            max_cg_steps=3,
            finalize_chol=False,
            precompute_for_predictions=False,
            use_float=True,
            nthreads=request["threads"],
            verbose=False,
            **settings,
        )
        start = time.perf_counter()
        model.fit(matrix)
        return time.perf_counter() - start, model

    wanted = request["iterations"]
    if not record.is_curve:
        first = min(fit(1)[0], fit(1)[0])
        record.seconds.append((fit(1 + wanted)[0] - first) / wanted)
        return
    for iterations in [wanted] if record.last_only else range(1, wanted + 1):
        elapsed, model = fit(iterations)
        record.point(iterations, elapsed, model.A_, model.B_)


def run_buffalo(matrix, request, record):
    from buffalo.algo.eals import EALS
    from buffalo.algo.options import EALSOption
    from buffalo.data.mm import MatrixMarketOptions
    from buffalo.misc import log

    log.set_log_level(log.WARN)
    with tempfile.TemporaryDirectory() as folder:
        data = MatrixMarketOptions().get_default_option()
        data.input.main = matrix
        data.data.validation = {}
        data.data.tmp_dir = folder
        data.data.path = os.path.join(folder, "data.h5py")
        options = EALSOption().get_default_option()
        options.update({"d": request["factors"], "num_workers": request["threads"]})
        model = EALS(options, data_opt=data)
        model.initialize()
        record.start = time.perf_counter()
        model._precompute_cache()
        for _ in range(request["iterations"]):
            start = time.perf_counter()
            model._iterate(group="rowwise")
            model._iterate(group="colwise")
            record.after(time.perf_counter() - start, lambda: (model.P, model.Q))


def recommend(matrix, request, record):
    """Seconds of implicit's batch recommendation for all users, from given factors."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=request["factors"], num_threads=request["threads"])
    model.user_factors = np.load(os.path.join(request["out"], "users.npy"))
    model.item_factors = np.load(os.path.join(request["out"], "items.npy"))
    users = np.arange(matrix.shape[0])
    for _ in range(request["iterations"]):
        start = time.perf_counter()
        ids, _ = model.recommend(users, matrix, N=20, filter_already_liked_items=True)
        record.seconds.append(time.perf_counter() - start)
    np.save(os.path.join(request["out"], "implicit-ids.npy"), ids.astype(np.int32))


def product_peak(record):
    """Seconds of a large product of f32 matrices; its size is fixed in ``src/peak.rs``."""
    left, right = (np.ones((4096, 4096), np.float32) for _ in range(2))
    for _ in range(4):
        start = time.perf_counter()
        left @ right
        record.seconds.append(time.perf_counter() - start)


def memory(name):
    """A line of /proc/self/status, in bytes; 0 where there is none."""
    try:
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith(name))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return 0


def main():
    request = json.loads(sys.argv[1])
    package = request["package"]
    __import__(package)
    at_rest = memory("VmRSS:")
    record = Record(request)
    if request["task"] == "peak":
        product_peak(record)
    elif request["task"] == "recommend":
        recommend(load(request), request, record)
    else:
        runs = {"implicit": run_implicit, "irspack": run_irspack, "cmfrec": run_cmfrec, "buffalo": run_buffalo}
        runs[package](load(request), request, record)
    print(
        json.dumps(
            {
                "seconds": record.seconds,
                "measured": record.measured,
                "elapsed": record.elapsed,
                "recall": [],
                "peak_bytes": memory("VmHWM:"),
                "rest_bytes": at_rest,
                "version": importlib.metadata.version(package),
            }
        )
    )


if __name__ == "__main__":
    main()
