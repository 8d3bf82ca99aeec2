"""Whether the planner chooses well: a dense Jacobian for every pair of few, some and many inputs and outputs.

What it chooses is measured beside both directions and beside central differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench import jacobians
from bench.problems import PROBLEMS, Size, label

WIDTH = 32
SIDES = (1, 10, 100, 1000)
GRID = replace(
    PROBLEMS["mlp"],
    name="grid",
    quick=tuple((n, WIDTH, m) for n in SIDES[::3] for m in SIDES[::3]),
    full=tuple((n, WIDTH, m) for n in SIDES for m in SIDES if n not in SIDES[::3] or m not in SIDES[::3]),
)
"""A network with one hidden layer."""


def pytest_generate_tests(metafunc: Any) -> None:
    """All pairs only with ``--full``."""
    cases = []
    for size in GRID.sizes(getattr(metafunc.config.option, "full", False)):
        mark = pytest.mark.benchmark(group=f"grid {label(size)}")
        cases += [
            pytest.param(
                size,
                method,
                id=f"{label(size)}-graph-{method}",
                marks=[mark] if method == "auto" else [mark, pytest.mark.secondary],
            )
            for method in ("auto", "forward", "reverse", "numeric")
        ]
    metafunc.parametrize(("size", "method"), cases)


def test_grid(benchmark: Any, size: Size, method: str) -> None:
    """A later call in graph mode."""
    values = GRID.values(size)
    run = jacobians.ours(GRID, values, "graph", method)
    run()
    matrix = jacobians.check(GRID, values, benchmark(run), method)
    facts = {"problem": GRID.name, "size": label(size), "mode": "graph", "method": method, "stage": "warm"}
    benchmark.extra_info.update(facts, m=matrix.shape[0], n=matrix.shape[1], dtype="float64", bytes=matrix.nbytes)
