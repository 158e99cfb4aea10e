"""The estimator: conventions, answers, weights, files, interruption, memory, parity with the CLI."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import absentia
from absentia import Factorizer, weights


def matrix(users=200, items=100, density=0.06, seed=0):
    return sp.csr_matrix(sp.random(users, items, density, format="csr", random_state=seed, dtype=np.float32))


@pytest.fixture(scope="module")
def fitted():
    return Factorizer(factors=6, weights=weights.Popularity(c0=5, alpha=0.4), iterations=8, reg_exponent=0.0).fit(matrix())


def test_parameters_follow_scikit_learn():
    sklearn = pytest.importorskip("sklearn.base")
    scheme = weights.Popularity(c0=5)
    model = Factorizer(factors=3, weights=scheme)
    assert model.weights is scheme and model.get_params()["factors"] == 3
    copy = sklearn.clone(model)
    assert copy is not model and copy.weights == scheme
    assert model.set_params(factors=9).factors == 9
    with pytest.raises(ValueError, match="invalid parameter 'rank'"):
        model.set_params(rank=1)
    with pytest.raises(absentia.NotFittedError):
        model.recommend(0)


def test_the_history_splits_the_objective(fitted):
    assert [sweep.iteration for sweep in fitted.history_] == list(range(1, 9))
    objectives = [sweep.objective for sweep in fitted.history_]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in zip(objectives, objectives[1:]))
    last = fitted.history_[-1]
    assert last.objective == pytest.approx(last.observed + last.missing + last.regularization)
    p, q, w = fitted.user_factors_, fitted.item_factors_, fitted.weights_
    seen = matrix().toarray() != 0
    scores = p.astype(np.float64) @ q.T
    assert last.observed == pytest.approx(((1 - scores)[seen] ** 2).sum(), rel=1e-4)
    assert last.missing == pytest.approx(((w.a @ w.b.T) * scores**2)[~seen].sum(), rel=1e-4)


def test_factors_are_views(fitted):
    assert np.shares_memory(fitted.user_factors_, fitted.user_factors_)
    assert not fitted.user_factors_.flags.writeable


def test_a_callback_ends_the_run():
    told = []
    model = Factorizer(factors=3, iterations=50).fit(matrix(), callback=lambda *args: told.append(args) or len(told) == 4)
    assert len(model.history_) == 4 and model.stop_reason_ == "callback"
    assert told[-1] == (4, model.history_[-1].seconds, model.history_[-1].objective)


def test_an_exception_of_a_callback_comes_out():
    with pytest.raises(ZeroDivisionError):
        Factorizer(factors=3).fit(matrix(), callback=lambda *args: 1 / 0)


def test_progress_is_shown(capsys):
    Factorizer(factors=2, iterations=3).fit(matrix(), show_progress=True)
    assert "3/3" in capsys.readouterr().err


def test_recommendations_are_the_best_unseen(fitted):
    scores = fitted.user_factors_ @ fitted.item_factors_.T
    scores[matrix().toarray() != 0] = -np.inf
    ids, values = fitted.recommend(np.arange(200), n=5)
    np.testing.assert_array_equal(ids, np.argsort(-scores, axis=1, kind="stable")[:, :5])
    one, _ = fitted.recommend(7, n=5)
    np.testing.assert_array_equal(one, ids[7])
    allowed, _ = fitted.recommend(7, n=5, allow=[1, 2, 3], exclude_seen=False)
    assert sorted(allowed) == [1, 2, 3]
    assert not set(fitted.recommend(7, n=5, deny=ids[7])[0]) & set(ids[7])
    np.testing.assert_allclose(fitted.score(7, one), values[7], rtol=1e-6)


def test_unknown_users_are_key_errors(fitted):
    for call in (lambda: fitted.recommend(200), lambda: fitted.recommend(-1), lambda: fitted.similar_items(100),
                 lambda: fitted.score(0, 100), lambda: fitted.weights_.weight(0, 100)):
        with pytest.raises(KeyError):
            call()


def test_explanations_add_up(fitted):
    explained = fitted.explain(3, 8)
    assert explained.score == pytest.approx(float(fitted.score(3, 8)[0]), rel=1e-5)
    assert explained.score == pytest.approx(sum(x for _, x in explained.contributions) + explained.remainder)


def test_folding_in_is_the_best_row(fitted):
    x = matrix()
    rows = fitted.fold_in(x[:3])
    q, w = fitted.item_factors_.astype(np.float64), fitted.weights_
    for row, p in enumerate(rows):
        seen = x[row].toarray()[0] != 0
        weight = np.where(seen, 1.0, (w.a[row] @ w.b.T))
        best = np.linalg.solve((q.T * weight) @ q + 0.01 * np.eye(6), (q.T * weight) @ seen)
        np.testing.assert_allclose(p, best, rtol=1e-3, atol=1e-4)
    ids, _ = fitted.recommend_rows(rows, n=4, seen=x[:3])
    assert ids.shape == (3, 4) and not set(ids[0]) & set(x[0].indices)
    np.testing.assert_array_equal(fitted.fold_in([list(x[0].indices)]), rows[:1])
    with pytest.raises(ValueError, match="columns"):
        fitted.fold_in(x[:3, :10])


def test_partial_fit_goes_on_and_grows():
    model = Factorizer(factors=4, weights=0.1, iterations=3).fit(matrix())
    before = model.history_[-1].objective
    assert model.partial_fit(matrix()).history_[-1].objective < before
    grown = sp.csr_matrix(sp.vstack([matrix(), matrix(5)]))
    assert model.partial_fit(grown).user_factors_.shape == (205, 4)
    assert np.abs(model.user_factors_[200:]).sum() > 0


def test_evaluation_is_the_engines(fitted):
    test = matrix(seed=5)
    found = fitted.evaluate(test, ["ndcg@10", "recall@5", "auc"])
    assert list(found) == ["recall@5", "ndcg@10", "auc"] or set(found) == {"ndcg@10", "recall@5", "auc"}
    ids, _ = fitted.recommend(found.users, n=5)
    hits = [len(set(row) & set(test[u].indices)) / test[u].nnz for u, row in zip(found.users, ids)]
    assert found["recall@5"] == pytest.approx(np.mean(hits), abs=1e-6)
    assert found.per_user["recall@5"].shape == found.users.shape
    with pytest.raises(ValueError, match="no metric"):
        fitted.evaluate(test, ["f1@3"])


def test_exposed_pairs_are_pushed_down():
    x = matrix()
    shown = sp.csr_matrix(matrix(seed=9))
    plain = Factorizer(factors=6, weights=0.05).fit(x)
    told = Factorizer(factors=6, weights=0.05).fit(x, exposed=shown, exposed_weight=5.0)
    refused = (shown.toarray() != 0) & (x.toarray() == 0)
    mean = lambda m: np.abs(m.user_factors_ @ m.item_factors_.T)[refused].mean()
    assert mean(told) < mean(plain)


def test_weights_compose_and_explain():
    x = matrix()
    table = np.array([[0.1, 0.2], [0.3, 0.4]])
    groups = weights.Groups(table, np.arange(200) % 2, np.arange(100) % 2)
    both = (weights.Popularity(c0=5, alpha=0.4) + groups + weights.Uniform(0.01)).resolve(x)
    assert both.weight(1, 0) == pytest.approx(weights.Popularity(c0=5).resolve(x).weight(1, 0) + 0.31, rel=1e-5)
    explained = both.explain(1, 0)
    assert [part["scheme"] for part in explained.parts] == ["popularity", "groups", "uniform"]
    assert "user segment 1" in str(explained)


def test_low_rank_dense_and_function_weights_are_the_same():
    x, rng = matrix(), np.random.default_rng(0)
    a, b = rng.random((200, 2), dtype=np.float32), rng.random((100, 2), dtype=np.float32)
    exact = weights.LowRank(a, b).resolve(x)
    np.testing.assert_allclose(exact.a @ exact.b.T, a @ b.T, rtol=1e-6)
    for scheme in (
        weights.Dense(a @ b.T, rank=2),
        weights.Dense(a @ b.T, error=1e-4),
        weights.Function(lambda u, i: (a[u[:, 0]] @ b[i[0]].T), rank=2),
    ):
        found = scheme.resolve(x)
        np.testing.assert_allclose(found.a @ found.b.T, a @ b.T, atol=1e-3)
        assert found.relative_error < 1e-3 and "rank 2" in found.approximations[0]
    far = weights.Dense(rng.random((200, 100)), rank=1, method="nonnegative").resolve(x)
    assert far.relative_error > 0.1 and not far.may_be_negative


def test_an_exception_of_a_weight_function_comes_out():
    def broken(users, items):
        raise LookupError("no such table")

    for use in (lambda w: w.resolve(matrix()), lambda w: Factorizer(factors=2, weights=w).fit(matrix())):
        with pytest.raises(LookupError, match="no such table"):
            use(weights.Function(broken, rank=1))
    with pytest.raises(ValueError, match="yields shape"):
        weights.Function(lambda u, i: np.ones((3, 3)), rank=1).resolve(matrix())


def test_groups_take_ids():
    log = (["ann", "bob"], ["up", "jaws"])
    scheme = weights.Groups([[1.0, 2.0]], {"ann": 0, "bob": 0}, {"jaws": 1, "up": 0})
    assert scheme.resolve(log).weight("ann", "jaws") == 2.0
    with pytest.raises(KeyError, match="up"):
        weights.Groups([[1.0]], {"ann": 0, "bob": 0}, {"jaws": 0}).resolve(log)


def test_models_are_pickled_and_saved_bit_for_bit(fitted, tmp_path):
    fitted.save(tmp_path / "model.absentia")
    for back in (pickle.loads(pickle.dumps(fitted)), Factorizer.load(tmp_path / "model.absentia")):
        np.testing.assert_array_equal(back.user_factors_, fitted.user_factors_)
        assert back.history_ == fitted.history_
        assert back.get_params()["solver"] == "eals"
        with pytest.raises(ValueError, match="pass seen"):
            back.recommend(0)
        np.testing.assert_array_equal(back.recommend(0, seen=matrix())[0], fitted.recommend(0)[0])
    with pytest.raises(FileNotFoundError):
        Factorizer.load(tmp_path / "other.absentia")
    (tmp_path / "bad.absentia").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="bad.absentia"):
        Factorizer.load(tmp_path / "bad.absentia")
    safetensors = pytest.importorskip("safetensors.numpy")
    fitted.to_safetensors(tmp_path / "m.safetensors")
    stored = safetensors.load_file(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(stored["user_factors"], fitted.user_factors_)


def test_models_of_implicit_load(tmp_path):
    theirs = pytest.importorskip("implicit.cpu.als").AlternatingLeastSquares(factors=4, iterations=2)
    theirs.fit(matrix(), show_progress=False)
    theirs.save(str(tmp_path / "m.npz"))
    np.testing.assert_array_equal(Factorizer.load(tmp_path / "m.npz").item_factors_, theirs.item_factors)


def test_threads_do_not_change_the_bits():
    one, two = (Factorizer(factors=8, num_threads=n).fit(matrix()) for n in (1, 2))
    np.testing.assert_array_equal(one.user_factors_, two.user_factors_)


def command_line():
    path = os.environ.get("ABSENTIA_CLI")
    if not path:
        pytest.skip("ABSENTIA_CLI does not name the absentia binary")
    return path


def test_the_command_line_trains_the_same_bits(tmp_path):
    cli, rng = command_line(), np.random.default_rng(0)
    rows = "".join(f"u{u},i{i},{r}\n" for u, i, r in zip(rng.integers(0, 80, 900), rng.integers(0, 50, 900), rng.integers(1, 6, 900)))
    (tmp_path / "log.csv").write_text("user,item,rating\n" + rows)
    options = "--factors 5 --iterations 6 --regularization 0.05 --reg-exponent 0.5 --seed 7 --confidence linear:2 --targets log".split()
    saved = tmp_path / "cli.absentia"
    subprocess.run([cli, "train", tmp_path / "log.csv", "--model", saved, "--weights", "popularity:c0=4,alpha=0.4", *options],
                   check=True, capture_output=True)
    mine = Factorizer(factors=5, iterations=6, regularization=0.05, reg_exponent=0.5, random_state=7, confidence="linear:2", targets="log",
                      weights=weights.Popularity(c0=4, alpha=0.4)).fit(tmp_path / "log.csv")
    theirs = Factorizer.load(saved)
    np.testing.assert_array_equal(mine.user_factors_, theirs.user_factors_)
    np.testing.assert_array_equal(mine.item_factors_, theirs.item_factors_)
    assert mine.user_ids_.tolist() == theirs.user_ids_.tolist()
    assert [s.objective for s in mine.history_] == [s.objective for s in theirs.history_]
    # And the other way round: what Python saved answers on the command line.
    mine.save(tmp_path / "python.absentia")
    said = subprocess.run([cli, "recommend", tmp_path / "python.absentia", "u3", "--train", tmp_path / "log.csv"],
                          check=True, capture_output=True, text=True).stdout
    assert mine.recommend("u3", n=1)[0][0] in said


INTERRUPT = """
import threading, os, signal, time, sys
import numpy as np, scipy.sparse as sp, absentia
x = sp.csr_matrix(sp.random(20000, 5000, 0.01, format="csr", random_state=0, dtype=np.float32))
model = absentia.Factorizer(factors=128, iterations=100000)
def stop():
    time.sleep(1.0)
    global sent
    sent = time.time()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop).start()
