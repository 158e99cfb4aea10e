"""What goes in: forms, types, ids, and what is refused."""

import numpy as np
import pytest
import sample
import scipy.sparse as sp

import absentia
from absentia import Factorizer


def matrix():
    return sample.matrix(60, 40, 0.1)


def model(**params):
    return Factorizer(**{"factors": 4, "iterations": 3, "weights": 0.1, "num_threads": 2, **params})


def same(left, right):
    np.testing.assert_array_equal(left.user_factors_, right.user_factors_)
    np.testing.assert_array_equal(left.item_factors_, right.item_factors_)


EXPECTED = model(targets="raw").fit(matrix())


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x,
        lambda x: x.tocoo(),
        lambda x: x.tocsc(),
        lambda x: x.tolil(),
        lambda x: x.astype(np.float64),
        lambda x: sp.csr_array(x),
        lambda x: wide(x),
        lambda x: wide(x, indices=np.int32),
        lambda x: wide(x, indptr=np.int32),
        lambda x: wide(x, indices=np.uint32),
        lambda x: reversed_bytes(x),
        lambda x: shuffled(x),
        lambda x: strided(x),
    ],
    ids=["csr", "coo", "csc", "lil", "float64", "csr_array", "int64", "int64 indptr", "int64 indices", "uint32 indices", "big-endian", "unsorted", "non-contiguous"],
)
def test_every_form_of_a_matrix_trains_the_same_model(convert):
    same(model(targets="raw").fit(convert(matrix())), EXPECTED)


def wide(x, indptr=np.int64, indices=np.int64):
    x = x.copy()
    x.indptr, x.indices = x.indptr.astype(indptr), x.indices.astype(indices)
    return x


def reversed_bytes(x):
    x = x.copy()
    x.data, x.indices = x.data.astype(">f4"), x.indices.astype(">i4")
    return x


def shuffled(x):
    x = x.copy()
    for start, end in zip(x.indptr, x.indptr[1:]):
        x.indices[start:end], x.data[start:end] = x.indices[start:end][::-1].copy(), x.data[start:end][::-1].copy()
    x.has_sorted_indices = False
    return x


def strided(x):
    x = x.copy()
    x.indices, x.data = np.repeat(x.indices, 2)[::2], np.repeat(x.data, 2)[::2]
    return x


def test_repeated_entries_are_added_up():
    rows = sp.csr_matrix((np.float32([1, 2, 4]), np.int32([1, 1, 0]), np.int32([0, 3, 3])), shape=(2, 2))
    merged = sp.csr_matrix(np.float32([[4, 3], [0, 0]]))
    same(model(targets="raw").fit(rows), model(targets="raw").fit(merged))
    assert rows.nnz == 3


def repeats(caplog):
    """What was said about repeated pairs since the last call."""
    said = [record.getMessage() for record in caplog.records if "repeat a pair" in record.getMessage()]
    caplog.clear()
    return said


def test_repeated_pairs_of_tables_and_files_follow_one_rule(tmp_path, caplog):
    pandas = pytest.importorskip("pandas")
    caplog.set_level("INFO", "absentia")
    table = pandas.DataFrame({"user": [1, 1, 2, 1, 2], "item": [7, 8, 7, 7, 9], "rating": [5, 3, 4, 2, 1]})
    times = pandas.DataFrame({"timestamp": [30, 10, 10, 20, 10]})
    path = tmp_path / "rows.csv"
    # The value that the repeated pair of user 1 and item 7 gets, and what is said about it.
    for frame, given, value, said in [
        (table.join(times), {}, 5, "the latest row of a pair counts"),
        (table.join(times), {"duplicates": "sum"}, 7, "the ratings of a pair are added"),
        (table, {}, 2, "comes last in the data counts, as there are no times"),
        (table, {"duplicates": "max"}, 5, "with the largest rating counts"),
        (table[["user", "item"]], {}, 2, "the number of rows of a pair is its rating"),
    ]:
        ratings = [value, 3, 4, 1] if "rating" in frame else [value, 1, 1, 1]
        merged = pandas.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "rating": ratings})
        expected = model(targets="raw", factors=2).fit(merged)
        assert not repeats(caplog)
        frame.to_csv(path, index=False)
        for data in (frame, str(path)):
            same(model(targets="raw", factors=2).fit(data, **given), expected)
            (message,) = repeats(caplog)
            assert message.startswith("1 of 5 rows repeat a pair of user and item: ") and said in message
        if "no times" not in said:
            same(model(targets="raw", factors=2).fit(frame[::-1], **given), expected)
            repeats(caplog)
    for data in (table, str(path)):
        with pytest.raises(ValueError, match="more than once|twice|repeat"):
            model().fit(data, duplicates="error")


