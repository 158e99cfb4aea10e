"""Side by side with the package implicit."""

import inspect
import io

import numpy as np
import pytest
import scipy.sparse as sp
from sample import tastes

from absentia.implicit import AlternatingLeastSquares, ModelFitError, ParameterWarning, evaluation

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
        model.fit(matrix, show_progress=False, callback=lambda *report: losses.append(report))
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


@pytest.mark.parametrize("use_cg", [True, False])
def test_rows_without_entries_are_exactly_zero_as_theirs_are(use_cg):
    matrix = ratings().tolil()
    matrix[[2, 5], :] = 0
    matrix[:, [1, 4]] = 0
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    for model, _ in pair(matrix, factors=8, use_cg=use_cg, regularization=0.1):
        assert not model.user_factors[[2, 5]].any()
        assert not model.item_factors[[1, 4]].any()
        assert model.user_factors[3].any() and model.item_factors[3].any()
        assert not model.recalculate_user(0, matrix[2]).any()


@pytest.fixture(scope="module")
def both():
    matrix = ratings()
    (mine, _), (other, _) = pair(matrix, factors=8, regularization=0.5)
    # The same factors, so that answers can be compared one by one.
    mine.user_factors, mine.item_factors = other.user_factors.copy(), other.item_factors.copy()
    return matrix, mine, other


CALLS = {
    "nobody": lambda m, x: m.recommend(np.zeros(0, dtype=int), x[np.zeros(0, dtype=int)]),
    "an integer of numpy": lambda m, x: m.recommend(np.int32(3), x[3]),
    "a negative user": lambda m, x: m.recommend(-1, x[119]),
    "zeros among items": lambda m, x: m.recommend([1, 2], zeros(x[[1, 2]]), items=[9, 4, 1, 60]),
    "zeros": lambda m, x: m.recommend([1, 2], zeros(x[[1, 2]])),
    "filter by an array": lambda m, x: m.recommend([1, 2], x[[1, 2]], filter_items=np.array([4, 9, 1])),
    "filter from the end": lambda m, x: m.recommend([1, 2], x[[1, 2]], filter_items=[-1, -2]),
    "filter nothing": lambda m, x: m.recommend([1, 2], x[[1, 2]], filter_items=[]),
    "all of the catalogue": lambda m, x: m.recommend([1, 2], x[[1, 2]], N=80),
    "everything filtered": lambda m, x: m.recommend([1, 2], x[[1, 2]], N=4, filter_items=np.arange(80)),
    "recalculated with alpha": lambda m, x: m.recommend(2, x[2], recalculate_user=True, N=3),
    "similar to all": lambda m, x: m.similar_items(np.arange(80), N=80),
    "similar users filtered": lambda m, x: m.similar_users(3, N=5, filter_users=[3, 9]),
    "all users": lambda m, x: m.recommend_all(x, N=3),
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
    found, expected = CALLS[name](mine, matrix), CALLS[name](other, matrix)
    if not isinstance(expected, tuple):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        return
    (ids, scores), (their_ids, their_scores) = found, expected
    assert ids.shape == their_ids.shape and ids.dtype == their_ids.dtype
    assert scores.shape == their_scores.shape and scores.dtype == their_scores.dtype
    np.testing.assert_allclose(scores, their_scores, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(ids, their_ids)


def zeros(rows):
    """Some entries as explicit zeros."""
    rows = rows.copy()
    rows.data[::2] = 0
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_and_padding_are_theirs(dtype):
    x = ratings()
    (mine, _), (other, _) = pair(x, factors=5, dtype=dtype)
    assert mine.user_factors.dtype == other.user_factors.dtype == dtype
    calls = {
        "recommend": lambda m: m.recommend([1, 2], x[[1, 2]], N=6, filter_items=np.arange(1, 80)),
        "longer": lambda m: m.recommend(1, x[1], N=90, filter_items=[0, 3]),
        "similar": lambda m: m.similar_items([1, 2], N=90),
    }
    for name, call in calls.items():
        (ids, scores), (their_ids, their_scores) = call(mine), call(other)
        assert (ids.dtype, scores.dtype) == (their_ids.dtype, their_scores.dtype), name
        assert ids.shape == their_ids.shape and scores.shape == their_scores.shape, name
        lowest = -np.finfo(dtype).max
        np.testing.assert_array_equal(scores == lowest, their_scores == lowest)
        np.testing.assert_array_equal(ids[scores == lowest], their_ids[their_scores == lowest])
        np.testing.assert_array_equal((ids == 0) & (scores == 0), (their_ids == 0) & (their_scores == 0))
    assert mine.recalculate_user(1, x[1]).dtype == other.recalculate_user(1, x[1]).dtype
    assert mine.recalculate_user([1], x[[1]]).shape == other.recalculate_user([1], x[[1]]).shape


WRONG = {
    "liked items that the model does not have": lambda m, x: m.recommend(0, sp.csr_matrix(([1.0], ([0], [90])), (1, 99))),
    "both filters in similar_items": lambda m, x: m.similar_items(0, items=[1], filter_items=[2]),
    "both filters in similar_users": lambda m, x: m.similar_users(0, users=[1], filter_users=[2]),
    "a negative item": lambda m, x: m.recommend(0, x[0], items=[-1]),
    "an item to filter that is unknown": lambda m, x: m.recommend(0, x[0], filter_items=[999]),
    "items that are fractions": lambda m, x: m.recommend(0, x[0], items=[1.5]),
    "a user that is a fraction": lambda m, x: m.recommend(1.5, x[0]),
    "users that are texts": lambda m, x: m.recommend(["a"], x[0]),
    "more users than rows": lambda m, x: m.recommend([0, 1], x[0]),
    "no rows": lambda m, x: m.recommend(0, None),
    "columns": lambda m, x: m.recommend(0, x[0].tocsc()),
    "recalculated without rows": lambda m, x: m.recommend(0, None, filter_already_liked_items=False, recalculate_user=True),
    "recalculate with too few rows": lambda m, x: m.recalculate_user([0, 1], x[0]),
    "too few items": lambda m, x: m.partial_fit_items([0, 1], x.T.tocsr()[:1]),
    "a file that is not there": lambda m, x: m.load("/nowhere/model.npz"),
    "explain an unknown user": lambda m, x: m.explain(999, x, 1),
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


def parameters(function):
    return [(name, p.default, p.kind) for name, p in inspect.signature(function).parameters.items()]


def test_the_constructor_takes_their_arguments():
    implicit = pytest.importorskip("implicit.als")
    their, mine = parameters(implicit.AlternatingLeastSquares), parameters(AlternatingLeastSquares)
    # Theirs trains on a GPU where it finds one.
    without_gpu = [[entry for entry in listed if entry[0] != "use_gpu"] for listed in (mine, their)]
    assert without_gpu[0] == without_gpu[1] and [name for name, *_ in mine] == [name for name, *_ in their]


PUBLIC = [name for name in dir(theirs) if not name.startswith("_")]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "solver"])
def test_every_method_is_there_with_their_arguments(name):
    their, mine = (inspect.getattr_static(kind, name) for kind in (theirs, AlternatingLeastSquares))
    assert isinstance(mine, property) == isinstance(their, property)
    if not isinstance(their, property):
        assert parameters(getattr(AlternatingLeastSquares, name)) == parameters(getattr(theirs, name))


@pytest.mark.parametrize("name", evaluation.__all__)
def test_every_evaluation_function_has_their_arguments(name):
    assert parameters(getattr(evaluation, name)) == parameters(getattr(their_evaluation, name))


def test_attributes_are_theirs():
    x = ratings()
    (mine, _), (other, _) = pair(x, factors=5)
    assert vars(mine).keys() == {name for name in vars(other) if not name.startswith("_")}
    for name, value in vars(mine).items():
        if "factors" not in name:
            assert value == getattr(other, name), name
    for name in ("user_norms", "item_norms", "XtX", "YtY"):
        np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=2e-2, atol=1e-3)


