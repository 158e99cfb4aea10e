"""Ray, or an error that says what to install."""

from __future__ import annotations

from typing import Any

VERSION = "2.60.0"
"""The version that is tested. Which exception reports a lost worker or object differs between versions of Ray, and a
loss that is not recognised ends a run."""


def load() -> Any:
    """Yields the module ``ray``."""
    try:
        import ray
    except ImportError:
        message = f"absentia.ray needs Ray {VERSION}, which is not installed; install it with: pip install 'absentia[ray]'"
        raise ImportError(message) from None
    if ray.__version__ != VERSION:
        message = f"absentia.ray needs Ray {VERSION}, and {ray.__version__} is installed; install it with: pip install 'absentia[ray]'"
        raise ImportError(message)
    return ray
