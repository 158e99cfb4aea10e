"""Weights on missing entries: composed, given, approximated, explained."""

import numpy as np
import pytest
from sample import matrix

from absentia import Factorizer, weights


def test_learned_weights_have_the_seed_of_their_text():
    data = matrix(40, 30, 0.2)
    learned = weights.Learned(mean=0.02, rank=2, seed=7)
    text = "learned:mean=0.02,rank=2,seed=7"
    fitted = [Factorizer(factors=3, iterations=3, regularization=0.1, weights=given).fit(data) for given in (learned, text)]
    np.testing.assert_array_equal(fitted[0].user_factors_, fitted[1].user_factors_)
    other = Factorizer(factors=3, iterations=3, regularization=0.1, weights=weights.Learned(mean=0.02, rank=2)).fit(data)
    assert not np.array_equal(other.user_factors_, fitted[0].user_factors_)


def test_weights_compose_and_explain():
    x = matrix()
    table = np.array([[0.1, 0.2], [0.3, 0.4]])
    groups = weights.Groups(table, np.arange(200) % 2, np.arange(100) % 2)
    both = (weights.Popularity(c0=5, alpha=0.4) + groups + weights.Uniform(0.01)).resolve(x)
    assert both.weight(1, 0) == pytest.approx(weights.Popularity(c0=5, alpha=0.4).resolve(x).weight(1, 0) + 0.31, rel=1e-5)
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


