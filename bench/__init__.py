"""Benchmarks of derivatives, in each mode and beside other libraries.

`compare_modes` compares the modes on a function of yours. ``python -m bench`` measures our suite, compares two
measurements, and writes the report.
"""

from bench.modes import ModeComparison, compare_modes

__all__ = ["ModeComparison", "compare_modes"]
