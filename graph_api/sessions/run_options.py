"""Options of a session when it is made, and of `Session.run` besides fetches and feeds."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any, ClassVar

from dualgrad.frontend.session_options import ConfigProto as ConfigProto  # noqa: PLC0414 - given on
from dualgrad.frontend.session_options import GPUOptions as GPUOptions  # noqa: PLC0414
from dualgrad.frontend.session_options import GraphOptions as GraphOptions  # noqa: PLC0414
from dualgrad.frontend.session_options import OptimizerOptions as OptimizerOptions  # noqa: PLC0414
from engine.runtime.errors import UnimplementedError


class RunOptions(SimpleNamespace):
    """Options of one run.

    Parameters
    ----------
    trace_level : int
        Runs are not traced: with another level than NO_TRACE the run says so in a warning.
    timeout_in_ms : int
        Must be 0: a run is not interrupted.
    **others
        Kept. Nothing here depends on them: there is one process, with one device.
    """

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    def __init__(self, trace_level: int = 0, timeout_in_ms: int = 0, **others: Any) -> None:
        super().__init__(trace_level=trace_level, timeout_in_ms=timeout_in_ms, **others)


class RunMetadata(SimpleNamespace):
    """The description that a run gives of itself. Runs are not traced here, so that its parts stay empty."""

    def __init__(self) -> None:
        super().__init__(step_stats=SimpleNamespace(dev_stats=[]), partition_graphs=[])


def check(options: Any, metadata: Any) -> None:
    """Raise, or warn, if a run is asked for something that it does not do.

    Raises
    ------
    TypeError
        If these are no options and metadata.
    UnimplementedError
        If a timeout is asked for.
    """
    if not isinstance(options, (RunOptions, type(None))) or not isinstance(metadata, (RunMetadata, type(None))):
        raise TypeError(
            f"Session.run: `options` must be RunOptions and `run_metadata` RunMetadata, got {options!r}, {metadata!r}"
        )
    if options is None:
        return
    if options.timeout_in_ms:
        raise UnimplementedError("Session.run: `timeout_in_ms` is not supported; leave it out")
    if options.trace_level:
        warnings.warn(
            "Session.run: runs are not traced, so that `run_metadata` stays empty; use Python's profilers, or "
            "python -m bench",
            stacklevel=4,
        )
