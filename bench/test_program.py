"""What compiling a Jacobian costs, and what it gains: programs made with all passes, with none, and without each.

Every program computes the same, to the bit; what a pass is good for shows in how much slower the program is without it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

import graph_api
from bench.problems import PROBLEMS, label
from engine.program import Program, lower
from engine.program.lowering import needed_nodes
from engine.program.passes.pipeline import ALL_PASSES

COMPILED = ("mlp", "recurrent", "bundle")
PASSES: dict[str, Collection[str]] = {
    "all passes": ALL_PASSES,
    "no pass": (),
    **{f"without {one}": [p for p in ALL_PASSES if p != one] for one in ALL_PASSES},
}


class Source:
    """The Jacobian of a problem at its smallest size, as nodes of a graph."""

    def __init__(self, name: str) -> None:
        problem = PROBLEMS[name]
        values = problem.values(problem.quick[0])
        self.arguments = values[: problem.sources]
        with graph_api.Graph().as_default() as graph:
            self.given = [graph_api.placeholder(v.dtype, v.shape) for v in self.arguments]
            target = problem.function(graph_api, *self.given, *map(graph_api.constant, values[problem.sources :]))
            found = graph_api.jacobian(target, self.given, format=problem.format)
        self.wanted = [x.values if problem.format == "csr" else x for x in found]
        self.nodes = needed_nodes(graph.nodes, self.wanted, {id(x) for x in self.given}, lambda node: ())

    def lowered(self, passes: Collection[str]) -> Program:
        """The program that some of the passes make."""
        return lower(self.nodes, [(x, x.aval) for x in self.given], self.wanted, passes=passes)[0]


source = functools.cache(Source)


def pytest_generate_tests(metafunc: Any) -> None:
    """Each pass apart only with ``--full``, and only for running."""
    compiling = metafunc.function is test_compiling
    each = getattr(metafunc.config.option, "full", False) and not compiling
    cases = []
    for name in COMPILED:
        mark = pytest.mark.benchmark(group=f"{'compiling' if compiling else 'running'} {_described(name)}")
        cases += [pytest.param(name, p, id=f"{name}-{p}", marks=mark) for p in (PASSES if each else [*PASSES][:2])]
    metafunc.parametrize(("name", "passes"), cases)


def _described(name: str) -> str:
    return f"the Jacobian of {name} {label(PROBLEMS[name].quick[0])}"


def test_compiling(benchmark: Any, name: str, passes: str) -> None:
    """From the nodes of the graph to a program."""
    program = benchmark(source(name).lowered, PASSES[passes])
    benchmark.extra_info.update(instructions=len(program.instructions), report=program.report)


def test_running(benchmark: Any, name: str, passes: str) -> None:
    """The program, which gives the same bits whatever passes made it."""
    program, arguments = source(name).lowered(PASSES[passes]), source(name).arguments
    program(*arguments)
    found = benchmark(program, *arguments)
    expected = source(name).lowered(ALL_PASSES)(*arguments)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
