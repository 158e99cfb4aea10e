"""Alternating least squares with the API of ``implicit`` 0.7."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any, Callable, List, Optional, Tuple, Union

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import _core, _params
from .._data import lend

__all__ = ["AlternatingLeastSquares", "ModelFitError", "ParameterWarning"]

log = logging.getLogger("absentia.implicit")

Lists = Tuple[NDArray[Any], NDArray[Any]]
_LOWEST = -np.finfo(np.float32).max
_TINY = 1e-10


class ModelFitError(Exception):
    """Training ended in factors that are not finite, or could not start."""


class ParameterWarning(Warning):
    """An argument had to be converted."""


class AlternatingLeastSquares:
    """Alternating least squares (Hu, Koren and Volinsky 2008) as ``implicit`` has it.

    Parameters
    ----------
    factors, regularization, alpha, iterations, calculate_training_loss, num_threads, random_state
        As in ``implicit``.
    dtype : data-type
        Type of the factors; they are computed in single precision.
    use_native : bool
        Accepted; there is only one implementation.
    use_cg : bool
        Three conjugate-gradient steps per row (``als-cg``) rather than exact solves (``als``).
    use_gpu : bool
        There is no GPU backend: ``True`` is a ``ValueError``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
    >>> model = AlternatingLeastSquares(factors=2, alpha=10, random_state=0)
    >>> model.fit(X, show_progress=False)
    >>> ids, scores = model.recommend(3, X[3], N=1)
    >>> ids.tolist()
    [3]
    """

    def __init__(
        self,
        factors: int = 100,
        regularization: float = 0.01,
        alpha: float = 1.0,
        dtype: DTypeLike = np.float32,
        use_native: bool = True,
        use_cg: bool = True,
        use_gpu: bool = False,
        iterations: int = 15,
        calculate_training_loss: bool = False,
        num_threads: int = 0,
        random_state: Any = None,
    ) -> None:
        if use_gpu:
            raise ValueError("use_gpu=True: Absentia has no GPU backend; leave it out")
        self.factors = factors
        self.regularization = regularization
        self.alpha = alpha
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.use_native = use_native
        self.use_cg = use_cg
        self.iterations = iterations
        self.calculate_training_loss = calculate_training_loss
        self.num_threads = num_threads
        self.random_state = random_state
        self.cg_steps = 3
        self.fit_callback: Optional[Callable[..., Any]] = None
        self.user_factors: Any = None
        self.item_factors: Any = None

    # Training.

    def fit(
        self, user_items: Any, show_progress: bool = True, callback: Optional[Callable[..., Any]] = None
    ) -> None:
        """Factorises a matrix of confidences; factors there are already are the start.

        ``callback(iteration, seconds, loss)`` is called after every iteration, with ``loss`` None
        unless ``calculate_training_loss``.
        """
        rows = _confidences(_csr(user_items), self.alpha)
        if rows.nnz and not np.isfinite(rows.data).all():
            raise ModelFitError("NaN encountered in factors: a value of user_items is not finite")
        self._start(rows.shape)
        data, weights = _targets_and_weights(rows)
        heard = _Heard(self, rows, callback or self.fit_callback, show_progress)
        try:
            model, _ = _core.fit(
                lend(data, weights),
                _core.Scheme.uniform(1.0),
                self._engine_params(),
                init=(_singles(self.user_factors), _singles(self.item_factors)),
                callback=heard if heard.wanted else None,
            )
        finally:
            heard.close()
        self.user_factors = np.array(np.asarray(model.user_factors), dtype=self.dtype)
        self.item_factors = np.array(np.asarray(model.item_factors), dtype=self.dtype)
        if self.calculate_training_loss:
            log.info("Final training loss %.4f", heard.loss)

    def _start(self, shape: Tuple[int, int]) -> None:
        generator = _generator(self.random_state)
        size = _params.whole("factors", self.factors)
        draw: Any = self.dtype if self.dtype in (np.float32, np.float64) else np.float32
        if self.user_factors is None:
            self.user_factors = (generator.random((shape[0], size), dtype=draw) * 0.01).astype(self.dtype)
        if self.item_factors is None:
            self.item_factors = (generator.random((shape[1], size), dtype=draw) * 0.01).astype(self.dtype)

    def _engine_params(self) -> str:
        solver = {"kind": "als-cg", "steps": self.cg_steps} if self.use_cg else {"kind": "als"}
        return _params.text(
            {
                "factors": _params.whole("factors", self.factors),
                "iterations": _params.whole("iterations", self.iterations),
                "regularization": _params.real("regularization", self.regularization),
                "reg_exponent": 0.0,
                "solver": solver,
                "targets": {"kind": "raw"},
                "confidence": {"kind": "column"},
                "threads": self._threads(),
            }
        )

    def recalculate_user(self, userid: Any, user_items: Any) -> NDArray[Any]:
        """The best factors of users for the rows of ``user_items``; nothing is stored."""
        rows = _csr(user_items)
        users = 1 if np.isscalar(userid) else len(userid)
        if rows.shape[0] != users:
            raise ValueError("user_items should have one row for every item in user")
        solved = self._solve(self.item_factors, rows)
        return solved[0] if np.isscalar(userid) else solved

    def recalculate_item(self, itemid: Any, item_users: Any) -> NDArray[Any]:
        """The best factors of items for the rows of ``item_users``; nothing is stored."""
        solved = self._solve(self.user_factors, _csr(item_users))
        return solved[0] if np.isscalar(itemid) else solved

    def _solve(self, fixed: NDArray[Any], rows: Any) -> NDArray[Any]:
        data, weights = _targets_and_weights(_confidences(rows, self.alpha))
        solved = _core.solve_rows(
            _singles(fixed), lend(data, weights), _params.real("regularization", self.regularization), self._threads()
        )
        return solved.astype(self.dtype, copy=False)

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Updates or adds users, each with a row of ``user_items``."""
        if len(userids) != user_items.shape[0]:
            raise ValueError("user_items must contain 1 row for every user in userids")
        solved = self.recalculate_user(userids, user_items)
        self.user_factors = _stored(self.user_factors, userids, solved)

    def partial_fit_items(self, itemids: Any, item_users: Any) -> None:
        """Updates or adds items, each with a row of ``item_users``."""
        if len(itemids) != item_users.shape[0]:
            raise ValueError("item_users must contain 1 row for every user in itemids")
        solved = self.recalculate_item(itemids, item_users)
        self.item_factors = _stored(self.item_factors, itemids, solved)

    # Answers.

    def recommend(
        self,
        userid: Any,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Optional[ArrayLike] = None,
        recalculate_user: bool = False,
        items: Optional[ArrayLike] = None,
    ) -> Lists:
        """The best items of a user or of several, as ``(ids, scores)``."""
        if filter_already_liked_items or recalculate_user:
            if not isinstance(user_items, sp.csr_matrix):
                raise ValueError("user_items needs to be a CSR sparse matrix")
            count = 1 if np.isscalar(userid) else len(userid)
            rows: Any = user_items
            if rows.shape[0] != count:
                raise ValueError("user_items must contain 1 row for every user in userids")
        queries = self.recalculate_user(userid, user_items) if recalculate_user else self.user_factors[userid]
        chosen = self._chosen(items, filter_items, self.item_factors, "items", "recommend", rising=True)
        seen = user_items if filter_already_liked_items else None
        if chosen is not None:
            N = min(N, len(chosen))
            seen = None if seen is None else seen[:, chosen]
        factors = self.item_factors if chosen is None else self.item_factors[chosen]
        ids, scores = self._top(queries, factors, N, seen, filter_items)
        if np.isscalar(userid):
            ids, scores = ids[0], scores[0]
        return (ids if chosen is None else chosen[ids]), scores

    def recommend_all(
        self,
        user_items: Any,
        N: int = 10,
        recalculate_user: bool = False,
        filter_already_liked_items: bool = True,
        filter_items: Optional[ArrayLike] = None,
        users_items_offset: int = 0,
    ) -> NDArray[Any]:
        """Deprecated, as in ``implicit``: :meth:`recommend` with an array of users does the same."""
        warnings.warn(
            "recommend_all is deprecated. Use recommend with an array of userids instead",
            DeprecationWarning,
            stacklevel=2,
        )
        users = np.arange(user_items.shape[0]) + users_items_offset
        ids, _ = self.recommend(
            users, user_items, N, filter_already_liked_items, filter_items, recalculate_user
        )
        return ids

    def rank_items(
        self, userid: Any, user_items: Any, selected_items: ArrayLike, recalculate_user: bool = False
    ) -> Lists:
        """Deprecated, as in ``implicit``: :meth:`recommend` with ``items`` does the same."""
        warnings.warn(
            "rank_items is deprecated. Use recommend with the 'items' parameter instead",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.recommend(
            userid,
            user_items,
            recalculate_user=recalculate_user,
            items=selected_items,
            filter_already_liked_items=False,
        )

    def similar_users(
        self,
        userid: Any,
        N: int = 10,
        filter_users: Optional[ArrayLike] = None,
        users: Optional[ArrayLike] = None,
    ) -> Lists:
        """The users most like a user or several, by cosine, themselves included."""
        query = self.user_factors[userid]
        chosen = self._chosen(users, filter_users, self.user_factors, "users", "similar_users")
        return self._similar(query, np.isscalar(userid), self.user_factors, N, filter_users, chosen)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Optional[ArrayLike] = None,
        items: Optional[ArrayLike] = None,
    ) -> Lists:
        """The items most like an item or several, by cosine, themselves included."""
        query = self.recalculate_item(itemid, item_users) if recalculate_item else self.item_factors[itemid]
        chosen = self._chosen(items, filter_items, self.item_factors, "items", "similar_items")
        return self._similar(query, np.isscalar(itemid), self.item_factors, N, filter_items, chosen)

    def _chosen(
        self,
        given: Optional[ArrayLike],
        filtered: Any,
        factors: NDArray[Any],
        what: str,
        method: str,
        rising: bool = False,
    ) -> Optional[NDArray[Any]]:
        if given is None:
            return None
        if filtered is not None and np.size(filtered):
            raise ValueError(f"Can't set both {what} and filter_{what} in {method} call")
        chosen = np.array(given)
        if chosen.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if rising:
            chosen.sort()
        if chosen.size and (chosen.max() >= len(factors) or chosen.min() < 0):
            raise IndexError(f"Some {what[:-1]}ids in the {what} parameter are not in the model")
        return chosen

    def _similar(
        self,
        query: NDArray[Any],
        one: bool,
        factors: NDArray[Any],
        n: int,
        filtered: Optional[ArrayLike],
        chosen: Optional[NDArray[Any]],
    ) -> Lists:
        if chosen is not None:
            factors = factors[chosen]
        ids, scores = self._top(query, factors, n, None, filtered, _lengths(factors))
        scores = scores / _lengths(np.atleast_2d(query)).astype(scores.dtype)[:, None]
        if one:
            ids, scores = ids[0], scores[0]
        return (ids if chosen is None else chosen[ids]), scores

    def _top(
        self,
        queries: NDArray[Any],
        factors: NDArray[Any],
        n: int,
        seen: Any,
        filtered: Optional[ArrayLike],
        lengths: Optional[NDArray[Any]] = None,
    ) -> Lists:
        deny = None if filtered is None else np.unique(_indices(filtered, len(factors)))
        if n <= 0:
            raise IndexError("N must be at least 1")
        ids, scores = _core.top_k(
            _singles(np.atleast_2d(queries)),
            _singles(factors),
            n,
            None if seen is None else lend(_sorted(seen)),
            deny,
            None if lengths is None else (1.0 / lengths).astype(np.float32),
            self._threads(),
        )
        _fill(ids, scores, len(factors), seen, deny)
        return ids.astype(np.int32), scores.astype(self.dtype, copy=False)

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: Any = None, N: int = 10
    ) -> Tuple[float, List[Tuple[Any, Any]], Any]:
        """The score of an item, the entries of the user that add most to it, and the user's Cholesky
        factor, which makes further calls for the same user faster."""
        row = _confidences(_csr(user_items), self.alpha)[userid]
        liked, confidence = self.item_factors[row.indices], row.data.astype(np.float64)
        if user_weights is None:
            gram = self.YtY + self.regularization * np.eye(self.factors)
            gram = gram + (liked.T * (np.abs(confidence) - 1)) @ liked
            user_weights = scipy.linalg.cho_factor(gram)
        weighted = scipy.linalg.cho_solve(user_weights, self.item_factors[itemid])
        positive = confidence > 0
        parts = (liked[positive] @ weighted) * confidence[positive]
        order = np.lexsort((-row.indices[positive], -parts))[:N]
        top = [(row.indices[positive][at], parts[at]) for at in order]
        return parts.sum(), top, user_weights

    # What goes with the factors.

    @property
    def YtY(self) -> NDArray[Any]:
        """The item factors' Gram matrix."""
        gram: NDArray[Any] = self.item_factors.T @ self.item_factors
        return gram

    @property
    def XtX(self) -> NDArray[Any]:
        """The user factors' Gram matrix."""
        gram: NDArray[Any] = self.user_factors.T @ self.user_factors
        return gram

    @property
    def user_norms(self) -> NDArray[Any]:
        """The lengths of the user factors; a row of zeros counts as tiny."""
        return _lengths(self.user_factors)

    @property
    def item_norms(self) -> NDArray[Any]:
        """The lengths of the item factors; a row of zeros counts as tiny."""
        return _lengths(self.item_factors)

    def _threads(self) -> Optional[int]:
        return _params.whole("num_threads", self.num_threads) or None

    def to_gpu(self) -> Any:
        """There is no GPU backend."""
        raise ValueError("Absentia has no GPU backend")

    # Files.

    def save(self, fileobj_or_path: Any) -> None:
        """Writes the ``.npz`` that ``implicit`` writes, which loads in both."""
        names = (
            "user_factors item_factors regularization factors num_threads iterations use_native use_cg "
            "cg_steps calculate_training_loss random_state alpha"
        ).split()
        stored = {name: getattr(self, name) for name in names}
        stored["dtype"] = self.dtype.name
        np.savez(fileobj_or_path, **{name: value for name, value in stored.items() if value is not None})

    @classmethod
    def load(cls, fileobj_or_path: Any) -> "AlternatingLeastSquares":
        """Reads a model saved here or by ``implicit``."""
        if isinstance(fileobj_or_path, str) and not fileobj_or_path.endswith(".npz"):
            fileobj_or_path = fileobj_or_path + ".npz"
        model = cls()
        with np.load(fileobj_or_path, allow_pickle=False) as stored:
            for name, value in stored.items():
                if name == "dtype":
                    model.dtype = np.dtype(str(value))
                else:
                    setattr(model, name, value.item() if value.shape == () else value)
        return model