def test_a_gpu_is_refused_clearly():
    with pytest.raises(ValueError, match="GPU"):
        AlternatingLeastSquares(use_gpu=True)


def test_what_has_no_meaning_is_accepted():
    x = ratings()
    models = [AlternatingLeastSquares(4, random_state=0, use_native=native, dtype=dtype)
              for native, dtype in ((True, np.float32), (False, np.float32), (True, np.float64))]
    for model in models:
        model.fit(x, show_progress=False)
    np.testing.assert_array_equal(models[0].user_factors, models[1].user_factors)
    assert models[2].user_factors.dtype == np.float64
    with pytest.raises(ValueError, match="GPU"):
        models[0].to_gpu()


@pytest.mark.parametrize("use_cg", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.int64),
        lambda x: x.astype(bool),
        lambda x: zeros(x),
        lambda x: sp.csr_matrix(sp.vstack([x, sp.csr_matrix((3, 80))])),
        lambda x: sp.csr_matrix(sp.hstack([x, sp.csr_matrix((120, 3))])),
    ],
    ids=["float64", "int64", "bool", "zeros", "users without items", "items without users"],
)
def test_the_loss_is_theirs_on_any_kind_of_matrix(change, use_cg):
    x = change(ratings())
    (_, heard), (_, expected) = pair(x, factors=6, use_cg=use_cg)
    np.testing.assert_allclose([loss for *_, loss in heard], [loss for *_, loss in expected], rtol=1e-2)


