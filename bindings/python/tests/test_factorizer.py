"""The estimator: conventions, training, answers."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sample import matrix

import absentia
import absentia.implicit
from absentia import Factorizer, weights


@pytest.fixture(scope="module")
def fitted():
    scheme = weights.Popularity(c0=5, alpha=0.4)
    return Factorizer(factors=6, weights=scheme, regularization=0.01, reg_exponent=0.0, iterations=8).fit(matrix())


def test_a_penalty_that_is_not_given_is_chosen():
    model = Factorizer(factors=6).fit(matrix())
    assert model.regularization is None and model.regularization_ > 0
    scores = model.user_factors_ @ (model.item_scale_[:, None] * model.item_factors_).T
    scores[matrix().toarray() != 0] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, 0]
    np.testing.assert_array_equal(model.recommend(np.arange(200), n=1)[0][:, 0], best)
    scheme = weights.Popularity(mean=0.01, alpha=0.25)
    one = Factorizer(factors=6, weights=scheme).fit(matrix())
    assert one.targets is None and one.targets_ == "binary"
    again = Factorizer(factors=6, weights=scheme, regularization=one.regularization_, post_scale=one.post_scale_)
    again = again.fit(matrix())
    np.testing.assert_array_equal(again.item_factors_, one.item_factors_)
    np.testing.assert_array_equal(again.item_scale_, one.item_scale_)
    given = Factorizer(factors=6, regularization=0.5).fit(matrix())
    assert (given.regularization_, given.post_scale_, given.targets_) == (0.5, 0.0, "binary")


def test_a_recipe_that_is_not_given_is_chosen_and_kept(tmp_path):
    # A matrix so dense that what is missing says a lot.
    rng = np.random.default_rng(3)
    taste = rng.integers(0, 4, 300)[:, None] == rng.integers(0, 4, 120)[None, :]
    dense = sp.csr_matrix(np.where(rng.random((300, 120)) < np.where(taste, 0.6, 0.05), 1.0, 0.0))
    model = Factorizer(factors=6).fit(dense)
    given = Factorizer(factors=6, weights="popularity:mean=0.01,alpha=0.25", targets="binary").fit(dense)
    assert model.weights is None and model.targets is None
    missing = dense.toarray() == 0

    def mean(fitted):
        return (fitted.weights_.a @ fitted.weights_.b.T)[missing].mean()

    means = [mean(model), mean(given)]
    assert means[1] == pytest.approx(0.01, rel=1e-3)
    assert (model.targets_, means[0]) != (given.targets_, pytest.approx(means[1]))
    grown = pickle.loads(pickle.dumps(Factorizer(factors=6).fit(dense))).partial_fit(dense, seen=dense)
    assert (grown.regularization_, grown.post_scale_, grown.targets_) == (
        model.regularization_,
        model.post_scale_,
        model.targets_,
    )
    assert mean(grown) == pytest.approx(means[0], rel=1e-3)
    # Twice the items: the mean is what was chosen, whatever it comes to by item.
    wide = sp.hstack([dense, dense]).tocsr()
    grown = Factorizer(factors=6).fit(dense).partial_fit(wide)
    both = sp.hstack([dense + dense, dense]).toarray() == 0
    assert (grown.weights_.a @ grown.weights_.b.T)[both].mean() == pytest.approx(means[0], rel=1e-3)
    model.save(tmp_path / "m.absentia")
    assert Factorizer.load(tmp_path / "m.absentia").targets == model.targets_


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
    given = []
    model = Factorizer(factors=3, iterations=50).fit(matrix(), callback=lambda *args: given.append(args) or len(given) == 4)
    assert len(model.history_) == 4 and model.stop_reason_ == "callback"
    assert given[-1] == (4, model.history_[-1].seconds, model.history_[-1].objective)


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


def test_evaluation_is_the_engines(fitted):
    test = matrix(seed=5)
    found = fitted.evaluate(test, ["ndcg@10", "recall@5", "auc"])
    assert list(found) == ["recall@5", "ndcg@10", "auc"] or set(found) == {"ndcg@10", "recall@5", "auc"}
    ids, _ = fitted.recommend(found.users, n=5)
    hits = [len(set(row) & set(test[u].indices)) / test[u].nnz for u, row in zip(found.users, ids)]
    assert found["recall@5"] == pytest.approx(np.mean(hits), abs=1e-6)
    assert found.per_user["recall@5"].shape == found.users.shape
    with pytest.raises(ValueError, match="not a metric"):
        fitted.evaluate(test, ["f1@3"])


def test_exposed_pairs_are_pushed_down():
    x = matrix()
    shown = sp.csr_matrix(matrix(seed=9))
    plain = Factorizer(factors=6, weights=0.05).fit(x)
    given = Factorizer(factors=6, weights=0.05).fit(x, exposed=shown, exposed_weight=5.0)
    refused = (shown.toarray() != 0) & (x.toarray() == 0)
    mean = lambda m: np.abs(m.user_factors_ @ m.item_factors_.T)[refused].mean()
    assert mean(given) < mean(plain)


@pytest.mark.parametrize("solver, scheme", [("bpr", 1.0), ("sgd-observed", 0.0)])
def test_stochastic_solvers_take_the_step_lengths_that_are_given(solver, scheme, tmp_path):
    def train(rate):
        start = dict(factors=4, weights=scheme, solver=solver, init_std=0.1, regularization=0.0, random_state=3)
        return Factorizer(iterations=1, learning_rate=rate, **start).fit(matrix())

    tiny, small, double = train(1e-9), train(1e-5), train(2e-5)
    # Over one pass of short steps the factors move in proportion to them.
    moved, further = (m.user_factors_ - tiny.user_factors_ for m in (small, double))
    assert np.linalg.norm(further) == pytest.approx(2 * np.linalg.norm(moved), rel=0.02)
    small.save(tmp_path / "m.absentia")
    assert Factorizer.load(tmp_path / "m.absentia").learning_rate == pytest.approx(1e-5)
    assert small.get_params()["learning_rate"] == 1e-5
    with pytest.raises(ValueError, match="learning_rate"):
        train(0.0)


def test_threads_do_not_change_the_bits():
    one, two = (Factorizer(factors=8, num_threads=n).fit(matrix()) for n in (1, 2))
    np.testing.assert_array_equal(one.user_factors_, two.user_factors_)


@pytest.mark.parametrize("module", [absentia, weights, absentia.implicit, absentia.implicit.evaluation])
def test_every_public_thing_is_documented(module):
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name
        for part, value in inspect.getmembers(thing) if inspect.isclass(thing) else []:
            if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{part}"


def test_partial_fit_goes_on():
    model = Factorizer(factors=4, weights=0.1, iterations=3).fit(matrix())
    before = model.history_[-1].objective
    assert model.partial_fit(matrix()).history_[-1].objective < before


def test_partial_fit_adds_to_what_there_is():
    x = matrix()
    first = sp.csr_matrix(x[:150])
    second = sp.csr_matrix(sp.vstack([sp.csr_matrix((150, 100), dtype=np.float32), x[150:]]))
    model = Factorizer(factors=4, weights=0.1, iterations=30, random_state=1).fit(first)
    assert model.partial_fit(second, iterations=30).user_factors_.shape == (200, 4)
    whole = Factorizer(factors=4, weights=0.1, iterations=60, random_state=1).fit(x)
    assert model.history_[-1].objective == pytest.approx(whole.history_[-1].objective, rel=0.02)
    # What was there before is still known: nothing of it is recommended.
    assert not set(model.recommend(0, n=100)[0]) & set(x[0].indices)


def test_partial_fit_gives_new_ids_rows():
    model = Factorizer(factors=3, weights=0.1).fit((["ann", "ann", "bob"], ["jaws", "alien", "jaws"]))
    before = model.score("ann", ["jaws", "alien"])
    model.partial_fit((["cy", "cy", "ann"], ["jaws", "up", "up"]), iterations=5)
    assert model.user_ids_.tolist() == ["ann", "bob", "cy"]
    assert model.item_ids_.tolist() == ["alien", "jaws", "up"]
    assert model.recommend("cy")[0].tolist() == ["alien"]
    assert model.recommend("ann")[0].tolist() == []
    np.testing.assert_allclose(model.score("ann", ["jaws", "alien"]), before, atol=0.3)
    back = Factorizer(factors=3).fit(([1, 2], [5, 6])).partial_fit(([9], [5]))
    assert back.user_ids_.tolist() == [1, 2, 9] and back.user_ids_.dtype == np.int64


def test_partial_fit_reads_files_and_tables(tmp_path):
    (tmp_path / "new.csv").write_text("user,item\ncy,up\ncy,jaws\n")
    log = (["ann", "ann", "bob"], ["jaws", "alien", "jaws"])
    by_file = Factorizer(factors=3).fit(log).partial_fit(tmp_path / "new.csv")
    by_columns = Factorizer(factors=3).fit(log).partial_fit((["cy", "cy"], ["up", "jaws"]))
    np.testing.assert_array_equal(by_file.user_factors_, by_columns.user_factors_)
    assert by_file.item_ids_.tolist() == ["alien", "jaws", "up"]


def test_partial_fit_wants_what_a_loaded_model_has_not_kept(tmp_path):
    log = (["ann", "ann", "bob"], ["jaws", "alien", "jaws"])
    Factorizer(factors=3, weights=0.1).fit(log).save(tmp_path / "m.absentia")
    loaded = Factorizer.load(tmp_path / "m.absentia")
    with pytest.raises(ValueError, match="pass seen"):
        loaded.partial_fit((["cy"], ["up"]))
    assert loaded.partial_fit((["cy"], ["up"]), seen=log).recommend("ann")[0].tolist() == ["up"]
    with pytest.raises(ValueError, match="ids"):
        loaded.partial_fit(sp.eye(9, format="csr"))


def test_a_run_that_is_interrupted_leaves_the_model_as_it_was(fitted):
    model = Factorizer(factors=3, iterations=3).fit(matrix())
    before = model.user_factors_.copy()
    with pytest.raises(ZeroDivisionError):
        model.fit(matrix(seed=4), callback=lambda *_: 1 / 0)
    np.testing.assert_array_equal(model.user_factors_, before)
