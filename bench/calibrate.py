"""How fast this machine is: what a time measured on it is to be compared with.

Three figures, each a ceiling for one kind of work: copying (elementwise ops on large arrays), multiplying matrices, and
calling NumPy from Python (everything on small arrays). They are stored with each run of the benchmarks, so that runs on
two machines can be compared (`bench.compare`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

COPIED = 4 << 20  # elements of 8 bytes: 32 MB, well beyond the caches
ORDER = 256  # short beside a time slice, so that some products are not interrupted
FIGURES = {
    "copy_bytes_per_s": ("copying an array (read and written)", 1e-9, "GB/s"),
    "gemm_float64_flops_per_s": ("multiplying matrices, float64", 1e-9, "GFlop/s"),
    "gemm_float32_flops_per_s": ("multiplying matrices, float32", 1e-9, "GFlop/s"),
    "call_seconds": ("one NumPy call on ten numbers", 1e9, "ns"),
}
"""The meaning of each figure, the factor to its unit, and the unit."""


def calibrate(seconds: float = 0.2) -> dict[str, float]:
    """Measure the machine, spending about `seconds` on each figure.

    Returns
    -------
    dict
        The `FIGURES`, each from the best round: on a shared machine that is the one which was least disturbed.
    """
    source = np.ones(COPIED)
    target = np.empty_like(source)
    small = np.ones(10)
    result = np.empty_like(small)
    figures = {"copy_bytes_per_s": 2 * source.nbytes / best_of(lambda: np.copyto(target, source), 1, seconds)}
    for dtype in (np.float64, np.float32):
        matrix = np.ones((ORDER, ORDER), dtype)
        product = np.empty_like(matrix)
        rate = 2 * ORDER**3 / best_of(lambda a=matrix, out=product: np.matmul(a, a, out=out), 1, seconds)  # type: ignore[misc]
        figures[f"gemm_{np.dtype(dtype).name}_flops_per_s"] = rate
    figures["call_seconds"] = best_of(lambda: np.add(small, small, out=result), 1000, seconds)
    return figures


def best_of(call: Callable[[], Any], repeats: int, seconds: float) -> float:
    """Seconds of one call, of the best of the rounds (5 at least) of `repeats` calls that fit in `seconds`."""
    call()
    best, rounds, end = float("inf"), 0, time.perf_counter() + seconds
    while rounds < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - start) / repeats)
        rounds += 1
    return best


def better(a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
    """Of each figure the one from when the machine was less disturbed; what only one of them knows is kept."""
    both = {name: (max if "_per_" in name else min)(a[name], b[name]) for name in a if name in b}
    return {**a, **b, **both}


def slowness(figures: dict[str, float]) -> dict[str, float]:
    """The same figures as times, larger for a slower machine, so that their ratios are ratios of time."""
    return {name: 1 / value if "_per_" in name else value for name, value in figures.items()}


def described(figures: dict[str, float]) -> list[tuple[str, str]]:
    """The facts known of the machine, in words and units."""
    return [
        (what, f"{figures[name] * factor:,.3g} {unit}")
        for name, (what, factor, unit) in FIGURES.items()
        if name in figures
    ]
