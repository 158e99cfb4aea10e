"""Progress of a run: a callback and a progress bar."""

from __future__ import annotations

from typing import Any, Callable, Optional

Callback = Callable[[int, float, float], Any]


class Progress:
    """Reports sweeps to a callback and a progress bar."""

    def __init__(self, callback: Optional[Callback], show_progress: bool, iterations: int) -> None:
        self.callback = callback
        self.bar: Any = None
        if show_progress:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=iterations)
        self.report = None if callback is None and self.bar is None else self._report

    def _report(self, sweep: int, seconds: float, observed: float, missing: float, penalty: float) -> bool:
        objective = observed + missing + penalty
        if self.bar is not None:
            self.bar.update(1)
            self.bar.set_postfix({"objective": objective})
        return bool(self.callback(sweep, seconds, objective)) if self.callback else False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()
