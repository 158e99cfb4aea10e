"""Splits and metrics with the API and the values of ``implicit.evaluation`` 0.7.

The metrics accept any model with ``recommend(userids, user_items, N=...)``, also those of ``implicit``.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._matrices import generator

__all__ = [
    "AUC_at_k",
    "leave_k_out_split",
    "mean_average_precision_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "ranking_metrics_at_k",
    "train_test_split",
]

_BATCH = 1000


def train_test_split(ratings: Any, train_percentage: float = 0.8, random_state: Any = None) -> Tuple[Any, Any]:
    """Puts each entry into train with the given probability, otherwise into test. Test has no dislikes."""
    entries = ratings.tocoo()
    drawn = generator(random_state).random(len(entries.data))
    train = _part(entries, drawn < train_percentage)
    test = _part(entries, drawn >= train_percentage)
    test.data[test.data < 0] = 0
    test.eliminate_zeros()
    return train, test


def leave_k_out_split(
    ratings: Any, K: int = 1, train_only_size: float = 0.0, random_state: Any = None
) -> Tuple[Any, Any]:
    """Holds out K random entries of each user who has more than K + 1.

    The held-out entries depend on ``numpy.random``'s global state, as in ``implicit``. ``random_state``
    chooses the users that ``train_only_size`` keeps in train. Held-out values are not changed;
    ``implicit`` adds some of them up again for every user that it skips.
    """
    if K < 1:
        raise ValueError("The 'K' must be >= 1.")
    if not 0.0 <= train_only_size < 1.0:
        raise ValueError("The 'train_only_size' must be in the range (0.0 <= x < 1.0).")
    entries = ratings.tocoo()
    draws = generator(random_state)
    users, counts = np.unique(entries.row, return_counts=True)
    eligible = counts > K + 1
    if train_only_size > 0.0:
        # Implicit stores the share in single precision.
        size = max(1, int(len(users) * np.float32(train_only_size)))
        eligible &= ~np.isin(users, draws.choice(len(users), size=size, replace=False))
    candidates = np.flatnonzero(np.isin(entries.row, users[eligible]))
    held = candidates[_tails(entries.row[candidates], K)]
    in_test = np.zeros(len(entries.data), dtype=bool)
    in_test[held] = True
    return _part(entries, ~in_test), _part(entries, in_test)


def _tails(rows: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Positions of the last ``count`` entries of every row after a shuffle within rows."""
    order = rows.argsort()
    shuffled = (rows[order] + np.random.random(rows.shape)).argsort()
    ends = np.flatnonzero(np.diff(rows[order], append=-1)) + 1 if len(rows) else np.zeros(0, dtype=np.intp)
    tails: NDArray[np.intp] = order[shuffled[(ends[:, None] - np.arange(count, 0, -1)).ravel()]]
    return tails


def _part(entries: Any, kept: NDArray[np.bool_]) -> Any:
    return sp.csr_matrix(
        (entries.data[kept], (entries.row[kept], entries.col[kept])), shape=entries.shape, dtype=entries.dtype
    )


def precision_at_k(
    model: Any, train_user_items: Any, test_user_items: Any, K: int = 10, show_progress: bool = True, num_threads: int = 1
) -> float:
    """The number of hits in the first K, divided by the largest possible number, over all users together."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress, num_threads)["precision"]


def mean_average_precision_at_k(
    model: Any, train_user_items: Any, test_user_items: Any, K: int = 10, show_progress: bool = True, num_threads: int = 1
) -> float:
    """MAP@K, the mean over users with a test item."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress, num_threads)["map"]


def ndcg_at_k(
    model: Any, train_user_items: Any, test_user_items: Any, K: int = 10, show_progress: bool = True, num_threads: int = 1
) -> float:
    """NDCG@K, the mean over users with a test item."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress, num_threads)["ndcg"]


def AUC_at_k(
    model: Any, train_user_items: Any, test_user_items: Any, K: int = 10, show_progress: bool = True, num_threads: int = 1
) -> float:
    """AUC of the first K, the mean over users with a test item. The rest is assumed to be in random order."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress, num_threads)["auc"]


def ranking_metrics_at_k(
    model: Any, train_user_items: Any, test_user_items: Any, K: int = 10, show_progress: bool = True, num_threads: int = 1
) -> Dict[str, float]:
    """Computes all four metrics as a dictionary: ``precision``, ``map``, ``ndcg``, ``auc``.

    ``num_threads`` has no effect: ranking uses the threads of the model.
    """
    from tqdm.auto import tqdm

    train, test = sp.csr_matrix(train_user_items), sp.csr_matrix(test_user_items)
    users = np.flatnonzero(np.diff(test.indptr) > 0).astype(np.int32)
    totals = np.zeros(5)
    with tqdm(total=len(users), disable=not show_progress) as progress:
        for start in range(0, len(users), _BATCH):
            batch = users[start : start + _BATCH]
            ids, _ = model.recommend(batch, train[batch], N=K)
            totals += _sums(np.asarray(ids), test[batch], K)
            progress.update(len(batch))
    hits, most, precision, gain, auc = totals
    n = len(users)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.array([precision, gain, auc]) / np.float64(n)
        return {
            "precision": float(np.float64(hits) / most),
            "map": float(means[0]),
            "ndcg": float(means[1]),
            "auc": float(means[2]),
        }


def _sums(ids: NDArray[Any], test: Any, K: int) -> NDArray[np.float64]:
    """Sums over users: hits, largest possible number of hits, average precision, ndcg, auc."""
    items = test.shape[1]
    likes = sp.csr_matrix((np.ones(len(test.indices), dtype=bool), test.indices, test.indptr), shape=test.shape)
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    hit = np.asarray(likes[rows, ids.ravel()]).reshape(ids.shape).astype(np.float64)
    positives = np.diff(test.indptr).astype(np.float64)
    most = np.minimum(K, positives)
    so_far = hit.cumsum(axis=1)
    precision = (hit * so_far / np.arange(1, K + 1)).sum(axis=1) / most
    gains = 1.0 / np.log2(np.arange(2, K + 2))
    ndcg = (hit * gains).sum(axis=1) / gains.cumsum()[most.astype(int) - 1]
    hits, misses, negatives = so_far[:, -1], (1 - hit).sum(axis=1), items - positives
    above = ((1 - hit) * so_far).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = (above + (hits + positives) / 2.0 * (negatives - misses)) / (positives * negatives)
    return np.array([hits.sum(), most.sum(), precision.sum(), ndcg.sum(), auc.sum()])
