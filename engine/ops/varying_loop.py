"""The derivative of a loop whose variables change their shapes: `pull_varying_op`.

What such variables held cannot be stacked, so the reverse walk is one op, which goes through the loop and back again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import Batches
from engine.core.errors import ShapeError, UnimplementedError
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of
from engine.ops.control import differentiable, plus
from engine.ops.scan_loop import grown
from engine.subtraces.subtrace import SubTrace, plain


def varying(before: Sequence[Aval], during: Sequence[Aval]) -> bool:
    """Whether a loop variable enters the loop with a dimension that it does not keep."""
    return any(
        a.shape is not None
        and (b.shape is None or any(d is not None and e is None for d, e in zip(a.shape, b.shape, strict=True)))
        for a, b in zip(before, during, strict=True)
    )


def pulled_back_varying(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, operands: Sequence[Any],
    cond: SubTrace, body: SubTrace, count: int,
) -> list[Any]:  # fmt: skip
    """Cotangents of the operands of a `while_op`."""
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    asked = [i for i in differentiable(operands) if wanted[i]]
    fixed = [i for i in asked if i >= count]
    live = grown(set(asked) - set(fixed), lambda s: {r for r in body.reached([*s, *fixed]) if r < count})
    if not live and not fixed:
        return totals
    params = {"live": tuple(live), "fixed": tuple(fixed)}
    found = pull_varying_op(*operands, *[cts[k] for k in live], cond=cond, body=body, count=count, **params)
    for i, ct in zip((*live, *fixed), found, strict=True):
        if wanted[i]:
            totals[i] = plus(previous[i], ct)
    return totals


def _kernel(
    *values: Any, cond: SubTrace, body: SubTrace, count: int, live: Sequence[int], fixed: Sequence[int]
) -> list[Any]:
    operands, cts = values[: len(values) - len(live)], list(values[len(values) - len(live) :])
    state: Sequence[Any] = operands[:count]
    captures = operands[count:]
    states = []
    while cond.run(*state, *captures)[0]:
        states.append(state)
        state = body.run(*state, *captures)
    back = body.pullback([*live, *fixed], live)[0]
    sums = [np.zeros_like(operands[i]) for i in fixed]
    for before in reversed(states):
        found = back.run(*before, *captures, *cts)
        cts = list(found[: len(live)])
        sums = [np.add(total, more) for total, more in zip(sums, found[len(live) :], strict=True)]
    return [*cts, *sums]


def _abstract(
    *values: Aval, cond: SubTrace, body: SubTrace, count: int, live: Sequence[int], fixed: Sequence[int]
) -> tuple[Aval, ...]:
    return tuple([plain(values[i]) for i in (*live, *fixed)])


def _refused(*_: Any, **__: Any) -> Operand:
    raise UnimplementedError(
        "while_loop: where a loop variable changes its shape between iterations, there are first derivatives only, and "
        "no batches; give it one shape, for example by padding"
    )


def _batch(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> Batches:
    raise ShapeError(
        "while_loop: values of a loop variable that changes its shape between iterations must not differ between batch "
        "elements; give it one shape, for example by padding"
    )


_rule: Callable[..., Any] = _refused
pull_varying_op = general(
    "pull_varying_op",
    _kernel,
    _abstract,
    vjp=Together(_rule),
    jvp=PushedTogether(_rule),
    batch=_batch,
    type="WhileGrad",
    args=("*values",),
    multi=True,
    doc="Cotangents of the loop variables `live` and the captures `fixed` of a loop, from those of its last state.",
)
