"""Every way to a derivative, ours and the peers', gives what was worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bench import jacobians, peer_jacobians
from bench.jacobians import MODES, NotHere
from bench.problems import PROBLEMS, Problem
from engine.jacobian import plan_cache as recorded
from engine.jacobian.planning import plan as planning
from tests.bench.test_problems import EACH, SMALL


def dense(problem: Problem) -> Problem:
    """The same problem, asked for as a dense array."""

    def expected(*values: Any) -> Any:
        found = problem.expected(*values)
        return found.toarray() if sparse.issparse(found) else found

    return replace(problem, format="dense", expected=expected)


ASKED = {**PROBLEMS, **{f"{p.name} as an array": dense(p) for p in PROBLEMS.values() if p.format != "dense"}}


@pytest.mark.parametrize(
    ("name", "mode", "method"),
    [(name, mode, method) for name, p in ASKED.items() for mode in MODES for method in jacobians.methods(p)],
)
def test_ours(name: str, mode: str, method: str) -> None:
    problem = ASKED[name]
    values = problem.values(SMALL[problem.name])
    jacobians.check(problem, values, jacobians.ours(problem, values, mode, method)(), method)


@pytest.mark.parametrize("name", ASKED)
def test_graph_and_tape_are_equal_to_the_bit(name: str) -> None:
    problem = ASKED[name]
    values = problem.values(SMALL[problem.name])
    graph, tape = (
        jacobians.matrix(problem, values, jacobians.ours(problem, values, mode)()) for mode in ("graph", "tape")
    )
    assert np.array_equal(*(m.toarray() if sparse.issparse(m) else m for m in (graph, tape)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_the_plan_says(name: str) -> None:
    problem = PROBLEMS[name]
    said = jacobians.planned(problem, problem.values(SMALL[name]), "auto")
    assert (set(said) == {"passes", "planned_flops"}) == (problem.kind == "jacobian")
    assert all(number > 0 for number in said.values())


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_what_is_done_once(mode: str, problem: Problem) -> None:
    """It is done anew each time, and what was kept before comes back."""
    values = problem.values(SMALL[problem.name])
    run = jacobians.ours(problem, values, "tape")
    run()
    kept = planning._plans.values(), recorded._compiled.values()
    assert kept[0] or problem.kind == "batch_jacobian"
    planned = planning.counters["planned"]
    said = jacobians.stages(problem, values, mode)
    assert set(said) == {"graph": {"trace", "plan"}, "tape": {"plan"} if problem.kind == "jacobian" else set()}[mode]
    assert (planning.counters["planned"] > planned) == ("plan" in said and problem.kind != "batch_jacobian")
    assert (planning._plans.values(), recorded._compiled.values()) == kept


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
    assert set(peer_jacobians.warm_seconds(ways)) == set(ways)


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


def test_a_peer_that_is_off_is_left_out_and_named() -> None:
    problem = PROBLEMS["bottleneck"]
    values = problem.values(SMALL["bottleneck"])
    right = problem.expected(*values)
    ways = {"right": lambda: [right], "off": lambda: [right * (1 + 1e-6)]}
    kept, off = peer_jacobians.right_ways(problem, values, ways)
    assert kept == {"right": ways["right"]} and list(off) == ["off"] and "bottleneck: off by" in off["off"]
    with pytest.raises(NotHere, match=r"wrong for \d+ x \d+: off: bottleneck: off by"):
        peer_jacobians.right_ways(problem, values, {"off": ways["off"]})


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(NotHere, match="one by one"):
        jacobians.ours(PROBLEMS["hand"], PROBLEMS["hand"].values((1000,)), "tape", "row loop")
    burgers = PROBLEMS["burgers"]
    with pytest.raises(NotHere, match="too large"):
        peer_jacobians._dense_only(burgers, burgers.values((100_000,)))
    with pytest.raises(NotHere, match="only for sparse"):
        peer_jacobians.peer_ways("casadi", PROBLEMS["mlp"], PROBLEMS["mlp"].values(SMALL["mlp"]))


def test_a_large_result_is_read_and_a_small_one_left() -> None:
    calls: list[int] = []

    def of(count: int) -> Any:
        def run() -> list[Any]:
            calls.append(count)
            return [np.zeros((count, 4)), sparse.csr_array(np.eye(3)), object()]

        return run

    small = of(3)
    assert jacobians.reading(small) is small
    assert [block.shape for block in jacobians.reading(of(10_000))()[:2]] == [(10_000, 4), (3, 3)]
    assert calls == [3, 10_000, 10_000]
