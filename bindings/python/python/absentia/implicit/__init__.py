"""The API of ``implicit`` 0.7's alternating least squares, on Absentia's engine.

Change one import:

>>> from absentia.implicit import AlternatingLeastSquares

The objective is the same: missing entries have weight 1, observed ones ``alpha * value``, and negative
values are confident dislikes. The initial factors for a given ``random_state`` are also the same.

Differences: ``use_native`` has no effect. With ``dtype=numpy.float64`` factors have that type, but are
computed in single precision. ``use_gpu=True`` raises ``ValueError``.
"""

from . import als, evaluation
from .als import AlternatingLeastSquares, ModelFitError, ParameterWarning

__all__ = ["AlternatingLeastSquares", "ModelFitError", "ParameterWarning", "als", "evaluation"]
