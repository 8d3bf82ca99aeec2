"""How much of a later call goes into sweeps, and how much into putting their numbers in place.

A call runs one program that does both. Here each half is lowered alone, from the same plan and by the same functions of
the engine (`engine.jacobian.evaluate`), and timed. What is left of a call is running the function itself and handling
the call and its result: on a tape, recording it.
"""

from __future__ import annotations

import statistics
from typing import Any

from bench.jacobians import Runner, recorded
from bench.measure import interleaved
from bench.problems import Problem, Values
from engine.jacobian.compiled import Mirror
from engine.jacobian.evaluate import joined, parts, placed
from engine.jacobian.path import Path
from engine.jacobian.plan import Options, plan_for
from engine.jacobian.second import _gradient, rowwise
from engine.replay import array_of
from engine.tape import paused
from engine.value import aval_of


def halves(problem: Problem, values: Values) -> dict[str, Runner]:
    """The ``"sweeps"`` of a later call and the ``"scatter"``, by the plan that ``auto`` makes, each ready to be timed.

    There is no scatter where what the sweeps give is the result.
    """
    tape, y, sources = recorded(problem, values)
    path = Path(tape._tape.nodes, sources, [y])
    mirror = Mirror(path)
    with paused():
        swept, given, blocks = _made(problem, mirror)
    sweeps, slots = mirror.lowered(swept)
    arrays = [array_of(path.values[slot]) for slot in slots]
    if not given:
        return {"sweeps": lambda: sweeps(*arrays)}
    scatter, slots = mirror.lowered(blocks, given)
    further = [*[array_of(path.values[slot]) for slot in slots], *sweeps(*arrays)]
    return {"sweeps": lambda: sweeps(*arrays), "scatter": lambda: scatter(*further)}


def division(pieces: dict[str, Runner], call: Runner, seconds: float = 0.2) -> dict[str, float]:
    """Which share of a later call each of its `halves` is; timed in turn, so that all meet the same machine.

    Alone they can take longer than the whole call, whose program is lowered in one: then they share all of it.
    """
    rounds = interleaved({**pieces, "": call}, seconds)
    medians = {name: statistics.median(of) for name, of in rounds.items()}
    whole = max(medians[""], sum(medians[name] for name in pieces))
    return {name: medians[name] / whole for name in pieces}


def _made(problem: Problem, mirror: Mirror) -> tuple[list[Any], list[Any], list[Any]]:
    """What the sweeps give; symbols that stand for it; and the blocks, made of these."""
    if problem.kind == "batch_jacobian":
        return [rowwise(mirror.path, "auto")], [], []
    second = problem.kind == "hessian"
    path = _gradient(mirror)[2] if second else mirror.path
    plan = plan_for(path, Options(values_only=problem.format == "csr", symmetric=second))
    results = [joined(parts(plan, path, number)) for number in range(len(plan.passes))]
    stand_ins = [[mirror.trace.placeholder(aval_of(x)) for x in of] for of in results]
    blocks = placed(plan, path, stand_ins)
    return _flat(results), _flat(stand_ins), [b for b in _flat(blocks) if b is not None]


def _flat(rows: list[list[Any]]) -> list[Any]:
    return [x for row in rows for x in row]
