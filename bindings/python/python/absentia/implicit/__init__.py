"""The API of ``implicit`` 0.7's alternating least squares, on Absentia's engine.

Change one import:

>>> from absentia.implicit import AlternatingLeastSquares

The objective is the same (missing entries weigh 1, observed ones ``alpha * value``, negative values
are confident dislikes), and so is the start for a given ``random_state``.

What has no meaning here is accepted: ``use_native`` changes nothing; ``dtype=numpy.float64`` gives
factors of that type, computed in single precision; ``use_gpu=True`` is refused.
"""

from . import als, evaluation
from .als import AlternatingLeastSquares, ModelFitError, ParameterWarning

__all__ = ["AlternatingLeastSquares", "ModelFitError", "ParameterWarning", "als", "evaluation"]