try:
    model.fit(x)
except KeyboardInterrupt:
    print(time.time() - sent)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_is_honoured_within_a_second():
    done = subprocess.run([sys.executable, "-c", INTERRUPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0


def test_other_threads_run_while_training():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    Factorizer(factors=32, iterations=30).fit(matrix(5000, 2000, 0.01))
    took = time.perf_counter() - start
    stop.set()
    thread.join()
    assert len(ticks) > 0.2 * took / 0.005


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp, absentia
rng = np.random.default_rng(0)
m, n, per = 400_000, 1000, 40
indices = np.sort(rng.integers(0, n // per, (m, per), dtype=np.int32) + np.arange(per, dtype=np.int32) * (n // per), axis=1)
x = sp.csr_matrix((np.ones(m * per, np.float32), indices.ravel(), np.arange(0, m * per + 1, per, dtype=np.int32)), shape=(m, n))
del indices
model = absentia.Factorizer(factors=1, iterations=1, num_threads=1)
model.fit(x[:10])
def now():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
before = now()
with open("/proc/self/clear_refs", "w") as file: file.write("5")
model.fit(x)
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((peak - before) / (4 * x.nnz), x.nnz)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs /proc")
def test_sorted_int32_rows_are_not_copied():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    columns = float(done.stdout.split()[0])
    # In columns of four bytes an entry: the transpose has indices (and values until they are known to
    # be binary), and rows and factors take some more; a copy of the matrix would add two.
    assert columns < 3.4, columns