class _Heard:
    """Hands iterations to a callback and a bar, with the loss as ``implicit`` scales it."""

    def __init__(
        self, model: AlternatingLeastSquares, rows: Any, callback: Optional[Callable[..., Any]], show: bool
    ) -> None:
        self.callback = callback
        self.with_loss = model.calculate_training_loss
        self.loss: Optional[float] = None
        self.wanted = bool(callback) or show or self.with_loss
        self.bar: Any = None
        if show:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=model.iterations)
        data = rows.data.astype(np.float64)
        # Implicit counts c (1 - 0)^2 for dislikes too, and divides by the total weight.
        self.extra = float(-data[data < 0].sum())
        self.total = float(np.abs(data).sum()) + float(rows.shape[0]) * rows.shape[1] - rows.nnz
        self.last = time.time()

    def __call__(self, iteration: int, seconds: float, observed: float, missing: float, penalty: float) -> None:
        if self.with_loss:
            self.loss = (observed + missing + penalty + self.extra) / self.total
        if self.bar is not None:
            self.bar.update(1)
            if self.with_loss:
                self.bar.set_postfix({"loss": self.loss})
        elif self.with_loss:
            log.info("loss %.4f", self.loss)
        if self.callback:
            self.callback(iteration - 1, seconds, self.loss)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _csr(given: Any) -> Any:
    if isinstance(given, sp.csr_matrix):
        return given
    name, start = type(given).__name__, time.time()
    rows = sp.csr_matrix(given.tocsr())
    warnings.warn(
        f"Method expects CSR input, and was passed {name} instead. "
        f"Converting to CSR took {time.time() - start} seconds",
        ParameterWarning,
        stacklevel=3,
    )
    return rows


