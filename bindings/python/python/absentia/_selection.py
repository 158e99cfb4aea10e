"""Models compared on the same data."""

from __future__ import annotations

import copy
from typing import Any, Dict, Mapping, Sequence

from ._factorizer import Factorizer
from ._prediction import DEFAULT_METRICS
from ._results import Evaluation


def evaluate(model: Factorizer, test: Any, metrics: Sequence[str] = DEFAULT_METRICS, **options: Any) -> Evaluation:
    """Computes metrics of a model on test interactions: :meth:`Factorizer.evaluate` as a function."""
    return model.evaluate(test, metrics, **options)


def compare(
    models: Mapping[str, Factorizer], train: Any, test: Any, metrics: Sequence[str] = DEFAULT_METRICS, **fit: Any
) -> Dict[str, Evaluation]:
    """Trains copies of several models on the same data and measures them on the same test interactions.

    Further arguments go to :meth:`Factorizer.fit`.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
    >>> models = {"eals": absentia.Factorizer(2, 0.05), "popularity": absentia.Factorizer(solver="popularity")}
    >>> found = absentia.compare(models, log, (["cy"], ["alien"]), ["hr@1"])
    >>> {name: result["hr@1"] for name, result in found.items()}
    {'eals': 1.0, 'popularity': 1.0}
    """
    return {name: _unfitted(model).fit(train, **fit).evaluate(test, metrics) for name, model in models.items()}


def _unfitted(model: Factorizer) -> Factorizer:
    """A model with the same arguments."""
    return type(model)(**copy.deepcopy(model.get_params()))
