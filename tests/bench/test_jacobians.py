"""Every way to a derivative, ours and the peers', gives what was worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bench import jacobians, peer_jacobians
from bench.jacobians import METHODS, MODES, NotHere
from bench.problems import PROBLEMS, Problem
from tests.bench.test_problems import EACH, SMALL


def dense(problem: Problem) -> Problem:
    """The same problem, asked for as a dense array."""

    def expected(*values: Any) -> Any:
        found = problem.expected(*values)
        return found.toarray() if sparse.issparse(found) else found

    return replace(problem, format="dense", expected=expected)


@EACH
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mode", MODES)
def test_ours(mode: str, method: str, problem: Problem) -> None:
    values = problem.values(SMALL[problem.name])
    checked = 0
    for asked in {problem.format: problem, "dense": dense(problem)}.values():
        if method not in jacobians.methods(asked):
            continue
        try:
            result = jacobians.ours(asked, values, mode, method)()
        except NotHere:
            continue
        jacobians.check(asked, values, result, method)
        checked += 1
    if not checked:
        pytest.skip(f"{mode} mode has no method {method!r} for this problem")


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_the_function_alone(mode: str, problem: Problem) -> None:
    values = problem.values(SMALL[problem.name])
    call = jacobians.function(problem, values, mode)
    other = jacobians.function(problem, values, "tape")
    assert np.array_equal(call(*values[: problem.sources]), other(*values[: problem.sources]))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@EACH
@pytest.mark.parametrize("peer", peer_jacobians.PEERS)
def test_peers(peer: str, problem: Problem) -> None:
    values = problem.values(SMALL[problem.name])
    try:
        ways = peer_jacobians.peer_ways(peer, problem, values)
    except NotHere as reason:
        pytest.skip(f"{peer}: {reason}")
    for way in ways.values():
        jacobians.check(problem, values, way())
    assert peer_jacobians.fastest(ways) in ways


def test_what_is_wrong_is_noticed() -> None:
    problem = PROBLEMS["bottleneck"]
    values = problem.values(SMALL["bottleneck"])
    right = problem.expected(*values)
    jacobians.check(problem, values, [right])
    with pytest.raises(AssertionError, match="bottleneck: off by"):
        jacobians.check(problem, values, [right * (1 + 1e-6)])
    with pytest.raises(AssertionError, match="bottleneck: off by"):
        jacobians.check(problem, values, [np.full_like(right, np.nan)])
    with pytest.raises(AssertionError, match="bottleneck: shape"):
        jacobians.check(problem, values, [right[:3]])


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(NotHere, match="one by one"):
        jacobians.ours(PROBLEMS["hand"], PROBLEMS["hand"].values((1000,)), "tape", "row loop")
    burgers = PROBLEMS["burgers"]
    with pytest.raises(NotHere, match="too large"):
        peer_jacobians._dense_only(burgers, burgers.values((100_000,)))
    with pytest.raises(NotHere, match="only for sparse"):
        peer_jacobians.peer_ways("casadi", PROBLEMS["mlp"], PROBLEMS["mlp"].values(SMALL["mlp"]))