def test_partial_fit_merges_pairs_by_the_rule_of_fit():
    def fitted(first, second, **given):
        return model(targets="raw", factors=2).fit(first, **given).partial_fit(second, iterations=3)

    first = ([1, 1, 2, 2], [7, 8, 7, 9], np.float32([5, 1, 1, 1]))
    two, seven = (([1], [7], np.float32([value])) for value in (2, 7))
    same(fitted(first, two), fitted(first, two, duplicates="last"))
    same(fitted(first, seven), fitted(first, seven, duplicates="max"))
    same(fitted(first, two, duplicates="sum"), fitted(first, seven, duplicates="max"))
    # Without values, rows are counted.
    same(fitted(first[:2], two[:2]), fitted(first[:2], two, duplicates="max"))


def test_options_of_rows_leave_the_sum_of_a_sparse_matrix():
    rows = sp.csr_matrix((np.float32([1, 2, 4, 1]), np.int32([1, 1, 0, 2]), np.int32([0, 3, 4])), shape=(2, 3))
    merged = sp.csr_matrix(np.float32([[4, 3, 0], [0, 0, 1]]))
    same(model(targets="raw").fit(rows, min_rating=1), model(targets="raw").fit(merged, min_rating=1))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16])
def test_values_of_any_number_type_are_taken(dtype):
    x = matrix()
    x.data = np.ones_like(x.data)
    same(model(targets="raw").fit(x.astype(dtype)), model(targets="raw").fit(x))


def test_explicit_zeros_are_entries():
    x = matrix()
    x.data[:5] = 0
    assert len(model().fit(x).recommend(0, n=40)[0]) == 40 - np.diff(x.indptr)[0]


def test_rows_without_entries_are_fine():
    x = sp.vstack([sp.csr_matrix((3, 40), dtype=np.float32), matrix(), sp.csr_matrix((2, 40), dtype=np.float32)])
    fitted = model().fit(x.tocsr())
    assert fitted.user_factors_.shape == (65, 4) and np.isfinite(fitted.user_factors_).all()


def test_shapes_beyond_two_to_the_31_cells_are_routine():
    x = sp.csr_matrix((np.ones(3, np.float32), ([0, 69_999, 5], [1, 2, 69_999])), shape=(70_000, 70_000))
    assert model(factors=2, iterations=1).fit(x).item_factors_.shape == (70_000, 2)


def test_too_many_rows_are_refused_by_number():
    x = sp.coo_matrix((np.ones(1), ([0], [0])), shape=(2**32 + 1, 3))
    with pytest.raises(ValueError, match="4294967297 users are more than"):
        model().fit(x)


def test_too_many_columns_are_refused_by_number():
    x = sp.csr_matrix((np.ones(1, np.float32), [0], [0, 1]), shape=(1, 2**32))
    with pytest.raises(ValueError, match="4294967296 items are more than the 4294967295"):
        model().fit(x)


def test_weights_of_entries_are_taken():
    x = matrix()
    doubled = model(confidence="column").fit(x, sample_weight=np.full(x.nnz, 2.0))
    same(doubled, model(confidence=2.0).fit(x))
    for weights, message in [(np.ones(3), "3"), (np.full(x.nnz, -1.0), "negative|at least 0"), (np.ones((3, 3)), "dimensions")]:
        with pytest.raises(ValueError, match=message):
            model(confidence="column").fit(x, sample_weight=weights)


