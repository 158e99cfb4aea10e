"""Matrix factorisation for implicit feedback in which every missing entry has a weight of its own.

>>> import absentia, scipy.sparse as sp
>>> X = sp.csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
>>> model = absentia.Factorizer(factors=2, weights=absentia.weights.Uniform(0.1), random_state=0).fit(X)
>>> items, scores = model.recommend(3, n=1)
>>> items.tolist()
[3]
"""

from . import weights
from ._core import __version__
from ._factorizer import Factorizer
from ._online import Online
from ._results import Evaluation, Explanation, FoldedIn, NotFittedError, Sweep
from ._scoring import Scorer, scorer
from ._selection import Tuned, compare, cross_validate, evaluate, split, tune

__all__ = [
    "Evaluation",
    "Explanation",
    "Factorizer",
    "FoldedIn",
    "NotFittedError",
    "Online",
    "Scorer",
    "Sweep",
    "Tuned",
    "__version__",
    "compare",
    "cross_validate",
    "evaluate",
    "scorer",
    "split",
    "tune",
    "weights",
]
