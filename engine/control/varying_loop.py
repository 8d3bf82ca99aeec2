"""The derivative of a loop whose variables change their shapes: `pull_varying_op`.

What such variables held cannot be stacked, so the reverse walk is one op, which goes through the loop and back again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, plain
from engine.control.cond import plus
from engine.control.scan_loop import empty_sum, grown, pulled_steadily
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.kinds import PushedTogether, Together, general
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of, differentiable
from engine.derivatives.strong_zeros import whole_of
from engine.runtime.errors import UnimplementedError


def varying(before: Sequence[Aval], during: Sequence[Aval]) -> bool:
    """Whether a loop variable enters the loop with a dimension that it does not keep."""
    return any(
        a.shape is not None
        and (b.shape is None or any(d is not None and e is None for d, e in zip(a.shape, b.shape, strict=True)))
        for a, b in zip(before, during, strict=True)
    )


def pulled_back_varying(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, operands: Sequence[Any],
    cond: ClosedFunction, body: ClosedFunction, count: int,
) -> list[Any]:  # fmt: skip
    """Cotangents of the operands of a `while_op`."""
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    asked = [i for i in differentiable(operands) if wanted[i]]
    fixed = [i for i in asked if i >= count]
    live = grown(set(asked) - set(fixed), lambda s: {r for r in body.reached([*s, *fixed]) if r < count})
    paths, *_, whole = pulled_steadily(body, live, fixed, live, (), whole_of(cts, live))[1:]
    fixed = [i for i, path in zip(fixed, paths[len(live) :], strict=True) if path]
    if not live and not fixed:
        return totals
    started = tuple([previous[i] is not None for i in fixed])
    sums = [previous[i] for i, there in zip(fixed, started, strict=True) if there]
    params = {"cond": cond, "body": body, "count": count, "live": tuple(live), "fixed": tuple(fixed), "whole": whole}
    cotangents = pull_varying_op(*operands, *[cts[k] for k in live], *sums, **params, started=started)
    for i, ct in zip((*live, *fixed), cotangents, strict=True):
        if wanted[i]:
            totals[i] = ct if i in fixed else plus(previous[i], ct)
    return totals


def _kernel(
    *values: Any, cond: ClosedFunction, body: ClosedFunction, count: int, live: Sequence[int], fixed: Sequence[int],
    started: Sequence[bool], whole: frozenset[int] = frozenset(),
) -> list[Any]:  # fmt: skip
    first = len(values) - len(live) - sum(started)
    operands, cts, given = values[:first], list(values[first : first + len(live)]), iter(values[first + len(live) :])
    state: Sequence[Any] = operands[:count]
    captures = operands[count:]
    states = []
    while cond.run(*state, *captures)[0]:
        states.append(state)
        state = body.run(*state, *captures)
    back = body.pullback([*live, *fixed], live, fixed, whole)[0]
    steps = np.zeros(len(states))
    sums: Sequence[Any] = [
        next(given) if there else empty_sum.kernel(operands[i], steps) for i, there in zip(fixed, started, strict=True)
    ]
    for before in reversed(states):
        results = back.run(*before, *captures, *cts, *sums)
        cts, sums = list(results[: len(live)]), results[len(live) :]
    return [*cts, *sums]


def _abstract(
    *values: Aval, cond: ClosedFunction, body: ClosedFunction, count: int, live: Sequence[int], fixed: Sequence[int],
    started: Sequence[bool], whole: frozenset[int] = frozenset(),
) -> tuple[Aval, ...]:  # fmt: skip
    return tuple([plain(values[i]) for i in (*live, *fixed)])


def _refused(*_: Any, **__: Any) -> Operand:
    raise UnimplementedError(
        "while_loop: where a loop variable changes its shape between iterations, there are first derivatives only, and "
        "no batches; give it one shape, for example by padding"
    )


_rule: Callable[..., Any] = _refused
pull_varying_op = general(
    "pull_varying_op",
    _kernel,
    _abstract,
    vjp=Together(_rule),
    jvp=PushedTogether(_rule),
    batch=refused(
        "where a loop variable changes its shape between iterations, its values cannot be vectorized; give it one "
        "shape, for example by padding"
    ),
    type="WhileGrad",
    args=("*values",),
    multi=True,
    doc="""Cotangents of the loop variables `live` and the captures `fixed` of a loop, from those of its last state.

    Those of the captures are added up step by step, to what there is of the `started` ones already, the last operands.
    """,
)