def test_shapes_that_do_not_match_are_refused_by_name():
    fitted = model().fit(matrix())
    wrong = sp.csr_matrix((60, 41), dtype=np.float32)
    calls = [
        lambda: fitted.evaluate(wrong),
        lambda: fitted.recommend(0, seen=wrong),
        lambda: fitted.explain(0, 1, seen=wrong),
        lambda: fitted.fold_in(wrong),
        lambda: model().fit(matrix(), exposed=wrong),
        lambda: fitted.recommend_rows(np.ones((2, 5), np.float32)),
        lambda: fitted.score([0, 1], [0, 1, 2]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="41|5 factors|shape|broadcast"):
            call()


def test_arguments_that_are_not_contiguous_are_taken():
    fitted = model().fit(matrix())
    users = np.arange(40)[::2]
    np.testing.assert_array_equal(fitted.recommend(users)[0], fitted.recommend(users.copy())[0])
    rows = np.asfortranarray(fitted.user_factors_[:5])
    np.testing.assert_array_equal(fitted.recommend_rows(rows)[0], fitted.recommend_rows(rows.copy("C"))[0])
    twice = np.repeat(np.arange(8), 2)
    same(model().fit((twice[::2], twice[::2])), model().fit((np.arange(8), np.arange(8))))
    table = np.ones((40, 60), np.float32).T
    same(model(weights=absentia.weights.Dense(table, rank=1)).fit(matrix()), model(weights=absentia.weights.Dense(table.copy(), rank=1)).fit(matrix()))


def test_columns_of_pandas_of_every_kind():
    pandas = pytest.importorskip("pandas")
    users, items = ["ann", "bob", "ann"], [5, 5, 6]
    expected = model(factors=2).fit((users, items))
    for user in (pandas.Categorical(users), pandas.array(users, dtype="string"), np.array(users, dtype=object)):
        for item in (np.int8(items), pandas.array(items, dtype="Int64"), np.float64(items)):
            same(model(factors=2).fit(pandas.DataFrame({"user": user, "item": item})), expected)
    missing = pandas.DataFrame({"user": pandas.array(["ann", None], dtype="string"), "item": [1, 2]})
    with pytest.raises(ValueError, match="entry 1"):
        model().fit(missing)


def test_times_of_tables_decay():
    pandas = pytest.importorskip("pandas")
    when = pandas.to_datetime(["2020-01-01", "2020-01-31", "2020-03-01"])
    seconds = when.astype("datetime64[s]").astype(np.int64)
    texts = ["2020-01-01", "2020-01-31T02:00:00+02:00", "2020-03-01"]
    given = (when, seconds, texts)
    frames = [pandas.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": times}) for times in given]
    fitted = [model(factors=2, confidence="decay:30d").fit(frame) for frame in frames]
    same(fitted[0], fitted[1])
    same(fitted[0], fitted[2])
    assert not np.array_equal(fitted[0].user_factors_, model(factors=2).fit(frames[0]).user_factors_)


@pytest.mark.parametrize("times", [["2020-01-01", "NaT"], [0.0, np.nan], [0.0, 1e300], [0, 2**63]], ids=str)
def test_a_time_that_is_missing_or_too_large_is_refused(times):
    pandas = pytest.importorskip("pandas")
    if isinstance(times[0], str):
        column = np.array(times, dtype="datetime64[ns]")
    else:
        column = np.array(times, dtype=np.uint64 if times[1] == 2**63 else np.float64)
    frame = pandas.DataFrame({"user": [1, 2], "item": [1, 2], "timestamp": column})
    with pytest.raises(ValueError, match="entry 1: .* is not a time"):
        model().fit(frame)


def test_the_unit_of_times_changes_nothing(tmp_path, caplog):
    pandas = pytest.importorskip("pandas")
    seconds = np.array([1577836800, 1580428800, 1583020800], dtype=np.int64)
    decaying = {"factors": 2, "confidence": "decay:30d"}

    def table(times):
        return pandas.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": times})

    expected = model(**decaying).fit(table(seconds))
    for unit, count in [("ms", 10**3), ("us", 10**6), ("ns", 10**9)]:
        with caplog.at_level("INFO", logger="absentia"):
            same(model(**decaying).fit(table(seconds * count)), expected)
        assert "seconds" in caplog.text
        same(model(**decaying).fit(table(seconds * count), time_unit=unit), expected)
        table(seconds * count).to_csv(tmp_path / "t.csv", index=False)
        same(model(**decaying).fit(tmp_path / "t.csv"), expected)
        same(model(**decaying).fit(tmp_path / "t.csv", time_unit=unit), expected)
    for times in ([20200131235959] * 3, [1577836800, 1580428800, 1583020800 * 10**9]):
        with pytest.raises(ValueError, match="time_unit="):
            model().fit(table(times))
        table(times).to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(ValueError, match="time_unit="):
            model().fit(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="s, ms, us or ns"):
        model().fit(table(seconds), time_unit="days")


def test_further_times_are_in_the_unit_of_the_first():
    pandas = pytest.importorskip("pandas")
    seconds = np.array([1577836800, 1580428800, 1583020800], dtype=np.int64)
    decaying = {"factors": 2, "confidence": "decay:30d", "regularization": 0.1}

    def table(times):
        return pandas.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": times})

    def more(times):
        return pandas.DataFrame({"user": [3, 2], "item": [1, 3], "timestamp": times})

    later = np.array([1585699200, 1588291200], dtype=np.int64)
    expected = model(**decaying).fit(table(seconds)).partial_fit(more(later))
    for first in (1, 10**3, 10**9):
        for then in (later, later * 10**6, later * 10**9, later.astype("datetime64[s]")):
            same(model(**decaying).fit(table(seconds * first)).partial_fit(more(then)), expected)


def test_nulls_of_arrow_and_polars_are_refused_by_column():
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = {"user": ["ann", None], "item": [1, 2]}
    with pytest.raises(ValueError, match="column 'user' has 1 nulls"):
        model().fit(arrow.table(columns))
    with pytest.raises(ValueError, match="entry 1"):
        model().fit(polars.DataFrame(columns))
    chunked = arrow.concat_tables([arrow.table({"user": ["ann"], "item": [1]}), arrow.table({"user": ["bob"], "item": [2]})])
    assert model(factors=2).fit(chunked).user_ids_.tolist() == ["ann", "bob"]
    coded = arrow.table({"user": arrow.array(["ann", "bob"]).dictionary_encode(), "item": [1, 2]})
    assert model(factors=2).fit(coded).user_ids_.tolist() == ["ann", "bob"]


LOG = {"users": ["ann", "ann", "bob", "cy", "bob"], "items": ["up", "jaws", "jaws", "up", "alien"], "values": [1.0, 2.0, 3.0, 4.0, 5.0]}


def tables():
    names = {"user_id": LOG["users"], "movieId": LOG["items"], "rating": LOG["values"]}
    yield "columns", lambda: (LOG["users"], LOG["items"], LOG["values"])
    yield "arrays", lambda: (np.array(LOG["users"]), np.array(LOG["items"]), np.array(LOG["values"]))
    yield "pandas", lambda: pytest.importorskip("pandas").DataFrame(names)
    yield "polars", lambda: pytest.importorskip("polars").DataFrame(names)
    yield "pyarrow", lambda: pytest.importorskip("pyarrow").table(names)


@pytest.mark.parametrize("make", [make for _, make in tables()], ids=[name for name, _ in tables()])
def test_ids_that_go_in_come_out(make, tmp_path):
    fitted = model(targets="raw", factors=2).fit(make())
    same(fitted, model(targets="raw", factors=2).fit((LOG["users"], LOG["items"], LOG["values"])))
    assert fitted.user_ids_.tolist() == ["ann", "bob", "cy"]
    items, _ = fitted.recommend("cy")
    assert sorted(items.tolist()) == ["alien", "jaws"]
    many, scores = fitted.recommend(["ann", "cy"])
    assert many[0, 1] is None and scores[0, 1] == -np.inf
    assert set(fitted.similar_users("ann")[0]) == {"bob", "cy"}
    assert {item for item, _ in fitted.explain("ann", "alien").contributions} == {"up", "jaws"}
    fitted.save(tmp_path / "m.absentia")
    assert Factorizer.load(tmp_path / "m.absentia").recommend("cy", exclude_seen=False)[0].tolist()
    with pytest.raises(KeyError, match="zoe"):
        fitted.recommend("zoe")


@pytest.mark.parametrize("texts", [False, True], ids=["integers", "texts"])
def test_the_order_of_entries_decides_nothing(texts):
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, [40, 30], (500, 2)), axis=0)
    values = rng.integers(1, 6, len(pairs)).astype(np.float32)

    def fit(order):
        users, items = (column[order] * 7 % 101 for column in pairs.T)
        if texts:
            users, items = ([f"{name}{n}" for n in column] for name, column in (("u", users), ("i", items)))
        return model(targets="raw", factors=4).fit((users, items, values[order]))

    first, second = fit(np.arange(len(pairs))), fit(rng.permutation(len(pairs)))
    same(first, second)
    assert first.user_ids_.tolist() == second.user_ids_.tolist() == sorted(first.user_ids_.tolist())
    everyone = first.user_ids_
    assert first.recommend(everyone)[0].tolist() == second.recommend(everyone)[0].tolist()


