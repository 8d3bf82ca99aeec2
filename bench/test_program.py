"""Costs and gains of compiling a Jacobian: programs made with all passes and with none.

Both compute the same, to the bit. What each pass alone is good for says ``python -m bench ablate``.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from bench.ablation import Source
from bench.problems import PROBLEMS, label
from engine.compiler.pipeline import ALL_PASSES

COMPILED = ("mlp", "recurrent", "bundle")
PASSES: dict[str, Collection[str]] = {"all passes": ALL_PASSES, "no pass": ()}


@functools.cache
def source(name: str) -> Source:
    """The Jacobian of a problem at its smallest size."""
    return Source(PROBLEMS[name], PROBLEMS[name].quick[0])


def pytest_generate_tests(metafunc: Any) -> None:
    """One group for each problem."""
    what = "compiling" if metafunc.function is test_compiling else "running"
    cases = []
    for name in COMPILED:
        group = f"{what} the Jacobian of {name} {label(PROBLEMS[name].quick[0])}"
        cases += [pytest.param(name, p, id=f"{name}-{p}", marks=pytest.mark.benchmark(group=group)) for p in PASSES]
    metafunc.parametrize(("name", "passes"), cases)


def test_compiling(benchmark: Any, name: str, passes: str) -> None:
    """From the nodes of the graph to a program."""
    program = benchmark(source(name).lowered, PASSES[passes])
    benchmark.extra_info.update(instructions=len(program.instructions), report=program.report)


def test_running(benchmark: Any, name: str, passes: str) -> None:
    """The program, which gives the same bits whatever passes made it."""
    program, arguments = source(name).lowered(PASSES[passes]), source(name).arguments
    program(*arguments)
    found = benchmark(program, *arguments)
    expected = source(name).lowered()(*arguments)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
