"""Side information: from tables in memory, sparse matrices and files to the same model."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import absentia

USERS = ["ann", "ann", "bob", "bob", "cy", "cy", "dee", "dee"]
ITEMS = ["heat", "fargo", "heat", "drive", "up", "coco", "up", "big"]
TAGGED = ["heat", "fargo", "drive", "laura", "up", "coco", "big"]
TAGS = ["noir", "noir", "noir", "noir", "family", "family", "family"]
SMALL: Any = {"factors": 4, "iterations": 8, "regularization": 0.01, "weights": "uniform:0.1", "random_state": 1}


def fitted(relations: Any, solver: str = "eals", **options: Any) -> absentia.Factorizer:
    return absentia.Factorizer(solver=solver, **SMALL).fit((USERS, ITEMS), relations=relations, **options)


def test_tables_and_files_give_the_same_model(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text("item,tag\n" + "".join(f"{item},{tag}\n" for item, tag in zip(TAGGED, TAGS)))
    options = "strength=0.4,weights=uniform:0.05"
    model = fitted({"items-tags": ((TAGGED, TAGS), options)})
    others = [
        fitted({"items-tags": f"{path},{options}"}),
        fitted(None, relation=f"items-tags:{path},{options}"),
    ]
    for other in others:
        assert np.array_equal(other.item_factors_, model.item_factors_)
        assert np.array_equal(other.factors_of("tags"), model.factors_of("tags"))
    assert model.types_ == ["users", "items", "tags"]
    assert model.ids_of("tags").tolist() == ["family", "noir"]
    assert model.factors_of("tags").shape == (2, 4)
    # Nobody has seen laura, which is known by its tag alone.
    assert model.item_ids_.tolist()[-1] == "laura"
    items, _ = model.recommend("ann", n=3)
    assert "laura" in list(items)
    with pytest.raises(ValueError, match="no towns; it has users, items, tags"):
        model.factors_of("towns")


def test_a_model_comes_back_with_its_relations(tmp_path: pathlib.Path) -> None:
    model = fitted({"items-tags": (TAGGED, TAGS)})
    model.save(tmp_path / "m.absentia")
    loaded = absentia.Factorizer.load(tmp_path / "m.absentia")
    assert np.array_equal(loaded.factors_of("tags"), model.factors_of("tags"))
    assert loaded.ids_of("tags").tolist() == model.ids_of("tags").tolist()
    with pytest.raises(ValueError, match="cannot be continued"):
        model.partial_fit((["ann"], ["up"]))


def test_rows_of_a_sparse_relation_are_the_columns_of_the_matrix() -> None:
    matrix = sp.csr_matrix(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]], dtype=np.float32))
    tags = sp.csr_matrix(np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32))
    model = absentia.Factorizer(**SMALL).fit(matrix, relations={"items-tags": tags})
    assert model.item_factors_.shape == (4, 4)
    assert model.factors_of("tags").shape == (2, 4)
    plain = absentia.Factorizer(**SMALL).fit(matrix)
    # Nobody has the last item: only its tags tell it apart from nothing.
    assert np.abs(model.item_factors_[3]).max() > 10 * np.abs(plain.item_factors_[3]).max()


def test_relations_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="none of its items"):
        fitted({"items-tags": (["x", "y"], ["a", "b"])})
    with pytest.raises(ValueError, match="same side"):
        fitted({"users-users": (["ann"], ["bob"])})
    assert fitted({"users-users": ((["ann"], ["bob"]), "context=yes")}).types_[-1] == "users of users"
    with pytest.raises(ValueError, match="at least 0"):
        fitted({"items-tags": ((TAGGED, TAGS), "strength=-1")})
    with pytest.raises(ValueError, match="header= is for files"):
        fitted({"items-tags": ((TAGGED, TAGS), "header=yes")})


def test_features_are_arrays_tables_or_files(tmp_path: pathlib.Path) -> None:
    ids = ["heat", "fargo", "drive", "laura", "up", "coco", "big"]
    values = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    values[:4] += 3
    model = fitted({"items-vectors": ((ids, values), "strength=2")})
    assert model.types_ == ["users", "items", "vectors"]
    assert model.factors_of("vectors").shape == (3, 4)
    np.save(tmp_path / "v.npy", values)
    (tmp_path / "ids.txt").write_text("\n".join(ids) + "\n")
    lines = [f"{name}," + ",".join(repr(float(x)) for x in row) for name, row in zip(ids, values)]
    (tmp_path / "v.csv").write_text("item,a,b,c\n" + "\n".join(lines) + "\n")
    others = [
        fitted({"items-vectors": f"{tmp_path}/v.npy,strength=2,ids={tmp_path}/ids.txt"}),
        fitted({"items-vectors": f"{tmp_path}/v.csv,dense=yes,strength=2"}),
    ]
    for other in others:
        assert np.array_equal(other.item_factors_, model.item_factors_)
    # Nobody has seen laura, whose features are those of the films that ann and bob have seen.
    items, _ = model.recommend("ann", n=3)
    assert "laura" in list(items)
    model.save(tmp_path / "m.absentia")
    assert np.array_equal(absentia.Factorizer.load(tmp_path / "m.absentia").item_factors_, model.item_factors_)


def test_a_file_whose_names_may_be_numbers_is_refused_until_it_is_said(tmp_path: pathlib.Path) -> None:
    (tmp_path / "v.csv").write_text("item,0,1\nheat,1,2\nup,3,5\n")
    with pytest.raises(ValueError, match="header=yes or header=no"):
        fitted({"items-vectors": f"{tmp_path}/v.csv,dense=yes"})
    model = fitted({"items-vectors": f"{tmp_path}/v.csv,dense=yes,header=yes"})
    assert "item" not in model.item_ids_.tolist()
    assert model.ids_of("vectors").tolist() == [0, 1]


def test_features_of_a_matrix_are_by_row() -> None:
    matrix = sp.csr_matrix(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]], dtype=np.float32))
    vectors = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    model = absentia.Factorizer(**SMALL).fit(matrix, relations={"items-vectors": vectors})
    assert model.item_factors_.shape == (4, 4)
    assert np.abs(model.item_factors_[3]).max() > 0.01


def test_features_that_cannot_be_are_refused() -> None:
    values = np.ones((2, 2))
    for given, message in [
        (values, "not row numbers"),
        ((["heat", "up"], values), "same features"),
        ((["heat", "up"], np.array([[1.0, np.nan], [2.0, 3.0]])), "not a finite number"),
        ((["heat"], values), "1 ids for 2 rows"),
        ((["heat", "heat"], values), "two rows"),
        (((["heat", "up"], values), "least=2"), "no effect on features"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted({"items-vectors": given})


def test_new_items_and_users_are_folded_in_by_attributes(tmp_path: pathlib.Path) -> None:
    tags = {"items-tags": (TAGGED, TAGS), "users-towns": (["ann", "bob", "cy", "dee"], ["rome", "rome", "oslo", "oslo"])}
    model = fitted(tags, solver="als")
    new_tags = {"items-tags": (["nikita", "cars", "heat"], ["noir", "family", "family"])}
    new = model.fold_in_related(new_tags)
    # Heat is known, and keeps the factors it was trained with.
    assert new.items.tolist() == ["cars", "nikita"] and len(new.users) == 0
    laura = model.item_factors_[model.item_ids_.tolist().index("laura")]
    assert np.allclose(new.item_factors[1], laura, atol=1e-4)
    path = tmp_path / "new.csv"
    path.write_text("item,tag\nnikita,noir\ncars,family\n")
    again = model.fold_in_related({"items-tags": path})
    assert np.array_equal(again.item_factors, new.item_factors)
    items, scores = model.recommend("ann", n=20, relations=new_tags)
    listed = dict(zip(items.tolist(), scores.tolist()))
    assert "nikita" in listed and "heat" not in listed
    assert listed["nikita"] > listed["cars"]
    # Who took a new item does not get it again, new or not; a new user is known by a town.
    towns = {**new_tags, "users-towns": (["eve"], ["rome"])}
    taken = (["ann", "eve"], ["nikita", "nikita"])
    lists, _ = model.recommend(["ann", "bob", "eve"], n=20, relations=towns, interactions=taken)
    assert ["nikita" in row for row in lists.tolist()] == [False, True, False]
    assert "fargo" in lists[2].tolist()
    # A user whom the model knows keeps what their interactions say.
    moved = {"users-towns": (["ann"], ["oslo"])}
    plain, known = model.recommend("ann", n=5)
    moved_items, moved_scores = model.recommend("ann", n=5, relations=moved)
    assert moved_items.tolist() == plain.tolist() and np.allclose(moved_scores, known, atol=1e-6)
    with pytest.raises(KeyError, match="zoe"):
        model.recommend("zoe", relations=new_tags)
    with pytest.raises(ValueError, match="no relation items-words"):
        model.fold_in_related({"items-words": (["nikita"], ["noir"])})
    with pytest.raises(ValueError, match="no attribute is known"):
        model.fold_in_related({"items-tags": (["nikita"], ["jazz"])})
    with pytest.raises(ValueError, match="without relations"):
        absentia.Factorizer(**SMALL).fit((USERS, ITEMS)).fold_in_related(new_tags)


def test_a_file_whose_first_line_may_be_names_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text("film,keyword\nheat,noir\nup,family\n")
    with pytest.raises(ValueError, match="may be the names of the columns"):
        fitted({"items-tags": path})
    assert "film" not in fitted({"items-tags": f"{path},header=yes"}).item_ids_.tolist()