def test_new_ids_come_after_those_that_are_known():
    fitted = model(factors=2).fit((["b", "c"], [5, 3]))
    fitted.partial_fit((["d", "a", "b"], [4, 1, 3]))
    assert fitted.user_ids_.tolist() == ["b", "c", "a", "d"]
    assert fitted.item_ids_.tolist() == [3, 5, 1, 4]


def test_tables_without_usual_headings_go_by_place():
    pandas = pytest.importorskip("pandas")
    when = [1_500_000_000, 1_500_000_100, 1_500_000_200]
    by_place = pandas.DataFrame({0: [1, 1, 2], 1: [1, 2, 1], 2: when})
    by_heading = pandas.DataFrame({"artist": [1, 2, 1], "user": [1, 1, 2], "ts": when})
    decaying = {"factors": 2, "confidence": "decay:1h"}
    same(model(**decaying).fit(by_place), model(**decaying).fit(by_heading))
    with pytest.raises(ValueError, match="no column for the item"):
        model().fit(pandas.DataFrame({"user": [1], "thing": [2]}))


def test_a_recognised_heading_binds_its_column():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"sku": [5, 6, 5, 7], "user_id": [1, 1, 2, 3], "qty": [2.0, 1.0, 4.0, 3.0]})
    for columns in (["sku", "user_id", "qty"], ["qty", "user_id", "sku"], ["sku", "user_id"], ["sku", "qty"]):
        with pytest.raises(ValueError, match="no column for the .*among .*sku.*columns=.*user.*item"):
            model(factors=2).fit(table[columns])
    with pytest.raises(ValueError, match="no column for the user"):
        model(factors=2).fit(table.rename(columns={"qty": "rating", "user_id": "client"}))
    expected = model(targets="raw", factors=2).fit((table["user_id"], table["sku"], table["qty"]))
    chosen = model(targets="raw", factors=2).fit(table, columns={"item": "sku", "rating": "qty"})
    same(chosen, expected)
    assert chosen.user_ids_.tolist() == [1, 2, 3] and chosen.item_ids_.tolist() == [5, 6, 7]
    # Later tables are read in the same way.
    assert chosen.recommend(2, seen=table[["sku", "user_id"]])[0].tolist() == expected.recommend(2)[0].tolist()
    for columns, message in [({"item": "code"}, "no column 'code'.*'sku'"), ({"thing": "sku"}, "thing")]:
        with pytest.raises(ValueError, match=message):
            model(factors=2).fit(table, columns=columns)
    with pytest.raises(ValueError, match="columns choose"):
        model(factors=2).fit(matrix(), columns={"item": "sku"})


