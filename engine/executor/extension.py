"""The extension that runs tables, if it is there and wanted."""

from __future__ import annotations

import ctypes

from engine.runtime.blas import thread_count
from engine.runtime.extension import extension

executor, reason = extension("engine.executor._executor")
"""The extension, None where programs run in Python; and why."""

if executor is not None and (count := thread_count()) is not None:
    executor.use_blas(*[ctypes.cast(function, ctypes.c_void_p).value for function in count])
