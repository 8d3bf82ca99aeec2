"""Benchmarks of derivatives, in each mode of dualgrad and beside other libraries.

`compare_modes` compares the modes on a function of yours. ``python -m bench`` measures our suite, compares two
measurements, and writes the report.
"""

import runpy as _runpy
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

from bench.modes import ModeComparison, compare_modes

__all__ = ["ModeComparison", "compare_modes"]