def test_a_list_of_rows_is_rows():
    pairs = [(1, 20), (1, 30), (2, 30)]
    same(model(factors=2).fit(pairs), model(factors=2).fit(([1, 1, 2], [20, 30, 30])))
    fitted = model(factors=2).fit(pairs)
    assert fitted.user_ids_.tolist() == [1, 2] and fitted.item_ids_.tolist() == [20, 30]
    triples = [("ann", "up", 1.0), ("bob", "up", 4.0), ("ann", "jaws", 2.0), ("cy", "up", 3.0)]
    expected = model(targets="raw", factors=2).fit(tuple(map(list, zip(*triples))))
    same(model(targets="raw", factors=2).fit(triples), expected)
    same(model(targets="raw", factors=2).fit([list(row) for row in triples]), expected)
    same(model(factors=2).fit([np.array([1, 1, 2]), np.array([20, 30, 30])]), fitted)
    with pytest.raises(ValueError, match="3 lists of 2 can be rows or columns"):
        model(factors=2).fit([[1, 20], [1, 30], [2, 30]])
    with pytest.raises(ValueError, match="rows differ in length"):
        model(factors=2).fit([(1, 20), (1, 30, 2.0)])


def test_integer_ids_stay_integers():
    pandas = pytest.importorskip("pandas")
    fitted = model(factors=2).fit(pandas.DataFrame({"user": [900, 900, 7], "item": [5, 6, 5]}))
    items, _ = fitted.recommend(7)
    assert items.tolist() == [6] and items.dtype == np.int64


