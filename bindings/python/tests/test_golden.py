"""Results that must not change by a bit: ``golden.json`` has their hashes.

``ABSENTIA_GOLDEN=record`` records them again, for a change that is meant to change results and says so.
"""

import hashlib
import json
import math
import os
import pathlib
import struct

import numpy as np
import pytest
import scipy.sparse as sp

import absentia
from absentia.implicit.als import AlternatingLeastSquares

RECORDED = pathlib.Path(__file__).with_name("golden.json")
SOLVERS = ["eals", "eals-vanilla", "subspace", "subspace:4", "als", "als-cg", "als-cg:5"]
BASELINES = ["svd", "ials1", "rcd", "ii-svd", "bpr", "sgd-observed", "popularity", "itemknn:7"]
WEIGHTS = [
    0.1,
    "uniform:0.2",
    "popularity:c0=16,alpha=0.4",
    "popularity:mean=0.05,alpha=0.25",
    "activity:mean=0.1,alpha=0.5",
    "popularity*activity:mean=0.1,alpha=0.4,beta=0.2",
    "learned:mean=0.01,rank=2",
    "uniform:0.01 + popularity:mean=0.1,alpha=0.5",
]


def data(users=300, items=120, seed=0):
    """Entries by whole numbers alone, so that no library decides their bits."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, users, 4000)
    columns = np.minimum(rng.integers(0, items, 4000), rng.integers(0, items, 4000))
    values = rng.integers(1, 6, 4000).astype(np.float32)
    X = sp.coo_matrix((values, (rows, columns)), shape=(users, items)).tocsr()
    X.sum_duplicates()
    return X


def digest(*arrays):
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        total.update(str(array.shape).encode() + (array.tobytes() if array.dtype != object else repr(array.tolist()).encode()))
    return total.hexdigest()[:16]


def factors(model):
    return digest(model.user_factors_, model.item_factors_)


def objective(model):
    return digest(np.array([sweep.objective for sweep in model.history_]))


def lists(model, n=10):
    ids, scores = model.recommend(model.user_ids_[:50], n=n)
    return digest(ids.astype(str), scores)


def fit(X=None, **params):
    given = {"factors": 12, "iterations": 4, "regularization": 0.02, **params}
    return absentia.Factorizer(**given).fit(data() if X is None else X)


def results():
    """A name and a function that gives hashes, for every case."""
    cases = {}
    for solver in SOLVERS:
        cases[f"solver {solver}"] = lambda solver=solver: fit(solver=solver)
    for solver in BASELINES:
        weights = {"svd": 1.0, "bpr": 1.0, "ials1": 0.05, "rcd": 0.05}.get(solver, 0.0)
        cases[f"baseline {solver}"] = lambda solver=solver, weights=weights: fit(solver=solver, weights=weights)
    for weights in WEIGHTS:
        cases[f"weights {weights}"] = lambda weights=weights: fit(weights=weights)
    for targets in ["binary", "raw", "log", "normalized:0.35", "normalized:0.3,0.1"]:
        cases[f"targets {targets}"] = lambda targets=targets: fit(targets=targets)
    for confidence in [2.0, "linear:3", "log:2,0.5"]:
        cases[f"confidence {confidence}"] = lambda confidence=confidence: fit(confidence=confidence)
    cases["post-scale"] = lambda: fit(post_scale=0.4)
    cases["exponent"] = lambda: fit(reg_exponent=0.0)
    cases["seed"] = lambda: fit(random_state=7, init_std=0.1)
    cases["one thread"] = lambda: fit(num_threads=1, factors=40)
    cases["tolerance"] = lambda: fit(iterations=40, tolerance=0.001)
    cases["automatic"] = lambda: absentia.Factorizer(factors=8, iterations=4).fit(data())
    cases["automatic penalty"] = lambda: absentia.Factorizer(factors=8, iterations=4, weights=0.05).fit(data())
    cases["lowrank"] = lambda: fit(
        weights=absentia.weights.LowRank(np.full((300, 1), 0.5, np.float32), np.linspace(0.1, 1, 120, dtype=np.float32)[:, None])
    )
    return cases


def table():
    rows = data().tocoo()
    return [f"u{u}" for u in rows.row], [f"i{i}" for i in rows.col], rows.data


def hashes():
    found = {}
    for name, case in results().items():
        model = case()
        found[f"{name} | lists"] = lists(model)
        if "popularity" != model.solver and not model.solver.startswith("itemknn"):
            found[f"{name} | factors"] = factors(model)
            found[f"{name} | objective"] = objective(model)
    model = fit(X=table())
    found["texts | ids"] = digest(model.user_ids_.astype(str), model.item_ids_.astype(str))
    found["texts | factors"] = factors(model)
    found["texts | lists"] = lists(model)
    X = data()
    for use_cg in (False, True):
        drop_in = AlternatingLeastSquares(factors=16, iterations=3, alpha=2.0, use_cg=use_cg, random_state=3, num_threads=2)
        drop_in.fit(X, show_progress=False)
        found[f"implicit cg={use_cg} | factors"] = digest(drop_in.user_factors, drop_in.item_factors)
        ids, scores = drop_in.recommend(np.arange(20), X[:20], N=5)
        found[f"implicit cg={use_cg} | lists"] = digest(ids, scores)
    return found


def machine():
    """What decides the last bits: the kernels that run, and how the mathematical library rounds."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        flags = ""
    kernels = "avx512" if "avx512vl" in flags else "avx2" if "avx2" in flags else "other"
    values = [f(step * 0.0137) for step in range(1, 2000) for f in (math.exp, math.log, math.sin, math.cos)]
    values += [math.pow(step * 0.0137, 0.37) for step in range(1, 2000)]
    return f"{kernels} {hashlib.sha256(struct.pack(f'{len(values)}d', *values)).hexdigest()[:16]}"


def test_every_result_is_the_recorded_one():
    if os.environ.get("ABSENTIA_GOLDEN") == "record":
        RECORDED.write_text(json.dumps({"machine": machine(), **hashes()}, indent=1) + "\n")
        return
    recorded = json.loads(RECORDED.read_text())
    if recorded.pop("machine") != machine():
        pytest.skip("the hashes were recorded on another kind of machine")
    found = hashes()
    assert {name: found.get(name) for name in recorded} == recorded
    assert list(found) == list(recorded)
