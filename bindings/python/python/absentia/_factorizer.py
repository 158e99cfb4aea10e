"""The estimator: plain Python over the engine."""

from __future__ import annotations

import inspect
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core, _params
from ._data import Ids, Side, Taken, take
from .weights import Resolved, as_weights

Path = Union[str, "os.PathLike[str]"]
Callback = Callable[[int, float, float], Any]

DEFAULT_WEIGHTS = "popularity:mean=0.01,alpha=0.25"
DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "map@10", "mrr@10", "hr@10")


class NotFittedError(ValueError, AttributeError):
    """A model was asked before it was trained."""


class Sweep(NamedTuple):
    """One sweep of a run: the objective after it, in all and in its three parts."""

    iteration: int
    seconds: float
    objective: float
    observed: float
    missing: float
    regularization: float


class Explanation(NamedTuple):
    """A score taken apart: what each of the user's entries adds, largest first, and what is left."""

    score: float
    contributions: List[Tuple[Any, float]]
    remainder: float


class Evaluation(Mapping[str, float]):
    """Metrics by name; ``stderr`` and ``per_user`` have the same keys."""

    def __init__(
        self, users: NDArray[Any], candidates: str, metrics: List[Tuple[str, float, float, NDArray[np.float32]]]
    ) -> None:
        self.users = users
        self.candidates = candidates
        self._means = {name: mean for name, mean, _, _ in metrics}
        self.stderr: Dict[str, float] = {name: stderr for name, _, stderr, _ in metrics}
        self.per_user: Dict[str, NDArray[np.float32]] = {name: values for name, _, _, values in metrics}

    def __getitem__(self, name: str) -> float:
        return self._means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {mean:.4f}" for name, mean in self._means.items())
        return f"Evaluation({shown}; {len(self.users)} users, {self.candidates})"