def test_texts_that_look_like_numbers_stay_texts():
    fitted = model(factors=2).fit((["10", "20", "20"], ["1", "1", "2"]))
    assert fitted.recommend("10")[0].tolist() == ["2"]


BAD = {
    "nan": (lambda: with_value(np.nan), ValueError, "entry 0: value is NaN"),
    "infinite": (lambda: with_value(np.inf), ValueError, "finite"),
    "too large for single precision": (lambda: with_value(1e300, np.float64), ValueError, "finite"),
    "complex": (lambda: matrix().astype(np.complex128), ValueError, "complex"),
    "empty": (lambda: sp.csr_matrix((3, 4)), ValueError, "no interaction"),
    "no rows": (lambda: sp.csr_matrix((0, 4)), ValueError, "no interaction"),
    "an array": (lambda: np.ones((3, 4)), (TypeError, ValueError), "sparse|dimensions"),
    "a number": (lambda: 5, TypeError, "data of type int is not supported"),
    "a file that is not there": (lambda: "/nowhere/ratings.csv", FileNotFoundError, "nowhere"),
    "columns of different lengths": (lambda: (["a", "b"], ["x"]), ValueError, "differ in length"),
    "ids that are missing": (lambda: (["a", None], ["x", "y"]), ValueError, "entry 1"),
    "ids that are nan": (lambda: ([1.0, np.nan], [1, 2]), ValueError, "entry 1"),
    "fractions as ids": (lambda: ([1.5, 2.0], [1, 2]), ValueError, "fractions"),
    "floats that stand for several integers": (lambda: ([1.0, 2.0**60], [1, 2]), ValueError, "floats above"),
    "empty texts as ids": (lambda: (["a", ""], ["x", "y"]), ValueError, "entry 1"),
    "values that are texts": (lambda: (["a"], ["x"], ["good"]), ValueError, "numbers"),
    "an index out of range": (lambda: broken(99), ValueError, "99"),
    "a negative index": (lambda: broken(-1), ValueError, "negative"),
    "offsets that fall": (lambda: fallen(), ValueError, "offsets"),
}


def with_value(value, dtype=np.float32):
    x = matrix().astype(dtype)
    x.data[0] = value
    return x


def broken(index):
    x = matrix()
    x.indices[0] = index
    return x


def fallen():
    x = matrix()
    x.indptr[3] = 10_000
    return x


@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_refused_by_name(name):
    make, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        model().fit(make())


@pytest.mark.parametrize(
    "params, kind, message",
    [
        ({"factors": 0}, ValueError, "factors"),
        ({"factors": 2.5}, TypeError, "factors"),
        ({"iterations": -1}, ValueError, "iterations"),
        ({"regularization": -1}, ValueError, "regularization"),
        ({"regularization": "x"}, TypeError, "regularization"),
        ({"solver": "sgd"}, ValueError, "solver"),
        ({"targets": "cube"}, ValueError, "targets"),
        ({"confidence": "linear:x"}, ValueError, "confidence"),
        ({"weights": object()}, TypeError, "weights"),
        ({"weights": "popularity:c0=x"}, ValueError, "c0"),
        ({"weights": absentia.weights.Popularity(alpha=0.4)}, ValueError, "c0 or mean"),
        ({"weights": absentia.weights.Popularity(c0=5)}, ValueError, "alpha"),
        ({"weights": absentia.weights.LowRank(np.ones((3, 1)), np.ones((40, 1)))}, ValueError, "rows"),
        ({"num_threads": 10**9}, ValueError, "threads"),
    ],
)
def test_bad_parameters_are_refused_by_fit(params, kind, message):
    with pytest.raises(kind, match=message):
        model(**params).fit(matrix())
