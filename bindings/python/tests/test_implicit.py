"""Side by side with the package implicit."""

import inspect
import io

import numpy as np
import pytest
import scipy.sparse as sp

from absentia.implicit import AlternatingLeastSquares, ModelFitError, evaluation

theirs = pytest.importorskip("implicit.cpu.als").AlternatingLeastSquares
their_evaluation = pytest.importorskip("implicit.evaluation")


def ratings(users=120, items=80, density=0.08, seed=0, negative=False):
    matrix = sp.random(users, items, density, format="csr", random_state=seed, dtype=np.float32)
    matrix = sp.csr_matrix(matrix)
    matrix.data = np.ceil(matrix.data * 5)
    if negative:
        matrix.data[::7] *= -1
    return matrix


def pair(matrix, **arguments):
    models = []
    for kind in (AlternatingLeastSquares, theirs):
        losses = []
        model = kind(random_state=3, calculate_training_loss=True, **arguments)
        model.fit(matrix, show_progress=False, callback=lambda *told: losses.append(told))
        models.append((model, losses))
    return models


@pytest.mark.parametrize("use_cg", [True, False])
@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_the_loss_is_theirs(use_cg, negative, alpha):
    matrix = ratings(negative=negative)
    (mine, heard), (other, expected) = pair(matrix, factors=12, use_cg=use_cg, alpha=alpha, regularization=0.1)
    assert [iteration for iteration, _, _ in heard] == [iteration for iteration, _, _ in expected]
    np.testing.assert_allclose([loss for *_, loss in heard], [loss for *_, loss in expected], rtol=1e-3)
    assert heard[-1][2] == pytest.approx(expected[-1][2], rel=1e-2)
    assert mine.user_factors.dtype == other.user_factors.dtype
    if not use_cg:
        np.testing.assert_allclose(mine.user_factors, other.user_factors, atol=2e-2)


@pytest.fixture(scope="module")
def both():
    matrix = ratings()
    (mine, _), (other, _) = pair(matrix, factors=8, regularization=0.5)
    # The same factors, so that answers can be compared one by one.
    mine.user_factors, mine.item_factors = other.user_factors.copy(), other.item_factors.copy()
    return matrix, mine, other


