"""The extension that runs tables, if it is there and wanted."""

from __future__ import annotations

from engine.runtime.extension import extension

executor, reason = extension("engine.executor._executor")
"""The extension, None where programs run in Python; and why."""
