"""Training on a Ray cluster: the same job, the same bits as on one machine.

>>> from absentia.ray import fit  # doctest: +SKIP
>>> with fit("events/*.parquet", factors=64, regularization=0.01, workers=8) as run:  # doctest: +SKIP
...     run.save("model.absentia")

``docs/cluster.md`` describes what travels between workers, sizes and faults.
"""

from ._evaluate import evaluate
from ._fit import Fit, fit
from ._recommend import recommend_all

__all__ = ["Fit", "evaluate", "fit", "recommend_all"]