def test_indices_of_64_bits_are_taken():
    x = ratings()
    wide = x.copy()
    wide.indptr, wide.indices = x.indptr.astype(np.int64), x.indices.astype(np.int64)
    models = [AlternatingLeastSquares(4, random_state=0) for _ in range(2)]
    for model, data in zip(models, (x, wide)):
        model.fit(data, show_progress=False)
    np.testing.assert_array_equal(models[0].user_factors, models[1].user_factors)
    np.testing.assert_array_equal(models[0].recommend([1, 2], wide[[1, 2]])[0], models[1].recommend([1, 2], x[[1, 2]])[0])


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.csc_matrix, sp.csr_array])
def test_other_matrices_are_converted_with_their_warning(kind):
    utils = pytest.importorskip("implicit.utils")
    for model, warning in ((AlternatingLeastSquares(3, iterations=1), ParameterWarning),
                           (theirs(3, iterations=1), utils.ParameterWarning)):
        with pytest.warns(warning, match="Method expects CSR input"):
            model.fit(kind(ratings()), show_progress=False)


def test_fitting_again_goes_on_from_the_factors_there_are():
    models = [kind(factors=5, iterations=3, random_state=0, use_cg=False, calculate_training_loss=True)
              for kind in (AlternatingLeastSquares, theirs)]
    last = []
    for model in models:
        for _ in range(2):
            losses = []
            model.fit(ratings(), show_progress=False, callback=lambda *report: losses.append(report[2]))
        last.append(losses)
    np.testing.assert_allclose(last[0], last[1], rtol=1e-3)


def test_callbacks_hear_what_theirs_do():
    for kind in (AlternatingLeastSquares, theirs):
        reports = []
        kind(factors=3, iterations=4).fit(ratings(), show_progress=False, callback=lambda *args: reports.append(args))
        assert [iteration for iteration, _, _ in reports] == [0, 1, 2, 3]
        assert all(isinstance(seconds, float) and seconds >= 0 and loss is None for _, seconds, loss in reports)
        model, heard = kind(factors=3, iterations=2), []
        model.fit_callback = lambda *args: heard.append(args)
        model.fit(ratings(), show_progress=False)
        assert len(heard) == 2


def test_progress_is_shown(capsys):
    AlternatingLeastSquares(3, iterations=4, calculate_training_loss=True).fit(ratings())
    shown = capsys.readouterr().err
    assert "4/4" in shown and "loss=" in shown


@pytest.mark.parametrize("arguments", [{"iterations": 0}, {}])
def test_little_to_do_is_done_as_they_do(arguments):
    x = ratings() if arguments else sp.csr_matrix((6, 4), dtype=np.float32)
    (mine, heard), (other, expected) = pair(x, factors=3, **arguments)
    np.testing.assert_allclose(mine.user_factors, other.user_factors, atol=1e-7)
    np.testing.assert_allclose(mine.item_factors, other.item_factors, atol=1e-7)
    assert [report[0] for report in heard] == [report[0] for report in expected]
    np.testing.assert_allclose([report[2] for report in heard], [report[2] for report in expected], atol=1e-9)


def test_what_would_crash_is_refused():
    x = ratings()
    too_wide = sp.csr_matrix((np.ones(1, np.float32), [0], [0, 1]), shape=(1, 2**32 + 5))
    with pytest.raises(ValueError, match="4294967301 items"):
        AlternatingLeastSquares(3).fit(too_wide, show_progress=False)
    for breaking in ("indptr", "indices"):
        broken = x.copy()
        getattr(broken, breaking)[5] = 10_000_000
        with pytest.raises(ValueError):
            AlternatingLeastSquares(3).fit(broken, show_progress=False)
    model = AlternatingLeastSquares(3, iterations=1)
    for asked in (lambda: model.recommend(0, x[0]), lambda: model.recalculate_user(0, x[0])):
        with pytest.raises((TypeError, ModelFitError)):
            asked()
    model.fit(x, show_progress=False)
    with pytest.raises((KeyError, ValueError)):
        model.recalculate_user(0, sp.csr_matrix(([1.0], ([0], [90])), (1, 99)))
    with pytest.raises(ValueError):
        model.fit(sp.csr_matrix(sp.vstack([x, x])), show_progress=False)


def test_repeated_entries_are_added_up():
    repeated = sp.csr_matrix((np.float32([1, 2, 4]), np.int32([1, 1, 0]), np.int32([0, 3, 3])), shape=(2, 2))
    models = [AlternatingLeastSquares(2, random_state=0) for _ in range(2)]
    for model, data in zip(models, (repeated, sp.csr_matrix(np.float32([[4, 3], [0, 0]])))):
        model.fit(data, show_progress=False)
    np.testing.assert_array_equal(models[0].user_factors, models[1].user_factors)


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


@pytest.mark.parametrize("use_cg", [True, False])
def test_quality_is_theirs(use_cg):
    train, test = evaluation.train_test_split(tastes(500, 200), 0.8, random_state=1)
    values = []
    for kind in (AlternatingLeastSquares, theirs):
        model = kind(factors=8, random_state=1, use_cg=use_cg, regularization=1.0, alpha=5.0)
        model.fit(train, show_progress=False)
        values.append(evaluation.ranking_metrics_at_k(model, train, test, show_progress=False))
    assert values[1]["ndcg"] > 0.5
    assert values[0] == pytest.approx(values[1], abs=0.005)


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