class Factorizer:
    """Factorises a matrix of interactions with a weight of its own for every missing entry.

    Parameters
    ----------
    factors : int
        Number of latent factors.
    weights : absentia.weights.Weights, str or float
        Weights on missing entries: an object, its text form as on the command line, or one number
        for all. By default ``"popularity:mean=0.01,alpha=0.25"``.
    regularization : float
        Ridge penalty.
    reg_exponent : float
        Exponent of a row's total weight in its penalty; 0 penalises all rows alike.
    targets : str
        ``"binary"``, ``"raw"``, ``"log"`` or ``"normalized:0.35[,0.35]"``.
    confidence : float or str
        Weight of observed entries: a number, ``"linear:40"``, ``"log:10,0.5"``, ``"decay:30d"`` or
        ``"column"`` (the table's weight column, or ``sample_weight``).
    solver : str
        ``"eals"``, ``"subspace[:block]"``, ``"als"``, ``"als-cg[:steps]"`` or ``"eals-vanilla"``; or a method to
        compare with: ``"svd"``, ``"ials1"``, ``"rcd"``, ``"ii-svd"``, ``"bpr"``, ``"sgd-observed"``,
        ``"popularity"``, ``"itemknn[:neighbours]"``, which raise where they cannot honour ``weights``.
    iterations : int
        Sweeps over both sides at the most.
    tolerance : float, optional
        Relative change of the objective that ends the run.
    post_scale : float
        Item factors are rescaled by ``n_i ** post_scale`` when recommending.
    init_std : float
        Standard deviation of the Gaussian start.
    random_state : int, numpy generator or None
        Seed of the start; ``None`` draws one.
    num_threads : int, optional
        Threads; all there are when not given. The result does not depend on it.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray
        Read-only views of the model's factors, not copies.
    history_ : list of Sweep
        The objective, in its parts, after every sweep.
    weights_ : absentia.weights.Resolved
        The weights on missing entries, resolved on the data.
    stop_reason_ : str
        ``"iterations"``, ``"converged"`` or ``"callback"``.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
    >>> model = absentia.Factorizer(factors=2, weights=0.05, random_state=1).fit(log)
    >>> items, scores = model.recommend("cy", n=1)
    >>> items.tolist()
    ['alien']
    """

    def __init__(
        self,
        factors: int = 64,
        weights: Any = None,
        regularization: float = 0.01,
        reg_exponent: float = 1.0,
        targets: str = "binary",
        confidence: Union[float, str] = 1.0,
        solver: str = "eals",
        iterations: int = 20,
        tolerance: Optional[float] = None,
        post_scale: float = 0.0,
        init_std: float = 0.01,
        random_state: Any = 0,
        num_threads: Optional[int] = None,
    ) -> None:
        self.factors = factors
        self.weights = weights
        self.regularization = regularization
        self.reg_exponent = reg_exponent
        self.targets = targets
        self.confidence = confidence
        self.solver = solver
        self.iterations = iterations
        self.tolerance = tolerance
        self.post_scale = post_scale
        self.init_std = init_std
        self.random_state = random_state
        self.num_threads = num_threads

    # Parameters, as scikit-learn wants them.

    @classmethod
    def _get_param_names(cls) -> List[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> "Factorizer":
        """Sets constructor arguments by name."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"invalid parameter {name!r}; valid are {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        given = {name: value for name, value in self.get_params().items() if value is not usual[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    # Training.

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        exposed: Any = None,
        exposed_weight: float = 1.0,
        callback: Optional[Callback] = None,
        show_progress: bool = False,
    ) -> "Factorizer":
        """Trains on interactions.

        Parameters
        ----------
        X : sparse matrix, table, (users, items[, values]) or path
            A scipy matrix has a row per user and a column per item, and its stored entries are the
            interactions, explicit zeros included; sorted ``int32`` CSR rows are not copied (and must
            not be changed by another thread meanwhile). Anything else has ids of its own, integers
            or texts, which are what the methods take and give. Repeated pairs are added up; those
            of a file keep the last, as on the command line.
        y : ignored
        sample_weight : array, optional
            A weight for each entry, used when ``confidence="column"``.
        exposed : like X, optional
            Pairs that were shown and not taken; they get target 0 and ``exposed_weight``.
        callback : callable, optional
            ``callback(sweep, seconds, objective)`` after every sweep; returning True ends the run.
        show_progress : bool
            Whether to show a tqdm bar.
        """
        taken = take(X, sample_weight=sample_weight)
        return self._train(taken, None, self.iterations, exposed, exposed_weight, callback, show_progress)

    def partial_fit(self, X: Any, y: Any = None, *, iterations: int = 1) -> "Factorizer":
        """Goes on training from the factors there are, on new data, for some sweeps.

        A sparse matrix may have more rows and columns than before; a table may not have new ids.
        """
        if not hasattr(self, "_model"):
            return self.fit(X)
        if sp.issparse(X):
            taken = take(X)
        else:
            taken = take(X, ids=self._ids)
        start = (_grown(self.user_factors_, taken.shape[0]), _grown(self.item_factors_, taken.shape[1]))
        return self._train(taken, start, iterations, None, 1.0, None, False)

    def _train(
        self,
        taken: Taken,
        init: Optional[Tuple[NDArray[np.float32], NDArray[np.float32]]],
        iterations: int,
        exposed: Any,
        exposed_weight: float,
        callback: Optional[Callback],
        show_progress: bool,
    ) -> "Factorizer":
        scheme = as_weights(DEFAULT_WEIGHTS if self.weights is None else self.weights)._scheme(taken.ids)
        shown = None
        if exposed is not None:
            users, items = take(exposed, ids=taken.ids).pairs()
            shown = (users, items, np.full(len(users), exposed_weight, dtype=np.float32))
        with _Following(callback, show_progress, iterations) as following:
            self._model, self.stop_reason_ = _core.fit(
                taken.lent,
                scheme,
                self._engine_params(taken, iterations),
                shown=shown,
                init=init,
                ids=taken.ids.cores(),
                callback=following.heard,
            )
        self._ids = taken.ids
        self._train_data: Optional[Taken] = taken
        return self

    def _engine_params(self, taken: Taken, iterations: int) -> str:
        latest = taken.lent.latest if isinstance(taken.lent, _core.Matrix) else None
        threads = None if self.num_threads in (None, 0) else _params.whole("num_threads", self.num_threads)
        tolerance = None if self.tolerance is None else _params.real("tolerance", self.tolerance)
        return _params.text(
            {
                "factors": _params.whole("factors", self.factors),
                "iterations": _params.whole("iterations", iterations),
                "regularization": _params.real("regularization", self.regularization),
                "reg_exponent": _params.real("reg_exponent", self.reg_exponent),
                "solver": _params.solver(self.solver),
                "targets": _params.targets(self.targets),
                "confidence": _params.confidence(self.confidence, latest),
                "post_scale": _params.real("post_scale", self.post_scale),
                "init_std": _params.real("init_std", self.init_std),
                "seed": _params.seed(self.random_state),
                "threads": threads,
                "tolerance": tolerance,
            }
        )

    # What was learned.

    def _fitted(self) -> _core.Model:
        try:
            return self._model
        except AttributeError:
            raise NotFittedError("this Factorizer is not fitted yet; call fit first") from None

    @property
    def user_factors_(self) -> NDArray[np.float32]:
        return np.asarray(self._fitted().user_factors)

    @property
    def item_factors_(self) -> NDArray[np.float32]:
        return np.asarray(self._fitted().item_factors)

    @property
    def user_ids_(self) -> NDArray[Any]:
        self._fitted()
        return self._ids.users.all()

    @property
    def item_ids_(self) -> NDArray[Any]:
        self._fitted()
        return self._ids.items.all()

    @property
    def n_features_in_(self) -> int:
        return self._fitted().shape[1]

    @property
    def history_(self) -> List[Sweep]:
        return [
            Sweep(iteration, seconds, observed + missing + penalty, observed, missing, penalty)
            for iteration, seconds, observed, missing, penalty, _ in self._fitted().history
        ]

    @property
    def weights_(self) -> Resolved:
        return Resolved(self._fitted().weights, self._ids)

    # Answers.

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        seen: Any = None,
        allow: Optional[Iterable[Any]] = None,
        deny: Optional[Iterable[Any]] = None,
    ) -> Tuple[NDArray[Any], NDArray[np.float32]]:
        """The best items of a user, or of each of several, with their scores.

        For one user the lists are one-dimensional and hold what there is. For several they have a
        row each; short ones are padded with -1 (``None`` where ids are texts) and ``-inf``.

        ``exclude_seen`` leaves out what the user had in training; a model that was loaded has not
        kept that, so pass ``seen``, in any form that ``fit`` takes.
        """
        model, one = self._fitted(), _is_one(users)
        rows = self._ids.users.rows([users] if one else users)
        source = self._seen(seen).lent if exclude_seen else None
        ids, scores = model.recommend(
            rows, _params.whole("n", n), source, self._item_rows(allow), self._item_rows(deny) , None, self._threads()
        )
        return _lists(self._ids.items, ids, scores, one)

    def recommend_rows(
        self, factors: NDArray[np.float32], n: int = 10, *, seen: Any = None
    ) -> Tuple[NDArray[Any], NDArray[np.float32]]:
        """The best items for rows of factors, such as :meth:`fold_in` yields; ``seen`` as there."""
        model = self._fitted()
        rows = np.ascontiguousarray(np.atleast_2d(factors), dtype=np.float32)
        source = None if seen is None else self._new_rows(seen).lent
        none = np.zeros(0, dtype=np.uint32)
        ids, scores = model.recommend(none, _params.whole("n", n), source, None, None, rows, self._threads())
        return _lists(self._ids.items, ids, scores, np.ndim(factors) == 1)

    def similar_items(
        self, items: Any, n: int = 10, *, by: str = "cosine"
    ) -> Tuple[NDArray[Any], NDArray[np.float32]]:
        """The items most like an item, or like each of several, itself left out."""
        return self._similar("item", self._side("item"), items, n, by)

    def similar_users(
        self, users: Any, n: int = 10, *, by: str = "cosine"
    ) -> Tuple[NDArray[Any], NDArray[np.float32]]:
        """The users most like a user, or like each of several, itself left out."""
        return self._similar("user", self._side("user"), users, n, by)

    def _similar(
        self, axis: str, side: Side, given: Any, n: int, by: str
    ) -> Tuple[NDArray[Any], NDArray[np.float32]]:
        one = _is_one(given)
        rows = side.rows([given] if one else given)
        ids, scores = self._fitted().similar(axis, rows, _params.whole("n", n), by, self._threads())
        return _lists(side, ids, scores, one)

    def explain(self, user: Any, item: Any, *, seen: Any = None) -> Explanation:
        """Takes a score apart into what each of the user's entries adds to it."""
        model, source = self._fitted(), self._seen(seen)
        row, column = int(self._ids.users.rows([user])[0]), int(self._ids.items.rows([item])[0])
        score, parts, remainder = model.explain(source.lent, row, column, row)
        names = self._ids.items.names(np.array([item for item, _ in parts], dtype=np.int64))
        return Explanation(score, [(name, part) for name, (_, part) in zip(names.tolist(), parts)], remainder)

    def fold_in(self, X: Any) -> NDArray[np.float32]:
        """The factors of new users: the best ones for their entries, items held fixed.

        ``X`` is a sparse matrix with a row per new user, or a list of lists of item ids.
        """
        return self._fitted().fold_in("user", self._new_rows(X).lent, None, self._threads())

    def score(self, users: Any, items: Any) -> NDArray[np.float32]:
        """Scores of pairs; one of the two may be a single id."""
        model = self._fitted()
        left, right = np.broadcast_arrays(
            self._ids.users.rows([users] if _is_one(users) else users),
            self._ids.items.rows([items] if _is_one(items) else items),
        )
        return model.scores(np.ascontiguousarray(left), np.ascontiguousarray(right))

    def evaluate(
        self,
        test: Any,
        metrics: Sequence[str] = DEFAULT_METRICS,
        *,
        exclude_seen: bool = True,
        seen: Any = None,
    ) -> Evaluation:
        """Metrics of full rankings on held-out interactions; means over users who have any.

        ``metrics`` are ``"hr@k"``, ``"ndcg@k"``, ``"recall@k"``, ``"precision@k"``, ``"map@k"``,
        ``"mrr@k"``, ``"mrr"`` and ``"auc"``, as written out in ``docs/metrics.md``.
        """
        model = self._fitted()
        source = self._seen(seen).lent if exclude_seen else _nothing(model.shape)
        users, items = take(test, ids=self._ids).pairs()
        rows, candidates, found = _core.evaluate(
            model, source, users, items, list(metrics), exclude_seen, self._threads()
        )
        return Evaluation(self._ids.users.names(rows.astype(np.int64)), candidates, found)

    # Files.

    def save(self, path: Path) -> None:
        """Writes the model; ``absentia`` on the command line reads it, and the other way round."""
        self._fitted().save(os.fspath(path))

    def to_safetensors(self, path: Path) -> None:
        """Writes the model, whose file format is safetensors."""
        self.save(path)

    @classmethod
    def load(cls, path: Path) -> "Factorizer":
        """Reads a model written by :meth:`save` or the command line, or saved by ``implicit`` (.npz).

        The constructor's ``weights`` are not stored: ``weights_`` has what they came to.
        """
        text = os.fspath(path)
        core = _core.Model.import_implicit(text) if text.endswith(".npz") else _core.Model.load(text)
        model = cls()
        model._restore(core, None, None)
        return model

    def _restore(self, core: _core.Model, user_kind: Optional[str], item_kind: Optional[str]) -> None:
        import json

        stored = json.loads(core.params)
        for name in ("factors", "iterations", "regularization", "reg_exponent", "post_scale", "init_std"):
            setattr(self, name, stored[name])
        self.random_state = stored["seed"]
        self.tolerance = stored["tolerance"]
        self.solver = _text_of(stored["solver"])
        self.targets = _text_of(stored["targets"])
        confidence = stored["confidence"]
        self.confidence = confidence["weight"] if confidence["kind"] == "constant" else _text_of(confidence)
        self._model = core
        self._ids = Ids(Side(core.user_ids, user_kind), Side(core.item_ids, item_kind))
        self._train_data = None
        self.stop_reason_ = "loaded"

    def __getstate__(self) -> Dict[str, Any]:
        state: Dict[str, Any] = {"params": self.get_params()}
        if hasattr(self, "_model"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.absentia")
                self._model.save(path)
                with open(path, "rb") as file:
                    state["model"] = file.read()
            state["kinds"] = (self._ids.users.kind, self._ids.items.kind)
            state["stop_reason"] = self.stop_reason_
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        if "model" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.absentia")
                with open(path, "wb") as file:
                    file.write(state["model"])
                self._restore(_core.Model.load(path), *state["kinds"])
            self.stop_reason_ = state["stop_reason"]
        for name, value in state["params"].items():
            setattr(self, name, value)

    # Arguments.

    def _threads(self) -> Optional[int]:
        return None if self.num_threads in (None, 0) else _params.whole("num_threads", self.num_threads)

    def _side(self, axis: str) -> Side:
        self._fitted()
        return self._ids.users if axis == "user" else self._ids.items

    def _seen(self, seen: Any) -> Taken:
        if seen is not None:
            return take(seen, ids=self._ids)
        if self._train_data is None:
            raise ValueError("the model was loaded without its training data: pass seen, or exclude_seen=False")
        return self._train_data

    def _new_rows(self, given: Any) -> Taken:
        items = self._fitted().shape[1]
        if not sp.issparse(given):
            lists = [self._ids.items.rows(row) for row in given]
            indptr = np.cumsum([0, *map(len, lists)])
            indices = np.concatenate([*lists, np.zeros(0, np.uint32)]).astype(np.int64)
            shape = (len(lists), items)
            given = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
        if given.shape[1] != items:
            raise ValueError(f"the matrix has {given.shape[1]} columns, and the model {items} items")
        return take(given)

    def _item_rows(self, given: Optional[Iterable[Any]]) -> Optional[NDArray[np.uint32]]:
        if given is None:
            return None
        listed = given if isinstance(given, np.ndarray) else list(given)
        return np.unique(self._ids.items.rows(listed))


class _Following:
    """Hands sweeps to a callback and a bar."""

    def __init__(self, callback: Optional[Callback], show_progress: bool, iterations: int) -> None:
        self.callback = callback
        self.bar: Any = None
        if show_progress:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=iterations)
        self.heard = None if callback is None and self.bar is None else self._heard

    def _heard(self, sweep: int, seconds: float, observed: float, missing: float, penalty: float) -> bool:
        objective = observed + missing + penalty
        if self.bar is not None:
            self.bar.update(1)
            self.bar.set_postfix({"objective": objective})
        return bool(self.callback(sweep, seconds, objective)) if self.callback else False

    def __enter__(self) -> "_Following":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()


def _is_one(given: Any) -> bool:
    return isinstance(given, str) or np.ndim(given) == 0


def _lists(
    side: Side, ids: NDArray[np.int64], scores: NDArray[np.float32], one: bool
) -> Tuple[NDArray[Any], NDArray[np.float32]]:
    if not one:
        return side.names(ids), scores
    kept = ids[0] >= 0
    return side.names(ids[0][kept]), scores[0][kept]


def _grown(factors: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    if rows < len(factors):
        raise ValueError(f"the new data has {rows} rows on a side where the model has {len(factors)}")
    grown = np.zeros((rows, factors.shape[1]), dtype=np.float32)
    grown[: len(factors)] = factors
    return grown


def _nothing(shape: Tuple[int, int]) -> _core.Csr:
    return (shape[1], np.zeros(shape[0] + 1, np.int64), np.zeros(0, np.int32), None, None)


def _text_of(choice: Dict[str, Any]) -> str:
    options = ",".join(str(value) for name, value in choice.items() if name not in ("kind", "now"))
    return f"{choice['kind']}:{options}" if options else str(choice["kind"])