SCHEMES = {
    "uniform": weights.Uniform(0.25),
    "popularity": weights.Popularity(c0=5, alpha=0.4),
    "by mean": weights.Popularity(mean=0.1, alpha=0.25),
    "activity": weights.Activity(c0=3, alpha=0.5),
    "product": weights.PopularityActivity(c0=90, alpha=0.4, beta=0.2),
    "groups": weights.Groups([[0.1, 0.2], [0.3, 0.4]], np.arange(200) % 2, np.arange(100) % 2),
    "low rank": weights.LowRank(np.full((200, 2), 0.5), np.full((100, 2), 0.2)),
    "dense": weights.Dense(np.add.outer(np.arange(200) / 400, np.arange(100) / 100), rank=2),
    "function": weights.Function(lambda u, i: 1.0 / (1 + u + i), error=0.05, method="nonnegative"),
    "sum": weights.Popularity(c0=5, alpha=0.4) + weights.Uniform(0.1) + weights.Dense(np.ones((200, 100)), rank=1),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_loaded_model_has_its_weights(name, tmp_path):
    fitted = Factorizer(factors=3, iterations=2, weights=SCHEMES[name]).fit(matrix())
    fitted.save(tmp_path / "m.absentia")
    loaded = Factorizer.load(tmp_path / "m.absentia")
    assert loaded.get_params().keys() == fitted.get_params().keys()
    again = loaded.weights.resolve(matrix())
    np.testing.assert_allclose(again.a @ again.b.T, fitted.weights_.a @ fitted.weights_.b.T, rtol=1e-5)
    # So a loaded model trains again to the same place.
    repeated = Factorizer(**loaded.get_params()).fit(matrix())
    assert repeated.history_[-1].objective == pytest.approx(fitted.history_[-1].objective, rel=1e-5)
    if name in ("uniform", "popularity", "activity", "product"):
        assert loaded.weights == SCHEMES[name]


def test_functions_are_called_on_blocks():
    sizes = []

    def weight(users, items):
        sizes.append((users.shape, items.shape))
        return 1.0 / (1 + users + items)

    weights.Function(weight, rank=2).resolve(matrix())
    assert all(users[1] == 1 and items[0] == 1 for users, items in sizes)
    assert max(users[0] * items[1] for users, items in sizes) > 1000


@pytest.mark.parametrize(
    "scheme, kind, message",
    [
        (weights.Uniform(-1), ValueError, "weight"),
        (weights.Uniform(float("nan")), ValueError, "weight"),
        (weights.Popularity(c0=1, alpha=float("inf")), ValueError, "alpha"),
        (weights.LowRank(np.ones((200, 2)), np.ones((100, 3))), ValueError, "columns|rank"),
        (weights.LowRank(np.ones(200), np.ones((100, 1))), ValueError, "dimensions"),
        (weights.Dense(np.ones((200, 99)), rank=1), ValueError, "99|100"),
        (weights.Dense(np.full((200, 100), np.nan), rank=1), ValueError, "NaN|finite"),
        (weights.Dense(np.ones((200, 100))), ValueError, "rank or error"),
        (weights.Dense(np.ones((200, 100)), rank=1, method="qr"), ValueError, "method"),
        (weights.Groups([[1.0]], [0] * 200, [0] * 99), ValueError, "99"),
        (weights.Groups([[1.0]], [0] * 200, [1] * 100), ValueError, "group 1"),
        (weights.Groups([[1.0]], [0.5] * 200, [0] * 100), ValueError, "group"),
        (weights.Sum([]), ValueError, "sum"),
    ],
)
def test_bad_weights_are_refused_by_name(scheme, kind, message):
    for use in (lambda: scheme.resolve(matrix()), lambda: Factorizer(factors=2, weights=scheme).fit(matrix())):
        with pytest.raises(kind, match=message):
            use()


def test_negative_weights_are_reported():
    table = np.random.default_rng(0).random((200, 100)) ** 8
    found = weights.Dense(table, rank=2).resolve(matrix())
    assert found.may_be_negative and found.relative_error > 0.1
    assert not weights.Dense(table, rank=2, method="nonnegative").resolve(matrix()).may_be_negative


def test_learned_weights_are_those_of_the_text():
    scheme = weights.Learned(mean=0.05, rank=3, rounds=1)
    model = Factorizer(factors=4, weights=scheme, iterations=2).fit(matrix())
    text = Factorizer(factors=4, weights="learned:mean=0.05,rank=3,rounds=1", iterations=2).fit(matrix())
    assert np.array_equal(model.item_factors_, text.item_factors_)
    assert "learned" in str(scheme.resolve(matrix()).explain(0, 1))
    with pytest.raises(ValueError, match="rank"):
        Factorizer(factors=4, weights=weights.Learned(mean=0.05, rank=0)).fit(matrix())


@pytest.mark.parametrize("solver", ["eals", "svd", "ials1", "rcd", "ii-svd", "bpr", "sgd-observed", "popularity", "itemknn"])
def test_every_method_trains_without_given_weights(solver):
    assert Factorizer(factors=3, iterations=1, solver=solver).fit(matrix()).recommend(0, n=2)[0].size == 2


def test_text_names_arrays_by_path(tmp_path):
    x = matrix()
    rng = np.random.default_rng(2)
    a, b = rng.random((200, 2), dtype=np.float32), rng.random((100, 2), dtype=np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    text = weights.as_weights(f"lowrank:{tmp_path / 'a.npy'},{tmp_path / 'b.npy'} + uniform:0.5")
    assert np.array_equal((weights.LowRank(a, b) + weights.Uniform(0.5)).resolve(x).a, text.resolve(x).a)
    (tmp_path / "u.csv").write_text("user,w\nbob,2\nann,3\n")
    (tmp_path / "i.csv").write_text("item,w\njaws,1\nup,10\n")
    by_id = weights.as_weights(f"lowrank:{tmp_path / 'u.csv'},{tmp_path / 'i.csv'}")
    assert by_id.resolve((["ann", "bob"], ["up", "jaws"])).weight("bob", "up") == 20
    with pytest.raises(ValueError, match="no row for user \"cy\""):
        by_id.resolve((["ann", "cy"], ["up", "jaws"]))
    with pytest.raises(FileNotFoundError):
        weights.as_weights("lowrank:nowhere.npy,nowhere.npy").resolve(x)
