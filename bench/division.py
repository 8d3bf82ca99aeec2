"""How much of a later call goes into sweeps, and how much into putting their numbers in place.

A call runs one program that does both. Here each half is lowered alone, from the same plan and by the same functions of
the engine (`engine.jacobian.execution.evaluate`), and timed. What is left of a call is running the function itself and
handling the call and its result: on a tape, recording it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.jacobians import Runner, recorded
from bench.measure import interleaved
from bench.problems import Problem, Values
from bench.problems.problem import Kind
from engine.closed.replay import array_of
from engine.compiler.ir.instruction import size_of
from engine.compiler.program import Program
from engine.core.tape import paused
from engine.core.value import aval_of
from engine.jacobian.execution.evaluate import placed, swept
from engine.jacobian.execution.plan_programs import Mirror
from engine.jacobian.planning.plan import Options, plan_for
from engine.jacobian.second import _gradient, rowwise
from engine.jacobian.structure.path import Path


@dataclass(frozen=True)
class Halves:
    """The parts of a later call besides running the function.

    Attributes
    ----------
    calls : dict
        ``"sweeps"`` and ``"scatter"``, each ready to be timed; no scatter where what the sweeps give is the result.
    flops : float
        Floating-point operations of both.
    """

    calls: dict[str, Runner]
    flops: float

    def shares(self, whole: Runner, seconds: float = 0.2) -> dict[str, float]:
        """Which share of a later call each half is; timed in turn with it, so that all meet the same machine.

        Alone they can take longer than the whole call, whose program is lowered in one: then they share all of it.
        """
        rounds = interleaved({**self.calls, "": whole}, seconds)
        medians = {name: statistics.median(of) for name, of in rounds.items()}
        longer = max(medians[""], sum(medians[name] for name in self.calls))
        return {name: medians[name] / longer for name in self.calls}


def halves(problem: Problem, values: Values) -> Halves:
    """The halves by the plan that ``auto`` makes."""
    return halves_of(*recorded(problem, values), problem.kind, Options(values_only=problem.format == "csr"))


def halves_of(tape: Any, target: Any, sources: Sequence[Any], kind: Kind, options: Options) -> Halves:
    """The halves of a Jacobian, a Hessian or a batch Jacobian of what a tape recorded."""
    path = Path(tape._tape.nodes, sources, [target])
    mirror = Mirror(path)
    with paused():
        swept, given, blocks = _made(mirror, kind, options)
    first = mirror.closed(swept)
    sweeps = first.program
    arrays = [array_of(path.values[slot]) for slot in first.captures]
    if not given:
        return Halves({"sweeps": lambda: sweeps(*arrays)}, _flops(sweeps))
    second = mirror.closed(blocks, given)
    scatter = second.program
    further = [*[array_of(path.values[slot]) for slot in second.captures], *sweeps(*arrays)]
    calls = {"sweeps": lambda: sweeps(*arrays), "scatter": lambda: scatter(*further)}
    return Halves(calls, _flops(sweeps) + _flops(scatter))


def _flops(program: Program) -> float:
    return size_of(program.instructions, program.avals).flops


def _made(mirror: Mirror, kind: Kind, options: Options) -> tuple[list[Any], list[Any], list[Any]]:
    """The results of the sweeps; symbols that stand for them; and the blocks, made of these."""
    if kind == "batch_jacobian":
        return [rowwise(mirror.path, options.mode)], [], []
    second = kind == "hessian"
    path = _gradient(mirror)[2] if second else mirror.path
    plan = plan_for(path, replace(options, symmetric=second))
    results = [list(swept(plan, path, number)) for number in range(len(plan.sweeps))]
    stand_ins = [[mirror.trace.placeholder(aval_of(x)) for x in of] for of in results]
    blocks = placed(plan, path, stand_ins)
    return _flat(results), _flat(stand_ins), [b for b in _flat(blocks) if b is not None]


def _flat(rows: list[list[Any]]) -> list[Any]:
    return [x for row in rows for x in row]
