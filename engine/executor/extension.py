"""The extension that runs tables, if it is there and wanted."""

from __future__ import annotations

import ctypes
from operator import index

from engine.runtime.blas import thread_count, threads_wanted
from engine.runtime.extension import extension
from engine.runtime.tuning import TUNING

executor, reason = extension("engine.executor._executor")
"""The extension, None where programs run in Python; and why."""

if executor is not None and (count := thread_count()) is not None:
    executor.use_blas(*[ctypes.cast(function, ctypes.c_void_p).value for function in count])


def share(threads: int) -> None:
    """Let so many threads share large steps of programs that are made from now on; 0 stands for as many as at first."""
    count = index(threads) or threads_wanted()
    if executor is not None:
        executor.use_threads(count, TUNING.shared_numbers)


share(0)