def _sorted(rows: Any) -> Any:
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _confidences(rows: Any, alpha: float) -> Any:
    rows = _sorted(rows)
    if rows.dtype != np.float32:
        rows = rows.astype(np.float32)
    return rows if alpha == 1.0 else alpha * rows


def _targets_and_weights(rows: Any) -> Tuple[Any, NDArray[np.float32]]:
    """Targets 1 for likes and 0 for dislikes as a matrix, and their confidences."""
    data = rows.data.astype(np.float32, copy=False)
    targets = sp.csr_matrix(((data > 0).astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
    return targets, np.abs(data)


def _singles(factors: Any) -> NDArray[np.float32]:
    if factors is None:
        raise ModelFitError("the model has no factors yet; call fit first")
    return np.ascontiguousarray(factors, dtype=np.float32)


def _stored(factors: NDArray[Any], rows: Any, solved: NDArray[Any]) -> NDArray[Any]:
    missing = max(rows) - len(factors) + 1
    if missing > 0:
        factors = np.concatenate([factors, np.zeros((missing, factors.shape[1]), dtype=factors.dtype)])
    factors[rows] = solved
    return factors


def _lengths(factors: NDArray[Any]) -> NDArray[Any]:
    lengths: NDArray[Any] = np.linalg.norm(factors, axis=-1)
    lengths[lengths == 0] = _TINY
    return lengths


def _indices(given: Any, count: int) -> NDArray[np.uint32]:
    indices = np.asarray(given)
    if indices.size == 0:
        return np.zeros(0, dtype=np.uint32)
    if indices.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if indices.max() >= count or indices.min() < -count:
        wrong = indices.max() if indices.max() >= count else indices.min()
        raise IndexError(f"index {wrong} is out of bounds for axis 1 with size {count}")
    return np.where(indices < 0, indices + count, indices).astype(np.uint32)


def _fill(ids: Any, scores: Any, columns: int, seen: Any, deny: Optional[NDArray[np.uint32]]) -> None:
    """Orders equal scores and fills short lists as ``implicit`` does.

    Its heap orders equal scores by falling column; a list short of candidates ends in filtered
    columns with the lowest float, and one longer than the catalogue in zeros.
    """
    n = ids.shape[1]
    for row in range(len(ids)):
        real = int((ids[row] >= 0).sum())
        order = np.lexsort((-ids[row, :real], -scores[row, :real]))
        ids[row, :real], scores[row, :real] = ids[row, order], scores[row, order]
        if real == n:
            continue
        filtered = np.zeros(min(n, columns), dtype=bool)
        for source in (deny, None if seen is None else seen.indices[seen.indptr[row] : seen.indptr[row + 1]]):
            if source is not None:
                filtered[source[source < len(filtered)]] = True
        fillers = np.flatnonzero(filtered)[::-1][: n - real]
        end = real + len(fillers)
        ids[row, real:end], scores[row, real:end] = fillers, _LOWEST
        ids[row, end:], scores[row, end:] = 0, 0.0