CALLS = {
    "one": lambda m, x: m.recommend(3, x[3]),
    "many": lambda m, x: m.recommend([1, 5, 7], x[[1, 5, 7]], N=5),
    "array": lambda m, x: m.recommend(np.arange(120), x, N=4),
    "seen": lambda m, x: m.recommend(3, x[3], filter_already_liked_items=False),
    "without rows": lambda m, x: m.recommend(3, None, filter_already_liked_items=False),
    "filter": lambda m, x: m.recommend([1, 2], x[[1, 2]], filter_items=[4, 9, 1]),
    "items": lambda m, x: m.recommend([1, 2], x[[1, 2]], N=4, items=[9, 4, 1, 60]),
    "few items": lambda m, x: m.recommend(1, x[1], N=10, items=[9, 4]),
    "recalculated": lambda m, x: m.recommend([1, 2], x[[1, 2]], recalculate_user=True),
    "longer than the catalogue": lambda m, x: m.recommend([1, 2], x[[1, 2]], N=100),
    "nearly all filtered": lambda m, x: m.recommend(1, x[1], N=6, filter_items=np.arange(2, 80)),
    "similar": lambda m, x: m.similar_items(3),
    "similar many": lambda m, x: m.similar_items([3, 4], N=5, filter_items=[3]),
    "similar among": lambda m, x: m.similar_items(3, N=2, items=[7, 3, 20]),
    "similar users": lambda m, x: m.similar_users([3, 4], N=5),
    "similar users among": lambda m, x: m.similar_users(3, N=3, users=[9, 3, 2, 50]),
    "similar recalculated": lambda m, x: m.similar_items([3], 5, True, sp.csr_matrix(x.T.tocsr())[[3]]),
    "ranked": lambda m, x: m.rank_items(3, x[3], [5, 1, 9]),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_answers_are_theirs(both, name):
    matrix, mine, other = both
    ids, scores = CALLS[name](mine, matrix)
    their_ids, their_scores = CALLS[name](other, matrix)
    assert ids.shape == their_ids.shape and ids.dtype == their_ids.dtype
    assert scores.shape == their_scores.shape and scores.dtype == their_scores.dtype
    np.testing.assert_allclose(scores, their_scores, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(ids, their_ids)


WRONG = {
    "rows do not match": lambda m, x: m.recommend(0, x),
    "unknown user": lambda m, x: m.recommend(999, x[0]),
    "unknown items": lambda m, x: m.recommend(0, x[0], items=[999]),
    "both filters": lambda m, x: m.recommend(0, x[0], items=[1], filter_items=[2]),
    "not CSR": lambda m, x: m.recommend(0, x[0].toarray()),
    "fit on an array": lambda m, x: m.fit(x.toarray()),
    "unknown item": lambda m, x: m.similar_items(999),
    "unknown users": lambda m, x: m.similar_users(1, users=[999]),
    "explain an unknown item": lambda m, x: m.explain(0, x, 999),
    "too few rows": lambda m, x: m.partial_fit_users([0, 1], x[:1]),
    "none": lambda m, x: m.recommend(0, x[0], N=0),
    "no items": lambda m, x: m.recommend(0, x[0], items=[]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_theirs(both, name):
    matrix, mine, other = both
    with pytest.raises(Exception) as expected:
        WRONG[name](other, matrix)
    with pytest.raises(expected.type):
        WRONG[name](mine, matrix)


def test_the_constructor_takes_their_arguments():
    implicit = pytest.importorskip("implicit.als")
    signature = inspect.signature(implicit.AlternatingLeastSquares)
    mine = inspect.signature(AlternatingLeastSquares)
    assert list(mine.parameters) == list(signature.parameters)
    for name, parameter in mine.parameters.items():
        if name != "use_gpu":
            assert parameter.default == signature.parameters[name].default, name
    for method in ("fit", "recommend", "similar_items", "similar_users", "explain", "recalculate_user",
                   "recalculate_item", "partial_fit_users", "partial_fit_items", "rank_items", "recommend_all"):
        left = inspect.signature(getattr(AlternatingLeastSquares, method)).parameters
        right = inspect.signature(getattr(theirs, method)).parameters
        assert [(name, p.default) for name, p in left.items()] == [(name, p.default) for name, p in right.items()]


def test_a_gpu_is_refused_clearly():
    with pytest.raises(ValueError, match="GPU"):
        AlternatingLeastSquares(use_gpu=True)


def test_nan_is_a_fit_error():
    matrix = ratings()
    matrix.data[0] = np.nan
    with pytest.raises(ModelFitError):
        AlternatingLeastSquares(factors=3).fit(matrix, show_progress=False)


def test_explanations_are_theirs(both):
    matrix, mine, other = both
    score, parts, weights = mine.explain(3, matrix, 5, N=4)
    their_score, their_parts, their_weights = other.explain(3, matrix, 5, N=4)
    assert score == pytest.approx(their_score, rel=1e-5)
    assert [item for item, _ in parts] == [item for item, _ in their_parts]
    np.testing.assert_allclose([x for _, x in parts], [x for _, x in their_parts], rtol=1e-5)
    assert mine.explain(3, matrix, 6, weights)[0] == pytest.approx(other.explain(3, matrix, 6, their_weights)[0])


def test_partial_fits_are_theirs(both):
    matrix, mine, other = both
    mine, other = AlternatingLeastSquares.load(saved(mine)), theirs.load(saved(other))
    for model in (mine, other):
        model.partial_fit_users([2, 121], matrix[[5, 6]])
        model.partial_fit_items([3, 80], sp.csr_matrix((matrix.T.tocsr())[[3, 4]].tocsr(), shape=(2, 122)))
    assert mine.user_factors.shape == other.user_factors.shape == (122, 8)
    np.testing.assert_allclose(mine.user_factors, other.user_factors, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(mine.item_factors, other.item_factors, rtol=1e-3, atol=1e-4)


def saved(model):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return file


def test_saved_models_load_in_each_other(both, tmp_path):
    _, mine, other = both
    np.testing.assert_array_equal(AlternatingLeastSquares.load(saved(other)).item_factors, other.item_factors)
    np.testing.assert_array_equal(theirs.load(saved(mine)).item_factors, mine.item_factors)
    mine.save(str(tmp_path / "m.npz"))
    loaded = AlternatingLeastSquares.load(str(tmp_path / "m"))
    assert loaded.factors == 8 and loaded.dtype == np.float32


@pytest.mark.parametrize("seed", range(5))
def test_metrics_are_theirs(seed):
    matrix = ratings(150, 40, 0.2, seed)
    train, test = evaluation.train_test_split(matrix, 0.7, random_state=seed)
    their_train, their_test = their_evaluation.train_test_split(matrix, 0.7, random_state=seed)
    assert (train != their_train).nnz == 0 and (test != their_test).nnz == 0
    model = theirs(factors=6, random_state=seed)
    model.fit(train, show_progress=False)
    for k in (1, 5, 10):
        mine = evaluation.ranking_metrics_at_k(model, train, test, K=k, show_progress=False)
        other = their_evaluation.ranking_metrics_at_k(model, train, test, K=k, show_progress=False)
        assert mine == pytest.approx(other, abs=1e-12)
        for name in ("precision_at_k", "mean_average_precision_at_k", "ndcg_at_k", "AUC_at_k"):
            arguments = (model, train, test, k, False)
            assert getattr(evaluation, name)(*arguments) == pytest.approx(getattr(their_evaluation, name)(*arguments))


def test_quality_is_theirs():
    matrix = ratings(400, 100, 0.1)
    train, test = evaluation.train_test_split(matrix, 0.8, random_state=1)
    values = []
    for kind in (AlternatingLeastSquares, theirs):
        model = kind(factors=8, random_state=1)
        model.fit(train, show_progress=False)
        values.append(evaluation.ndcg_at_k(model, train, test, show_progress=False))
    assert values[0] == pytest.approx(values[1], abs=0.01)


@pytest.mark.parametrize("arguments", [{}, {"K": 2}, {"train_only_size": 0.5, "random_state": 4}])
def test_leave_k_out_is_theirs(arguments):
    matrix = ratings()
    np.random.seed(5)
    train, test = evaluation.leave_k_out_split(matrix, **arguments)
    np.random.seed(5)
    their_train, their_test = their_evaluation.leave_k_out_split(matrix, **arguments)
    # Implicit adds a held-out value up again for every user it skips; the entries are the same.
    assert (train != their_train).nnz == 0
    assert (test.astype(bool) != their_test.astype(bool)).nnz == 0
    assert ((train + test) != matrix).nnz == 0
