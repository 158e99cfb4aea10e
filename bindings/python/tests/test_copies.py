"""Copies of models, comparisons, tables of recommendations, and what scikit-learn needs."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import absentia
from absentia import Factorizer


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(3)
    taste = rng.integers(0, 3, 90)
    liked = (np.arange(40)[None, :] % 3 == taste[:, None]) & (rng.random((90, 40)) < 0.6)
    noise = rng.random((90, 40)) < 0.04
    return sp.csr_matrix((liked | noise).astype(np.float32))


@pytest.fixture(scope="module")
def table(matrix):
    rows = matrix.tocoo()
    return pd.DataFrame({"user": rows.row + 100, "item": rows.col + 500})


def test_copies_leave_out_what_users_have_seen(matrix, table):
    for data, user in ((matrix, 3), (table, 103)):
        model = Factorizer(6, regularization=0.05).fit(data)
        items, scores = model.recommend(user)
        once = pickle.loads(pickle.dumps(model))
        for back in (copy.deepcopy(model), once, pickle.loads(pickle.dumps(once))):
            np.testing.assert_array_equal(back.recommend(user)[0], items)
            np.testing.assert_array_equal(back.recommend(user)[1], scores)
            assert back.evaluate(data, ["hr@5"], exclude_seen=False) == model.evaluate(data, ["hr@5"], exclude_seen=False)
            with pytest.raises(ValueError, match="without its training data"):
                back.partial_fit(data)
            back.partial_fit(data, seen=data).recommend(user)


def test_recommendations_are_a_table(table):
    model = Factorizer(6, regularization=0.05).fit(table)
    frame = model.recommend_frame([103, 104], n=3)
    items, scores = model.recommend([103, 104], n=3)
    assert frame["user"].tolist() == [103] * 3 + [104] * 3 and frame["rank"].tolist() == [1, 2, 3] * 2
    assert frame["item"].tolist() == items.ravel().tolist() and frame["item"].dtype.kind == "i"
    np.testing.assert_array_equal(frame["score"], scores.ravel())
    assert len(model.recommend_frame(103, n=2)) == 2
    assert len(model.recommend_frame([103], n=2, allow=[])) == 0


def test_unknown_ids_say_what_they_are(table):
    model = Factorizer(2, regularization=0.05).fit(table)
    with pytest.raises(KeyError, match="user 7 is not known"):
        model.recommend(7)
    with pytest.raises(KeyError, match="item 7 is not known"):
        model.similar_items(7)
    with pytest.raises(KeyError, match="item 7 is not known"):
        model.score(103, 7)


def test_models_are_compared_on_the_same_rows(matrix):
    held = np.random.default_rng(1).random(matrix.nnz) < 0.2
    users = np.repeat(np.arange(90), np.diff(matrix.indptr))
    parts = [
        sp.csr_matrix((matrix.data[kept], (users[kept], matrix.indices[kept])), shape=matrix.shape)
        for kept in (~held, held)
    ]
    models = {"eals": Factorizer(6, regularization=0.05), "popularity": Factorizer(solver="popularity")}
    found = absentia.compare(models, *parts, ["ndcg@10"])
    assert found["eals"]["ndcg@10"] > found["popularity"]["ndcg@10"]
    assert not hasattr(models["eals"], "_model")
    again = absentia.evaluate(models["eals"].fit(parts[0]), parts[1], ["ndcg@10"])
    assert again["ndcg@10"] == found["eals"]["ndcg@10"]


def test_scikit_learn_takes_the_estimator(matrix):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    model = Factorizer(6, regularization=0.05, num_threads=1)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    assert get_tags(model).input_tags.sparse and not get_tags(model).target_tags.required
    steps = Pipeline([("tfidf", TfidfTransformer()), ("model", Factorizer(6, regularization=0.05, targets="raw"))])
    assert steps.fit(matrix)["model"].recommend(0)[0].shape == (10,)

    def fit(model, X, y=None):
        """How close the scores of folded-in users come to their rows."""
        return -float(np.square(model.fold_in(X) @ model.item_factors_.T - X.toarray()).mean())

    assert cross_val_score(model, matrix, cv=3, scoring=fit).shape == (3,)
    search = GridSearchCV(model, {"factors": [1, 6]}, scoring=fit, cv=3).fit(matrix)
    assert search.best_params_ == {"factors": 6}
