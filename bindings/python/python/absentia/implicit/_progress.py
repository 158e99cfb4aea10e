"""Reports the progress of a run as ``implicit`` does."""

from __future__ import annotations

import logging
from typing import Any, Callable, Optional

import numpy as np

log = logging.getLogger("absentia.implicit")


class Progress:
    """Reports iterations to a callback and a progress bar, with the loss scaled as in ``implicit``."""

    def __init__(
        self, with_loss: bool, iterations: int, rows: Any, callback: Optional[Callable[..., Any]], show: bool
    ) -> None:
        self.callback = callback
        self.with_loss = with_loss
        self.loss: Optional[float] = None
        self.is_needed = bool(callback) or show or self.with_loss
        self.bar: Any = None
        if show:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=iterations)
        if with_loss:
            # Implicit counts c (1 - 0)^2 for dislikes too, and divides by the total weight.
            self.extra = -float(rows.data[rows.data < 0].sum(dtype=np.float64))
            self.total = float(np.abs(rows.data).sum(dtype=np.float64)) + float(rows.shape[0]) * rows.shape[1] - rows.nnz

    def __call__(self, iteration: int, seconds: float, observed: float, missing: float, penalty: float) -> None:
        if self.with_loss:
            self.loss = (observed + missing + penalty + self.extra) / self.total
        if self.bar is not None:
            self.bar.update(1)
            if self.with_loss:
                self.bar.set_postfix({"loss": self.loss})
        elif self.with_loss:
            log.info("loss %.4f", self.loss)
        if self.callback:
            self.callback(iteration - 1, seconds, self.loss)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
