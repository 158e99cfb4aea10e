"""The base of the estimator: its parameters, and the trained model."""

from __future__ import annotations

import inspect
import json
from typing import Any, Dict, List, Mapping, Optional, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from . import _core, _params
from ._data import Entries, Settings, convert, seen_pairs
from ._ids import Ids, Side
from ._results import NotFittedError, Sweep
from ._resolved import Resolved
from .weights import same

Self = TypeVar("Self", bound="Estimator")


class Estimator:
    """Parameters in the style of scikit-learn, and the attributes of the trained model."""

    factors: int
    weights: Any
    regularization: Optional[float]
    reg_exponent: float
    targets: Optional[str]
    _chosen_weights: Optional[str]
    confidence: Union[float, str, None]
    solver: str
    iterations: int
    tolerance: Optional[float]
    post_scale: Optional[float]
    post_scale_half_life: Optional[str]
    init_std: float
    learning_rate: float
    random_state: Any
    num_threads: Optional[int]
    preset: Optional[str]
    block: Optional[int]
    cg_steps: Optional[int]
    neighbours: Optional[int]
    memory_limit: Union[int, str, None]
    device: str

    stop_reason_: str
    _model: _core.Model
    _ids: Ids
    _train_data: Optional[Entries]
    _exposed: Any = None
    _kept_pairs: Optional[Entries] = None
    _columns: Mapping[str, Any] = {}
    _reading: Settings = {}
    _duplicates: Optional[str] = None

    @classmethod
    def _get_param_names(cls) -> List[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """Returns the constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets constructor arguments by name."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"invalid parameter {name!r}; valid are {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        given = {name: value for name, value in self.get_params().items() if not same(value, usual[name].default)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @property
    def user_factors_(self) -> NDArray[np.float32]:
        """The factors of users, a read-only view."""
        return np.asarray(self._fitted().user_factors)

    @property
    def item_factors_(self) -> NDArray[np.float32]:
        """The factors of items as trained, a read-only view. Scores also need ``item_scale_``."""
        return np.asarray(self._fitted().item_factors)

    @property
    def item_scale_(self) -> NDArray[np.float32]:
        """The post-scaling of items: their factors are multiplied by ``n_i ** post_scale_`` for scores."""
        scale = self._fitted().item_scale
        return np.ones(self._fitted().shape[1], dtype=np.float32) if scale is None else scale

    @property
    def user_ids_(self) -> NDArray[Any]:
        """The ids of users, in the order of the rows of ``user_factors_``."""
        self._fitted()
        return self._ids.users.all()

    @property
    def item_ids_(self) -> NDArray[Any]:
        """The ids of items, in the order of the rows of ``item_factors_``."""
        self._fitted()
        return self._ids.items.all()

    @property
    def types_(self) -> List[str]:
        """The types that have factors: users, items, and those that relations added."""
        return ["users", "items", *self._fitted().types]

    def factors_of(self, type: str) -> NDArray[np.float32]:
        """The factors of a type, such as tags, one row each, in the order of ``ids_of(type)``."""
        if type in ("users", "items"):
            return self.user_factors_ if type == "users" else self.item_factors_
        factors = np.asarray(self._fitted().factors_of(type))
        factors.flags.writeable = False
        return factors

    def ids_of(self, type: str) -> NDArray[Any]:
        """The ids of a type."""
        if type in ("users", "items"):
            return self.user_ids_ if type == "users" else self.item_ids_
        return Side(self._fitted().ids_of(type), None).all()

    @property
    def n_features_in_(self) -> int:
        """The number of items."""
        return self._fitted().shape[1]

    @property
    def regularization_(self) -> float:
        """The regularization of the model, given or chosen automatically."""
        return float(json.loads(self._fitted().params)["regularization"])

    @property
    def post_scale_(self) -> float:
        """The exponent of post-scaling, given or chosen automatically."""
        return float(json.loads(self._fitted().params)["post_scale"])

    @property
    def post_scale_half_life_(self) -> Optional[str]:
        """The half-life of the counts of post-scaling, as in ``"30d"``; ``None`` if all rows count alike."""
        return self._fitted().settings[3]

    @property
    def targets_(self) -> str:
        """The targets of the model, given or chosen automatically."""
        return self._fitted().settings[1]

    @property
    def history_(self) -> List[Sweep]:
        """The objective and its parts after every sweep, the seconds of the sweep, and the metric on held-out rows."""
        return [
            Sweep(iteration, seconds, observed + missing + penalty, observed, missing, penalty, validation)
            for iteration, seconds, observed, missing, penalty, validation in self._fitted().history
        ]

    @property
    def weights_(self) -> Resolved:
        """The weights on missing entries, resolved on the data."""
        return Resolved(self._fitted().weights, self._ids)

    def _fitted(self) -> _core.Model:
        try:
            return self._model
        except AttributeError:
            raise NotFittedError("this Factorizer is not fitted yet; call fit first") from None

    def _threads(self) -> Optional[int]:
        return None if self.num_threads in (None, 0) else _params.whole("num_threads", self.num_threads)

    def _side(self, axis: str) -> Side:
        self._fitted()
        return self._ids.users if axis == "user" else self._ids.items

    def _convert(self, data: Any, grow: bool = False) -> Entries:
        """Converts further data of the model, which is read as that of ``fit`` was.

        Data that is added (``grow``) is merged as that of ``fit`` was, too.
        """
        settings = {**self._reading, "duplicates": self._duplicates} if grow else self._reading
        return convert(data, self._ids, settings, columns=self._columns, grow=grow)

    def _seen_items(self, seen: Any) -> Entries:
        """What users have seen; a copy of a model knows that, and nothing else, of its training data."""
        if seen is None and self._train_data is None and self._kept_pairs is not None:
            return self._kept_pairs
        return self._seen(seen)

    def _seen_by(self, users: Any, seen: Any) -> _core.Seen:
        """What the given users have seen, and possibly others."""
        pairs = None if seen is None else seen_pairs(seen, self._ids, self._reading, self._columns, users)
        return self._seen_items(seen).core if pairs is None else pairs

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn has to know: rows are users, a matrix is sparse, and there is no target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        accepted = InputTags(sparse=True, two_d_array=False)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=accepted)

    def _seen(self, seen: Any) -> Entries:
        if seen is not None:
            return self._convert(seen)
        if self._train_data is None:
            raise ValueError("the model was loaded without its training data: pass seen, or exclude_seen=False; "
                "save(path, keep_seen=True) keeps what is needed")
        return self._train_data
