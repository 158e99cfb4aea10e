"""Converts the arguments of ``implicit`` for the engine."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from .._data import check_counts, csr_arrays


class ModelFitError(Exception):
    """Training could not start, or its factors are not finite."""


class ParameterWarning(Warning):
    """An argument had to be converted."""


def generator(random_state: Any) -> np.random.Generator:
    """Makes a generator from a seed, a generator or a ``RandomState``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def csr(given: Any) -> Any:
    """Converts a sparse matrix to CSR, with a warning if it is not CSR already."""
    check_counts(getattr(given, "shape", (0, 0)))
    if isinstance(given, sp.csr_matrix):
        return given
    name, start = type(given).__name__, time.time()
    rows = sp.csr_matrix(given.tocsr())
    warnings.warn(
        f"Method expects CSR input, and was passed {name} instead. "
        f"Converting to CSR took {time.time() - start} seconds",
        ParameterWarning,
        stacklevel=3,
    )
    return rows


def canonical(rows: Any) -> Any:
    """Sorts the indices of each row and adds up repeats; copies only if necessary."""
    rows.check_format(full_check=True)  # scipy itself reads wherever the offsets point
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def confidences(rows: Any, alpha: float) -> Any:
    """The confidences ``alpha * value``."""
    rows = canonical(rows)
    if rows.dtype != np.float32:
        rows = rows.astype(np.float32)
    return rows if alpha == 1.0 else alpha * rows


def confidence_arrays(rows: Any) -> _core.Csr:
    """Borrows confidences as weights, with target 1 for likes and 0 for dislikes."""
    columns, indptr, indices, data, _ = csr_arrays(rows)
    if data is None or (data > 0).all():
        return columns, indptr, indices, None, data
    return columns, indptr, indices, (data > 0).astype(np.float32), np.abs(data)


def singles(factors: Any) -> NDArray[np.float32]:
    """Factors in single precision."""
    if factors is None:
        raise ModelFitError("the model has no factors yet; call fit first")
    return np.ascontiguousarray(factors, dtype=np.float32)


def lengths(factors: NDArray[Any]) -> NDArray[Any]:
    """The lengths of rows. The length of a row of zeros is a tiny positive number."""
    found: NDArray[Any] = np.linalg.norm(factors, axis=-1)
    found[found == 0] = 1e-10
    return found


def indices(given: Any, count: int) -> NDArray[np.uint32]:
    """Converts indices as numpy does; negative ones count from the end."""
    found = np.asarray(given)
    if found.size == 0:
        return np.zeros(0, dtype=np.uint32)
    if found.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if found.max() >= count or found.min() < -count:
        wrong = found.max() if found.max() >= count else found.min()
        raise IndexError(f"index {wrong} is out of bounds for axis 1 with size {count}")
    return np.where(found < 0, found + count, found).astype(np.uint32)
