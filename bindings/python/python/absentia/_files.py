"""Saving, loading and pickling estimators, in Absentia's file format."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Optional, Tuple, Type, TypeVar, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core, _params
from ._data import Entries, csr_arrays
from ._estimator import Estimator
from ._ids import Ids, Side
from ._resolved import restored

Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="Files")

# Arguments that the engine stores under the same name and in the same form.
_STORED = ("factors", "iterations", "regularization", "reg_exponent", "post_scale", "init_std", "learning_rate")


class Files(Estimator):
    """The part of the estimator that is saved and loaded."""

    def save(self, path: Path, *, keep_seen: bool = False) -> None:
        """Writes the model. The command line reads this file, and :meth:`load` reads those of the command line.

        With ``keep_seen`` the file has which items each user has seen, so that a loaded model recommends
        without its training data. Whoever has the file can then read it.

        Examples
        --------
        >>> import absentia, os, tempfile
        >>> model = absentia.Factorizer(factors=2, weights=0.5).fit((["ann", "bob"], ["jaws", "up"]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "movies.absentia"))
        ...     back = absentia.Factorizer.load(os.path.join(folder, "movies.absentia"))
        >>> back.weights, back.item_ids_.tolist()
        (Uniform(weight=0.5), ['jaws', 'up'])
        """
        seen = self._pairs_seen() if keep_seen else None
        if keep_seen and seen is None:
            raise ValueError("the model does not know what its users have seen; fit it, or load one that keeps it")
        self._fitted().save(os.fspath(path), seen)

    def to_safetensors(self, path: Path) -> None:
        """Writes the model as :meth:`save` does. The file is safetensors: any reader of that format opens it."""
        self.save(path)

    @classmethod
    def load(cls: Type[Self], path: Path) -> Self:
        """Reads a model written by :meth:`save` or the command line, or saved by ``implicit`` (.npz).

        All constructor arguments are restored except ``num_threads``. ``weights`` are restored as resolved:
        a ``mean`` becomes its ``c0``, and approximated weights become ``LowRank``.
        """
        text = os.fspath(path)
        core = _core.Model.import_implicit(text) if text.endswith(".npz") else _core.Model.load(text)
        model = cls()
        model._restore(core, None, None)
        return model

    def _restore(self, core: _core.Model, user_kind: Optional[str], item_kind: Optional[str]) -> None:
        stored = json.loads(core.params)
        for name in _STORED:
            setattr(self, name, stored[name])
        self.random_state = stored["seed"]
        self.tolerance = stored["tolerance"]
        self.solver, self.targets, confidence, self.post_scale_half_life = core.settings
        constant = stored["confidence"]["kind"] == "constant"
        self.confidence = stored["confidence"]["weight"] if constant else confidence
        self.weights = restored(core.weights)
        self._model = core
        self._ids = Ids(Side(core.user_ids, user_kind), Side(core.item_ids, item_kind))
        self._train_data = self._exposed = self._kept_pairs = None
        if core.seen is not None:
            self._keep_pairs(*core.seen)
        self._chosen_weights = None
        self.stop_reason_ = "loaded"

    def _pairs_seen(self) -> Optional[Tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        """The rows of users and of items that a copy needs to leave out what users have seen."""
        known = self._train_data or self._kept_pairs
        return None if known is None else known.pairs()

    def _keep_pairs(self, users: NDArray[np.uint32], items: NDArray[np.uint32]) -> None:
        """Keeps the rows of users and items that users have seen."""
        pairs = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=self._model.shape)
        self._kept_pairs = Entries(csr_arrays(pairs), self._ids)

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
            state["chosen_weights"] = self._chosen_weights
            state["seen"] = self._pairs_seen()
            state["reading"] = (dict(self._columns), dict(self._reading), self._duplicates)
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        if "model" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.absentia")
                with open(path, "wb") as file:
                    file.write(state["model"])
                self._restore(_core.Model.load(path), *state["kinds"])
            self.stop_reason_ = state["stop_reason"]
            self._chosen_weights = state.get("chosen_weights")
            self._columns, self._reading, self._duplicates = state.get("reading", ({}, {}, None))
            if state.get("seen") is not None:
                self._keep_pairs(*state["seen"])
        for name, value in state["params"].items():
            setattr(self, name, value)
