"""The native executor: programs as tables of NumPy's own inner loops, run by a small interpreter in C.

A program calls NumPy a few hundred times, and each call costs more than the arithmetic on a dozen numbers does. What
NumPy looks up in a call depends on shapes alone: the loop to run, addresses, counts and strides. So a run is
observed once (`engine.executor.recorder`), and what NumPy did is written down as rows; from then on an extension
in C runs the rows. The loops are NumPy's, so the bits are those of the eager kernels. A kernel that cannot be written
as rows is called between them.

``DUALGRAD_NATIVE=0`` switches it off; ``DUALGRAD_NATIVE=require`` makes it an error that the extension is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.executor.extension import executor, reason
from engine.executor.loops import rejected
from engine.runtime.extension import unused
from engine.runtime.structs import field, struct


@struct(frozen=True)
class Status:
    """The answer of `status`."""

    active: bool
    """Whether programs run natively."""
    reason: str
    """Why, or why not."""
    rejected: tuple[str, ...] = ()
    """Loops of NumPy that gave other bits than NumPy's call and are not used, as ``"ufunc types"``."""
    unused: Mapping[str, str] = field(default_factory=dict)
    """Why each extension that was asked for and is not used is not: this one, that of eager ops, that of windows."""

    def __str__(self) -> str:
        lines = [f"native executor: {'on' if self.active else 'off'} ({self.reason})"]
        lines += [f"{name}: off ({why})" for name, why in self.unused.items() if why != self.reason]
        return "\n".join(lines)


def status() -> Status:
    """Whether programs run in the native executor, and why not if they do not.

    Examples
    --------
    >>> from engine.executor import status
    >>> status().active in (True, False)
    True
    """
    return Status(executor is not None, reason, tuple(rejected), dict(unused))
