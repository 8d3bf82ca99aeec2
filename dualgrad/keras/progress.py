"""How far a loop has come: ``tf.keras.utils.Progbar``, and the line that `fit` shows on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from dualgrad.keras.callbacks import Callback
from dualgrad.platform.progress import ProgressLine
from engine.runtime.faces import Shown


class Progbar(Shown):
    """Writes how far a loop is, and averages of numbers, to standard output.

    Parameters
    ----------
    target : int or None
        The number of steps; None if nobody knows.
    width : int
        Of the bar.
    verbose : {0, 1, 2}
        Nothing, a bar, or one line at the end.
    interval : float
        Seconds between two writings.
    stateful_metrics : sequence of str, optional
        Names of numbers that are shown as they are, not averaged.
    unit_name : str

    Examples
    --------
    >>> bar = Progbar(2, verbose=2)
    >>> bar.add(1, [("loss", 2.0)])
    >>> bar.add(1, [("loss", 1.0)])
    2/2 - 0s - loss: 1.5000
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Sequence[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.unit_name, self.stateful_metrics = unit_name, set(stateful_metrics or ())
        self._values: dict[str, tuple[float, float]] = {}
        self._seen, self._length = 0, 0
        self._start = self._last = time.monotonic()

    def update(
        self, current: int, values: Iterable[tuple[str, Any]] | None = None, finalize: bool | None = None
    ) -> None:
        """Say that step `current` is done, with numbers of the steps since the last call."""
        weight = max(current - self._seen, 0)
        for name, value in values or ():
            total, count = self._values.get(name, (0.0, 0.0))
            kept = name in self.stateful_metrics
            self._values[name] = (float(value), 1.0) if kept else (total + float(value) * weight, count + weight)
        self._seen = current
        done = finalize if finalize is not None else self.target is not None and current >= self.target
        now = time.monotonic()
        if self.verbose == 0 or not (done or (self.verbose == 1 and now - self._last >= self.interval)):
            return
        self._last = now
        text = self._text(current, now)
        if self.verbose == 1:
            text = f"\r{text.ljust(self._length)}"
            self._length = len(text) - 1
        sys.stdout.write(text + ("\n" if done else ""))
        sys.stdout.flush()

    def _text(self, current: int, now: float) -> str:
        count = str(current) if self.target is None else f"{current:{len(str(self.target))}d}/{self.target}"
        parts = [count]
        if self.verbose == 1 and self.target:
            filled = min(self.width, self.width * current // self.target)
            parts[0] += f" [{'=' * filled}{'.' * (self.width - filled)}]"
        parts.append(f"{now - self._start:.0f}s")
        parts += [f"{name}: {total / count if count else 0.0:.4f}" for name, (total, count) in self._values.items()]
        return " - ".join(parts)

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Say that `n` more steps are done."""
        self.update(self._seen + n, values)


class ProgbarLogger(Callback):
    """Says on a terminal how far an epoch is, how much time is left, and what the loss is.

    `fit` has one itself, unless the program gives one. It is silent where `fit` is (``verbose=0``, or 2).
    """

    _line: ProgressLine | None = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin a line."""
        params = self.params or {}
        if params.get("verbose") not in (0, 2):
            self._line = ProgressLine(f"Epoch {epoch + 1}/{params.get('epochs')}", params.get("steps"), sys.stdout)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Write it anew."""
        if self._line is not None and self._line.shown:
            self._line.step(" - ".join(f"{name}: {value:.4f}" for name, value in (logs or {}).items()))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Take it away: what the epoch gave is printed in its place."""
        if self._line is not None:
            self._line.clear()


def bar(verbose: Any, given: Sequence[Callback]) -> list[Callback]:
    """The callback that shows how far an epoch is, if `fit` was asked for one and not given it."""
    has = verbose in (0, 2) or any(isinstance(callback, ProgbarLogger) for callback in given)
    return [] if has else [ProgbarLogger()]


__all__ = ["Progbar"]
