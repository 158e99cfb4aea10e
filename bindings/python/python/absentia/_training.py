"""Training an estimator, with progress and callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core, _options, _params
from ._data import Entries, Settings, exposed_pairs, file_settings, is_files, merge, prepare, related
from ._estimator import Estimator
from ._progress import Callback, Progress
from .weights import as_weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import FitOptions

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
        exposed_weight: Optional[float] = None,
        relations: Optional[Mapping[str, Any]] = None,
        init: Any = None,
        callback: Optional[Callback] = None,
        show_progress: bool = False,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Trains on interactions.

        Parameters
        ----------
        X : sparse matrix, table, (users, items[, values]), list of (user, item[, value]) or path
            A scipy matrix has one row per user and one column per item. Its stored entries are the
            interactions, explicit zeros included. Sorted ``int32`` CSR rows are not copied if
            ``regularization`` is given; do not change them from another thread meanwhile. All other
            forms have ids, integers or strings, and the methods take and return these ids. Repeated
            pairs are merged by the option ``duplicates``; those of a scipy matrix are added up.
        y : ignored
        columns : dict, optional
            Which column of a table or file is the ``"user"``, ``"item"``, ``"rating"``, ``"time"`` or
            ``"weight"``; ``None`` for one not to be read. Those left out are recognised by their headings.
            Tables and files given to other methods are read in the same way.
        time_unit : {"s", "ms", "us", "ns"}, optional
            What times that are numbers count. If it is not given, it is found from how large they are.
        sample_weight : array, optional
            A weight for each entry, used if ``confidence="column"``.
        exposed : like X, optional
            Pairs that were shown to the user and not taken. They get target 0 and a weight:
            ``exposed_weight``, or else that of their weight column, or else 1.
        relations : dict, optional
            Side information that is trained with the data, by the names of two types: ``{"items-tags": data}``, or
            ``(data, "strength=0.3,weights=uniform:0.02")`` with options as ``absentia train --relation`` has them. The
            data is like X, with a row for each of the first type and a column for each of the second; a text is a
            file with its options. Items or users that only a relation has are behind those of X. An array of two
            dimensions has features of each row, such as an embedding; ``(ids, array)`` says whose.
        init : path, list of paths or pair of arrays, optional
            Factors to start from: a model, files of two arrays, or two arrays.
        callback : callable, optional
            ``callback(sweep, seconds, objective)`` is called after every sweep. If it returns True,
            training ends and the model is kept.
        show_progress : bool
            Whether to show a tqdm progress bar.
        **options
            Flags of ``absentia train`` by their names, with underscores, which mean the same here. How files
            are read: ``format``, ``separator``, ``header``, ``no_header``, ``no_quotes``, ``decimal_comma``, ``skip_bad``,
            ``dense_ids``, ``shape``, ``max_line``. Columns of files and tables: ``user_col``, ``item_col``,
            ``rating_col``, ``time_col``, ``weight_col``. Which rows are used: ``min_rating``, ``since``,
            ``until``, ``exclude``, ``duplicates``, ``sample``, ``sample_seed``, ``k_core``. Rows held out to
            choose the best model: ``valid`` (files), ``valid_split``, ``valid_pick``, ``valid_metric``,
            ``valid_every``, ``patience``. Side information in files: ``relation``.

        Examples
        --------
        >>> import absentia
        >>> log = (["ann", "ann", "bob"], ["jaws", "alien", "jaws"])
        >>> model = absentia.Factorizer(factors=2, iterations=50)
        >>> model = model.fit(log, callback=lambda sweep, seconds, objective: sweep == 3)
        >>> len(model.history_), model.stop_reason_
        (3, 'callback')
        """
        settings = {**self._settings(self.iterations), **_options.keys(options), **file_settings(X, columns)}
        reading = {key: value for key, value in settings.items() if key.replace("-", "_") in _options.OF_READING}
        if time_unit is not None:
            reading["time-unit"] = settings["time-unit"] = time_unit
        start = init if _is_arrays(init) else None
        if init is not None and start is None:
            settings["init"] = _options.paths(init)
        if exposed is None or is_files(exposed):
            settings["exposed-weight"] = exposed_weight
        if exposed is not None and is_files(exposed):
            settings["exposed"], exposed = _options.paths(exposed), None
        texts, tables = related(relations)
        if texts:
            given = settings.get("relation") or []
            settings["relation"] = [*([given] if isinstance(given, str) else given), *texts]
        entries = prepare(X, settings, columns=columns, sample_weight=sample_weight, relations=tables)
        pairs = None
        if exposed is not None:
            pairs = (*exposed_pairs(exposed, entries.ids, settings, columns), exposed_weight)
        self._columns, self._reading, self._duplicates = dict(columns or {}), reading, settings.get("duplicates")
        with Progress(callback, show_progress, self.iterations) as progress:
            self._chosen_weights = self._train(entries, settings, self.weights, start, pairs, progress)
        return self

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
        if self._model.types:
            raise ValueError("a model with relations cannot be continued; fit it again with all data")
        entries = merge(self._seen(seen), self._convert(X, grow=True))
        users, items = entries.shape
        start = (_grown(self.user_factors_, users), _grown(self.item_factors_, items))
        weights = self.weights if self._chosen_weights is None else self._chosen_weights
        settings = {**self._settings(iterations), **self._chosen_settings()}
        self._train(entries, settings, weights, start, None, Progress(None, False, iterations))
        return self

    def _train(
        self, entries: Entries, settings: Settings, weights: Any, init: Optional[Start], exposed: Any, progress: Progress
    ) -> Optional[str]:
        """Trains, and yields the weights on missing entries as they are written, if the job chose them."""
        if isinstance(weights, str):
            settings = {**settings, "weights": weights}
            weights = None
        model, reason, chosen = _core.fit(
            entries.core,
            _params.settings(settings),
            scheme=None if weights is None else as_weights(weights)._scheme(entries.ids),
            exposed=exposed,
            init=None if init is None else (_params.floats(init[0]), _params.floats(init[1])),
            callback=progress.report,
        )
        self._model, self.stop_reason_ = model, reason
        self._ids, self._train_data, self._exposed = entries.ids, entries, exposed
        self._kept_pairs = None
        return chosen

    def _settings(self, iterations: int) -> Settings:
        """The arguments of the constructor as keys of a job. None means not given."""
        settings: Settings = {"iterations": _params.whole("iterations", iterations)}
        for name in ("factors", "block", "cg_steps", "neighbours"):
            settings[_params.key(name)] = _params.optional(_params.whole, name, getattr(self, name))
        for name in ("regularization", "reg_exponent", "post_scale", "init_std", "learning_rate", "tolerance"):
            settings[_params.key(name)] = _params.optional(_params.real, name, getattr(self, name))
        for name in ("solver", "targets", "post_scale_half_life", "preset", "memory_limit", "device"):
            given = getattr(self, name)
            settings[_params.key(name)] = None if given is None else str(given)
        settings["confidence"] = _params.optional(_params.confidence, "confidence", self.confidence)
        # As text, because a seed can be larger than the integers of TOML.
        settings["seed"] = str(_params.seed(self.random_state))
        settings["threads"] = self._threads()
        return settings

    def _chosen_settings(self) -> Settings:
        """What was chosen for the model that training continues from."""
        if self.regularization is not None:
            return {}
        settings: Settings = {
            "regularization": self.regularization_,
            "post-scale": self.post_scale_,
            "post-scale-half-life": self.post_scale_half_life_,
        }
        if self._chosen_weights is not None:
            settings["targets"] = self.targets_
        return settings


def _is_arrays(init: Any) -> bool:
    """Whether factors to start from are given as two arrays."""
    return isinstance(init, (tuple, list)) and len(init) == 2 and all(np.ndim(array) == 2 for array in init)


def _grown(factors: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    grown = np.zeros((rows, factors.shape[1]), dtype=np.float32)
    grown[: len(factors)] = factors
    return grown
