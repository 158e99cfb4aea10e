"""Splitting, cross-validation, tuning, and what scikit-learn asks of estimators."""

import inspect
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import absentia


def log(users=30, items=20, seed=0):
    """Users of two tastes, with times."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        taste = np.arange(items // 2) + (user % 2) * (items // 2)
        for time, item in enumerate(random.choice(taste, 6, replace=False)):
            rows.append((f"u{user}", int(item), 1600000000 + time))
    return rows


def frame(**given):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(log(**given), columns=["user", "item", "time"])


def test_split_holds_out_the_latest_row_in_the_form_of_the_data():
    table = frame()
    train, test = absentia.split(table)
    assert type(train) is type(table) and len(test) == 30 and len(train) == 150
    assert (test["time"] == 1600000005).all()
    shuffled = table.sample(frac=1, random_state=1)
    assert set(absentia.split(shuffled)[1].index) == set(test.index)


def test_split_says_of_whom_it_holds_out_less_than_the_share(caplog):
    with caplog.at_level("INFO", logger="absentia"):
        train, test = absentia.split(frame(), "share:0.95")
    assert len(train) == 30 and len(test) == 150
    assert "30 users had too few rows for the share" in caplog.text


def test_split_of_arrays_matrices_and_lists():
    users, items, _ = zip(*log())
    train, test = absentia.split((users, items), "ratio:0.5", pick="random", seed=3)
    assert len(train[0]) == len(test[0]) == 90
    again = absentia.split((users, items), "ratio:0.5", pick="random", seed=3)
    assert np.array_equal(again[1][1], test[1])
    matrix = sp.random(40, 30, 0.2, format="csr", random_state=0)
    train, valid, test = absentia.split(matrix, "ratio:0.2,0.2", pick="random")
    assert (train + valid + test != matrix).nnz == 0
    rows = [(user, item) for user, item, _ in log()]
    assert len(absentia.split(rows, "last:2", pick="random")[1]) == 60


def test_rows_of_a_pair_are_in_the_same_part():
    users, items, _ = zip(*log())
    train, test = absentia.split((users * 2, items * 2), "ratio:0.5", pick="random")
    assert not set(zip(*train)) & set(zip(*test))
    assert len(train[0]) == len(test[0]) == 180


@pytest.mark.parametrize("by, said", [("ratio:1.5", "by"), ("nothing", "leave-one-out"), ("users:3", "folded in")])
def test_wrong_splits_are_refused(by, said):
    with pytest.raises(ValueError, match=said):
        absentia.split((["a", "a"], [1, 2]), by)


def test_cross_validation_measures_every_fold():
    model = absentia.Factorizer(factors=4, weights=0.05, regularization=0.01, iterations=5)
    found = absentia.cross_validate(model, frame(), ["recall@10", "ndcg@10"], folds=3)
    assert found["recall@10"].shape == (3,) and (found["recall@10"] > 0.5).all()
    assert not hasattr(model, "_model")
    with pytest.raises(ValueError, match="folds"):
        absentia.cross_validate(model, frame(), folds=1)


def test_tune_returns_a_trained_model():
    tuned = absentia.tune(frame(), trials=4, metric="recall@5", max_factors=4)
    assert 0 < tuned.score <= 1 and len(tuned.trials) >= 4
    assert "regularization" in tuned.config and "data" not in tuned.config
    assert len(repr(tuned)) < 400 and "the best of 4 trials" in repr(tuned)
    items, _ = tuned.model.recommend("u0", n=3)
    assert len(items) == 3 and items.dtype.kind == "i"
    with pytest.raises(ValueError, match="metric"):
        absentia.tune(frame(), trials=1, metric="beauty@5")


def test_tune_logs_trials_and_warnings_as_they_come(caplog):
    with caplog.at_level("INFO", "absentia"):
        absentia.tune(frame(), trials=2, metric="recall@99", max_factors=2)
    said = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "absentia"]
    assert sum(level == "INFO" and "factors" in text for level, text in said) == 2, said
    assert any(level == "WARNING" and text.startswith("recall@99 is the same") for level, text in said), said


def test_grid_search_and_pipelines():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import Pipeline

    matrix = sp.random(60, 30, 0.2, format="csr", random_state=0)

    def score(model, rows, target=None):
        """How well rows of new users are explained by what they are folded in from."""
        estimator = model.steps[-1][1] if isinstance(model, Pipeline) else model
        scores = estimator.fold_in(rows) @ estimator.item_factors_.T
        return float(scores[rows.toarray() > 0].mean())

    model = absentia.Factorizer(factors=4, weights=0.1, regularization=0.1, iterations=3)
    search = GridSearchCV(model, {"factors": [2, 4]}, scoring=score, cv=2).fit(matrix)
    assert search.best_params_["factors"] in (2, 4)
    assert len(cross_val_score(model, matrix, scoring=score, cv=3)) == 3
    assert Pipeline([("model", model)]).fit(matrix)[-1].n_features_in_ == 30


def test_the_scorer_measures_new_users_and_held_out_rows():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler

    users, items, _ = zip(*log(users=60))
    rows = [int(user[1:]) for user in users]
    matrix = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, items)), shape=(60, 20))
    model = absentia.Factorizer(factors=4, weights=0.1, regularization=0.05, iterations=8)
    # Users of a fold are new: of the ten items of their taste they took six, and one of these is to be found among the
    # fifteen that they are not folded in from; a third would be found by chance.
    found = cross_val_score(model, matrix, scoring=absentia.scorer("recall@5"), cv=3)
    assert (found > 0.8).all(), found
    # Without a scorer it is NDCG at 10, in pipelines too.
    steps = Pipeline([("scale", MaxAbsScaler()), ("model", model)])
    search = GridSearchCV(steps, {"model__factors": [1, 4]}, cv=3).fit(matrix)
    assert search.best_params_ == {"model__factors": 4}
    by_name = cross_val_score(steps, matrix, scoring=absentia.scorer("ndcg@10"), cv=3)
    np.testing.assert_array_equal(cross_val_score(steps, matrix, cv=3), by_name)
    # Rows of a table are held-out interactions of known users.
    table = frame(users=60).sample(frac=1, random_state=0)
    assert (cross_val_score(model, table, scoring=absentia.scorer("recall@5"), cv=3) > 0.5).all()


def test_the_scorer_agrees_with_its_definition():
    matrix = sp.csr_matrix(sp.random(30, 40, 0.3, format="csr", random_state=1, dtype=np.float32) > 0, dtype=np.float32)
    model = absentia.Factorizer(factors=4, weights=0.1, regularization=0.05, post_scale=0.3).fit(matrix[:20])
    known, held_out = absentia.split(matrix[20:], "share:0.2", pick="random", seed=0)
    items, _ = model.recommend_rows(model.fold_in(known), n=5, seen=known)
    hits = [len(set(row) & set(held_out[at].indices)) / held_out[at].nnz for at, row in enumerate(items.tolist())]
    assert absentia.scorer("recall@5")(model, matrix[20:]) == pytest.approx(np.mean(hits), abs=1e-6)
    assert model.score(matrix[20:]) == absentia.scorer()(model, matrix[20:])
    with pytest.raises(TypeError, match="users and items"):
        model.score([1, 2])
    with pytest.raises(ValueError, match="hold_out"):
        absentia.scorer(hold_out=1.5)
    with pytest.raises(ValueError, match="fewer than two"):
        absentia.scorer()(model, sp.csr_matrix(np.eye(5, 40, dtype=np.float32)))


def test_all_checks_of_scikit_learn_that_apply_pass():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("this scikit-learn does not say which checks failed")

    class Dense(absentia.Factorizer):
        """Says that it takes dense matrices, which are refused: otherwise scikit-learn leaves all checks out."""

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.two_d_array = True
            return tags

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(Dense(factors=2, iterations=2, regularization=0.1), on_fail=None)
    # These wrap the refusal of a dense matrix, or expect another exception of it; the last fits a matrix without
    # missing entries.
    elsewhere = {
        "check_estimators_empty_data_messages",
        "check_estimators_nan_inf",
        "check_positive_only_tag_during_fit",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_pandas_series",
    }
    failed = {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"}
    dense = {name for name, said in failed.items() if "is not supported; give a scipy sparse matrix" in said}
    assert set(failed) - dense <= elsewhere, failed
    passed = {one["check_name"] for one in found if one["status"] == "passed"}
    assert len(passed) >= 12, passed


# Those of scikit-learn's checks that do not fit dense or invented matrices, which are no interactions.
CHECKS = [
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_unfitted",
    "check_mixin_order",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_parameters_default_constructible",
]


@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learn_accepts_the_estimator(name):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    check = getattr(checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("Factorizer", absentia.Factorizer(factors=2))


def test_a_file_can_keep_what_users_have_seen(tmp_path):
    model = absentia.Factorizer(factors=4, weights=0.05, regularization=0.01).fit(frame())
    model.save(tmp_path / "plain.absentia")
    model.save(tmp_path / "seen.absentia", keep_seen=True)
    plain = absentia.Factorizer.load(tmp_path / "plain.absentia")
    kept = absentia.Factorizer.load(tmp_path / "seen.absentia")
    with pytest.raises(ValueError, match="keep_seen"):
        plain.recommend("u0")
    assert np.array_equal(kept.recommend("u0")[0], model.recommend("u0")[0])
    with pytest.raises(ValueError, match="keep_seen|seen"):
        plain.save(tmp_path / "again.absentia", keep_seen=True)


def test_a_table_of_what_one_user_has_seen_is_not_converted_whole(tmp_path):
    table = frame(users=200)
    model = absentia.Factorizer(factors=4, weights=0.05, regularization=0.01).fit(table)
    model.save(tmp_path / "m.absentia")
    loaded = absentia.Factorizer.load(tmp_path / "m.absentia")
    tables = [table, table.astype({"user": object}), table.astype({"user": "category"})]
    for name in ("polars", "pyarrow"):
        try:
            tables.append(getattr(__import__(name), "from_pandas", None) or __import__(name).Table.from_pandas)
        except ImportError:
            continue
        tables[-1] = tables[-1](table)
    for users in ["u7", ["u7", "u8"], [f"u{user}" for user in range(100)]]:
        for seen in tables:
            expected, found = model.recommend(users), loaded.recommend(users, seen=seen)
            assert np.array_equal(expected[0], found[0]) and np.array_equal(expected[1], found[1])
    columns = (table["user"].to_numpy(dtype=object), table["item"].to_numpy())
    for seen in (columns, (columns[0].astype(str), columns[1]), (*columns, np.ones(len(table)))):
        for users in ("u7", ["u7", "u8"]):
            assert absentia._data.seen_pairs(seen, loaded._ids, {}, None, np.atleast_1d(users)) is not None
            assert np.array_equal(loaded.recommend(users, seen=seen)[0], model.recommend(users)[0])
    with pytest.raises(ValueError, match="length"):
        loaded.recommend("u7", seen=(columns[0], columns[1][:-1]))
    # A user of whom the table has nothing has seen nothing, and columns may have any order and names.
    others = table[table["user"] != "u7"]
    assert np.array_equal(loaded.recommend("u7", seen=others)[0], loaded.recommend("u7", exclude_seen=False)[0])
    assert np.array_equal(loaded.recommend("u7", seen=table[["item", "user"]])[0], model.recommend("u7")[0])


def test_tables_of_recommendations_say_what_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    model = absentia.Factorizer(factors=2, weights=0.05, regularization=0.1).fit((["a", "b"], ["x", "y"]))
    with pytest.raises(ImportError, match="install pandas"):
        model.recommend_frame("a")


def test_integer_users_of_a_table_are_found(tmp_path):
    table = frame(users=200)
    table["user"] = table["user"].str[1:].astype(int)
    model = absentia.Factorizer(factors=4, weights=0.05, regularization=0.01).fit(table)
    model.save(tmp_path / "m.absentia")
    loaded = absentia.Factorizer.load(tmp_path / "m.absentia")
    kinds = ["int64", "int32", "uint8", "Int64", "float64", object]
    tables = [table.astype({"user": kind}) for kind in kinds] + [table.astype({"user": str})]
    for seen in tables:
        for users in (7, [7, 8], np.array([7, 8])):
            assert np.array_equal(loaded.recommend(users, seen=seen)[0], model.recommend(users)[0]), seen.dtypes


def test_damaged_files_print_no_panic(tmp_path, capfd):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather as feather

    path = tmp_path / "x.feather"
    feather.write_feather(pa.table({"user": [1, 2, 3], "item": [4, 5, 6]}), path, compression="uncompressed")
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            absentia.Factorizer(factors=2, iterations=1, regularization=0.1).fit(path)
        except (ValueError, OSError, MemoryError):
            pass
    assert "panicked" not in capfd.readouterr().err


def test_texts_in_the_form_of_arrow_are_found_where_they_are():
    pa = pytest.importorskip("pyarrow")
    texts = ["u1", "u10", "", "é1", "u1", "1u", "u1", None, "u10", "é1"]
    for kind in (pa.string(), pa.large_string()):
        whole = pa.array(texts, kind)
        pieces = [[whole], [whole[3:7]], [whole[7:]], [whole[:2], whole[2:2], whole[4:7]], [whole[2:3]], [whole[:0]]]
        for column in map(pa.chunked_array, pieces):
            cells = column.to_pylist()
            for wanted in (["u1"], ["é1"], ["u10", "u1"], ["u1", "u1"], ["none"]):
                expected = [at for at, cell in enumerate(cells) if cell in wanted]
                assert absentia._tables._places_of(column, wanted).tolist() == expected, (cells, wanted)


def test_rows_of_unknown_users_say_how_to_divide_a_table():
    table = frame()
    model = absentia.Factorizer(factors=2, weights=0.05, regularization=0.1).fit(table)
    strangers = table.assign(user="new " + table["user"].astype(str))
    with pytest.raises(ValueError, match="shuffle=True"):
        absentia.scorer()(model, strangers)
    with pytest.raises(ValueError, match="shuffle=True"):
        model.score(strangers)


def test_objects_that_rows_share_are_found():
    names = [f"u{at}" for at in range(5000)]
    column = np.array([names[at * 7 % 5000] for at in range(20000)] + [None, 7, 2.5, "".join(["u", "7"])], dtype=object)
    for wanted in (["u7"], ["u7", "u8", "u7"], ["none"]):
        expected = [at for at, cell in enumerate(column) if isinstance(cell, str) and cell in wanted]
        assert absentia._tables._places_of(column, wanted).tolist() == expected
