"""Training an estimator, with progress and callbacks."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Tuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core, _params
from ._data import DUPLICATES, FILE_DUPLICATES, Taken, columns_in, is_files, merge, take
from ._estimator import Estimator
from .weights import as_weights

Callback = Callable[[int, float, float], Any]
Start = Tuple[NDArray[np.float32], NDArray[np.float32]]
Self = TypeVar("Self", bound="Training")


class Training(Estimator):
    """The part of the estimator that is trained."""

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        columns: Optional[Mapping[str, Any]] = None,
        time_unit: Optional[str] = None,
        sample_weight: Any = None,
        exposed: Any = None,
        exposed_weight: float = 1.0,
        callback: Optional[Callback] = None,
        show_progress: bool = False,
    ) -> Self:
        """Trains on interactions.

        Parameters
        ----------
        X : sparse matrix, table, (users, items[, values]), list of (user, item[, value]) or path
            A scipy matrix has one row per user and one column per item. Its stored entries are the
            interactions, explicit zeros included. Sorted ``int32`` CSR rows are not copied if
            ``regularization`` is given; do not change them from another thread meanwhile. All other
            forms have ids, integers or strings, and the methods take and return these ids. Repeated
            pairs are added up; in files the last one is used, as on the command line.
        y : ignored
        columns : dict, optional
            Which column of a table is the ``"user"``, ``"item"``, ``"rating"``, ``"time"`` or ``"weight"``;
            ``None`` for one not to be read. Those left out are recognised by their headings. Tables given
            to other methods are read in the same way.
        time_unit : {"s", "ms", "us", "ns"}, optional
            What times that are numbers count. If it is not given, it is found from how large they are.
        sample_weight : array, optional
            A weight for each entry, used if ``confidence="column"``.
        exposed : like X, optional
            Pairs that were shown to the user and not taken. They get target 0 and ``exposed_weight``.
        callback : callable, optional
            ``callback(sweep, seconds, objective)`` is called after every sweep. If it returns True,
            training ends and the model is kept.
        show_progress : bool
            Whether to show a tqdm progress bar.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob"], ["jaws", "alien", "jaws"])
        >>> model = absentia.Factorizer(factors=2, iterations=50)
        >>> model = model.fit(log, callback=lambda sweep, seconds, objective: sweep == 3)
        >>> len(model.history_), model.stop_reason_
        (3, 'callback')
        """
        taken = take(X, sample_weight=sample_weight, columns=columns, time_unit=time_unit)
        self._columns, self._time_unit = dict(columns or {}), time_unit
        return self._train(taken, None, self.iterations, exposed, exposed_weight, callback, show_progress)

    def partial_fit(self: Self, X: Any, y: Any = None, *, seen: Any = None, iterations: int = 1) -> Self:
        """Adds interactions and continues training from the current factors.

        ``X`` is in any form that ``fit`` accepts. New users and items get new rows, after the known
        ones. Repeated pairs are merged as by ``fit``. A loaded model does not contain its training
        data: pass it as ``seen``.

        Examples
        --------
        >>> import absentia
        >>> model = absentia.Factorizer(factors=2).fit((["ann", "ann", "bob"], ["jaws", "alien", "jaws"]))
        >>> model.partial_fit((["cy", "cy"], ["jaws", "up"])).user_ids_.tolist()
        ['ann', 'bob', 'cy']
        """
        if not hasattr(self, "_model"):
            return self.fit(X)
        old = self._seen(seen)
        new = self._take(X, grow=True)
        taken = merge(old, new, FILE_DUPLICATES if is_files(X) else DUPLICATES)
        start = (_grown(self.user_factors_, taken.shape[0]), _grown(self.item_factors_, taken.shape[1]))
        return self._train(taken, start, iterations, None, 1.0, None, False)

    def _train(
        self: Self,
        taken: Taken,
        init: Optional[Start],
        iterations: int,
        exposed: Any,
        exposed_weight: float,
        callback: Optional[Callback],
        show_progress: bool,
    ) -> Self:
        weights = self._given_weights(goes_on=init is not None)
        shown = None
        if exposed is not None:
            users, items = take(exposed, ids=taken.ids, columns=columns_in(exposed, self._columns), time_unit=self._time_unit).pairs()
            shown = (users, items, np.full(len(users), exposed_weight, dtype=np.float32))
        with Following(callback, show_progress, iterations) as following:
            model, reason, chosen = _core.fit(
                taken.lent,
                self._settings(iterations, goes_on=init is not None),
                scheme=None if weights is None else as_weights(weights)._scheme(taken.ids),
                shown=shown,
                init=init,
                ids=taken.ids.cores(),
                callback=following.heard,
            )
        self._model, self.stop_reason_ = model, reason
        if init is None:
            self._chosen_weights = chosen
        self._ids, self._train_data = taken.ids, taken
        return self

    def _settings(self, iterations: int, goes_on: bool) -> str:
        return _params.settings(
            {
                "factors": _params.whole("factors", self.factors),
                "iterations": _params.whole("iterations", iterations),
                "regularization": self._given_number("regularization", goes_on),
                "reg-exponent": _params.real("reg_exponent", self.reg_exponent),
                "solver": str(self.solver),
                "targets": self._given_targets(goes_on),
                "confidence": _params.confidence(self.confidence),
                "post-scale": self._given_number("post_scale", goes_on),
                "init-std": _params.real("init_std", self.init_std),
                "learning-rate": _params.real("learning_rate", self.learning_rate),
                # As text, because a seed can be larger than the integers of TOML.
                "seed": str(_params.seed(self.random_state)),
                "threads": self._threads(),
                "tolerance": None if self.tolerance is None else _params.real("tolerance", self.tolerance),
            }
        )

    def _all_automatic(self) -> bool:
        """Whether targets, weights and regularization are all chosen automatically."""
        return self.regularization is None and self.weights is None and self.targets is None

    def _given_weights(self, goes_on: bool) -> Any:
        return self._chosen_weights if goes_on and self._all_automatic() else self.weights

    def _given_targets(self, goes_on: bool) -> Optional[str]:
        if goes_on and self._all_automatic():
            return self.targets_
        return None if self.targets is None else str(self.targets)

    def _given_number(self, name: str, goes_on: bool) -> Optional[float]:
        """An argument; if it was not given, the value of the model that training continues from."""
        value = getattr(self, name)
        if value is not None:
            return _params.real(name, value)
        return float(getattr(self, name + "_")) if goes_on and self.regularization is None else None


class Following:
    """Reports sweeps to a callback and a progress bar."""

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

    def __enter__(self) -> "Following":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()


def _grown(factors: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    grown = np.zeros((rows, factors.shape[1]), dtype=np.float32)
    grown[: len(factors)] = factors
    return grown
