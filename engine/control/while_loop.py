"""Loops that go on as long as a condition holds: `while_op`.

The condition and the body are closed functions of the loop variables and of captures. Forward mode is a loop that
carries tangents too. Reverse mode needs the loop variables of all iterations: `while_saving_op` is the loop that keeps
them, and a `scan_op` runs through them backwards (`engine.control.scan_loop.pulled_back`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build, with_fixed
from engine.control.checkpoints import limited
from engine.control.cond import check_predicate
from engine.control.loop_kernels import iterated, no_rows, stacked
from engine.control.scan_loop import (
    PushedLoop,
    Saving,
    batch_aval,
    carried_flags,
    column,
    materialized,
    order_of_sums,
    pulled_back,
    pushed_loop,
    saving,
    steady,
    swapped,
    unsaved,
)
from engine.control.sparsity import repeated
from engine.control.unrolling import Call, iterations, unrolled_while
from engine.control.varying_loop import pulled_back_varying, varying
from engine.core.aval import Aval
from engine.core.batching import Batched, Batches, NotBatched, batch_level, unbatch
from engine.core.dtypes import int64
from engine.core.kinds import PushedTogether, Together, general
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import Zero, aval_of
from engine.ops.compare import select
from engine.ops.joining import stack_op
from engine.ops.reduce import reduce_any
from engine.runtime.errors import ShapeError, UnimplementedError


def _steady(
    operands: Sequence[Aval], cond: ClosedFunction, body: ClosedFunction, count: int
) -> tuple[list[Aval], tuple[Aval, ...]]:
    state, results = steady(body, operands[:count], operands[count:])
    check_predicate("while_loop", "cond", cond.result_avals([*state, *operands[count:]])[0])
    return state, results


def _while_vjp(
    wanted: Sequence[bool],
    previous: Sequence[Any],
    cts: Any,
    outs: Any,
    *operands: Any,
    cond: ClosedFunction,
    body: ClosedFunction,
    count: int,
    max_bytes: int | None = None,
) -> list[Any]:
    before = [aval_of(x) for x in operands[:count]]
    if varying(before, steady(body, before, [aval_of(x) for x in operands[count:]])[0]):
        if max_bytes is not None:
            raise UnimplementedError(
                "while_loop: where a loop variable changes its shape between iterations there is no `max_bytes`; give "
                "it one shape, for example by padding"
            )
        return pulled_back_varying(wanted, previous, cts, operands, cond, body, count)

    def history(needed: Sequence[int]) -> tuple[Any, Sequence[Any]]:
        return _saved(operands, cond, body, count, needed)

    steps = iterations(cond, body, count, [aval_of(x) for x in operands], _MOST_COUNTED)
    return pulled_back(body, count, 0, wanted, previous, cts, operands, history, steps=steps, max_bytes=max_bytes)


_MOST_COUNTED = 512
"""Iterations up to which they are counted beforehand, which takes some 20 us for each."""


def _saved(
    operands: Sequence[Any], cond: ClosedFunction, body: ClosedFunction, count: int, needed: Sequence[int]
) -> tuple[Any, Sequence[Any]]:
    """The numbers of the iterations, and the carries and values of all that are `needed`, in that order."""
    carries, values = [k for k in needed if k < count], [k for k in needed if k >= count]
    whole = saving(body, count, values) if values else body
    results = while_saving_op(*operands, cond=cond, body=whole, count=count, saved=tuple(carries))
    first = len(whole.results) + 1
    return results[count], [*results[first:], *(results[count + 1 : first] if values else ())]


def _together(body: ClosedFunction, count: int, saved: Sequence[int]) -> ClosedFunction:
    """A body that gives saved carries behind all its results."""
    return saving(body, count, saved, len(body.results) > count)


def _saving_kernel(
    *operands: Any, cond: ClosedFunction, body: ClosedFunction, count: int, saved: Sequence[int]
) -> list[Operand]:
    whole = _together(body, count, saved)
    last, done, pieces = iterated(operands, cond, whole, count)
    if not all(pieces):
        return [*last, np.arange(done, dtype=np.int64), *no_rows(operands[:count], (), operands[count:], whole, count)]
    columns = [
        stacked(piece, f"while_loop: loop variable {k}")
        for k, piece in zip((*range(count, len(body.results)), *saved), pieces, strict=True)
    ]
    return [*last, np.arange(done, dtype=np.int64), *columns]


def _saving_abstract(
    *operands: Aval, cond: ClosedFunction, body: ClosedFunction, count: int, saved: Sequence[int]
) -> tuple[Aval, ...]:
    state, results = _steady(operands, cond, body, count)
    steps = iterations(cond, body, count, operands, _MOST_COUNTED)
    return (*state, Aval((steps,), int64), *[column(steps, x) for x in (*results[count:], *[state[k] for k in saved])])


def _saving_vjp(
    wanted: Sequence[bool],
    previous: Sequence[Any],
    cts: Any,
    outs: Any,
    *operands: Any,
    cond: ClosedFunction,
    body: ClosedFunction,
    count: int,
    saved: Sequence[int],
) -> list[Any]:
    first = len(body.results) + 1
    # which carry or value each of the columns behind the numbers is; None: neither
    values = body.saved if isinstance(body, Saving) else ()
    others = [None] * (first - 1 - count - len(values))
    known = dict(zip([*others, *values, *saved], outs[count + 1 :], strict=True))

    def history(needed: Sequence[int]) -> tuple[Any, Sequence[Any]]:
        if set(needed) <= set(known):
            return outs[count], [known[k] for k in needed]
        return _saved(operands, cond, unsaved(body), count, needed)

    whole = _together(body, count, saved)
    given = [*cts[:count], *cts[count + 1 :]]
    steps = iterations(cond, body, count, [aval_of(x) for x in operands], _MOST_COUNTED)
    return pulled_back(whole, count, 0, wanted, previous, given, operands, history, steps=steps)


def _while_jvp(
    tangents: Sequence[Any],
    outs: Any,
    *operands: Any,
    cond: ClosedFunction,
    body: ClosedFunction,
    count: int,
    max_bytes: int | None = None,
) -> list[Any]:
    push = pushed_loop(body, count, 0, tangents, operands)
    params = {"cond": _widened(cond, push, count), "body": push.body, "count": count + len(push.live)}
    results = while_op(*push.operands, **params, **limited("while_loop", max_bytes))
    return _placed(outs, push.live, results[count:])


def _saving_jvp(
    tangents: Sequence[Any],
    outs: Any,
    *operands: Any,
    cond: ClosedFunction,
    body: ClosedFunction,
    count: int,
    saved: Sequence[int],
) -> list[Any]:
    push = pushed_loop(body, count, 0, tangents, operands)
    kept = [k for k in saved if k in push.live]
    both = tuple([count + push.live.index(k) for k in kept])
    total = count + len(push.live)
    results = while_saving_op(*push.operands, cond=_widened(cond, push, count), body=push.body, count=total, saved=both)
    first = len(body.results) + 1
    where = [*push.live, *[r + 1 for r in push.rows], *[first + saved.index(k) for k in kept]]
    return _placed(outs, where, [*results[count:total], *results[total + 1 :]])


def _placed(outs: Sequence[Any], where: Sequence[int], tangents: Sequence[Any]) -> list[Any]:
    results: list[Any] = [Zero(aval_of(x)) for x in outs]
    for i, t in zip(where, tangents, strict=True):
        results[i] = t
    return results


def _widened(cond: ClosedFunction, push: PushedLoop, count: int) -> ClosedFunction:
    """The condition of a loop that carries tangents too, which it does not look at."""
    own, live = len(cond.parameters), len(push.live)

    def function(body: Any, values: Sequence[Any]) -> list[Any]:
        return cond.inline(body, [*values[:count], *values[count + live : own + live]])

    key = ("widened", live, len(push.summed))
    return cond.derived(key, lambda: build([p.aval for p in push.body.parameters], function))


def _while_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    cond, body, count = params["cond"], params["body"], params["count"]
    rest = [aval_of(x) for x in inputs[count:]]
    carried, avals, found = carried_flags(body, flags, inputs, rest, count, size)
    every = [*carried, *flags[count:]]
    test, (differs,) = cond.batched(every, avals, size)
    if not differs:
        inner = body.batched(every, avals, size, [*carried, *found[count:]])[0]
    elif "saved" in params:
        raise ShapeError(
            "while_loop: the number of iterations must not differ between batch elements if it is differentiated"
        )
    else:
        carried = [True] * count
        every = [*carried, *flags[count:]]
        avals = [*[batch_aval(x, f, True, size) for x, f in zip(inputs[:count], flags, strict=False)], *rest]
        test = build(avals, lambda _, values: [reduce_any(_masked(cond, values, every, size)[0])])
        inner = build(avals, lambda _, values: _masked_body(cond, body, values, every, size))
    outs = op(*materialized(inputs, flags, carried, size), *inputs[count:], **{**params, "cond": test, "body": inner})
    kept = [*found[count:], *[carried[k] for k in params.get("saved", ())]]
    outs = [*outs[: count + 1], *[swapped(op, o) if f else o for o, f in zip(outs[count + 1 :], kept, strict=True)]]
    return [o if f else NotBatched(o) for o, f in zip(outs, [*carried, False, *kept], strict=False)]


def _masked(trace: ClosedFunction, values: Sequence[Any], flags: Sequence[bool], size: int) -> list[Any]:
    """Its results with the batch axis in front."""
    with batch_level() as level:
        return [
            unbatch(r, level, size)
            for r in trace.inline(
                None, [Batched(x, level, size) if f else x for x, f in zip(values, flags, strict=True)]
            )
        ]


def _masked_body(
    cond: ClosedFunction, body: ClosedFunction, values: Sequence[Any], flags: Sequence[bool], size: int
) -> list[Any]:
    """A step for the elements of the batch whose condition holds; the others stay as they are."""
    with batch_level() as level:
        batch = [Batched(x, level, size) if f else x for x, f in zip(values, flags, strict=True)]
        (goes_on,) = cond.inline(None, batch)
        pairs = zip(body.inline(None, batch), batch, strict=False)
        return [unbatch(select(goes_on, new, old), level, size) for new, old in pairs]


def _while_unroll(call: Call, operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any] | None:
    cond, body, count = params["cond"], params["body"], params["count"]
    if "saved" not in params:
        found = unrolled_while(call, operands, cond, body, count)
        return None if found is None else found[0]
    found = unrolled_while(call, operands, cond, _together(body, count, params["saved"]), count)
    if found is None:
        return None
    last, steps, columns = found
    return [*last, np.arange(steps, dtype=np.int64), *[stack_op(*column, axis=0) for column in columns]]


def _while_merge(first: tuple[Op, dict[str, Any]], second: tuple[Op, dict[str, Any]]) -> tuple[Any, ...] | None:
    """One loop for a loop and the one that its gradient needs, which saves loop variables."""
    (_, a), (_, b) = first, second
    count, bodies = a["count"], (a["body"], b["body"])
    body = unsaved(bodies[0])
    if a["cond"] is not b["cond"] or unsaved(bodies[1]) is not body or b["count"] != count:
        return None
    values = sorted({k for each in bodies if isinstance(each, Saving) for k in each.saved})
    # what one of them says besides carries and values of it the other need not
    whole = len(body.results) > count and any(getattr(each, "whole", True) for each in bodies)
    both = saving(body, count, values, whole)
    saved = tuple(sorted({*a.get("saved", ()), *b.get("saved", ())}))
    places = [
        [
            *range(count),
            *([count] if "saved" in each else ()),
            *[1 + k for k in both.places(each["body"])[count:]],
            *[len(both.results) + 1 + saved.index(k) for k in each.get("saved", ())],
        ]
        for each in (a, b)
    ]
    params = {"cond": a["cond"], "body": both if values else body, "count": count, "saved": saved}
    return while_saving_op, params, *places


_FACTS: dict[str, Any] = {
    "batch": _while_batch,
    "fix": lambda inputs, arrays, params: with_fixed(inputs, arrays, params, ("cond", "body"), params["count"], 0),
    "unroll": _while_unroll,
    "merge": _while_merge,
    "type": "While",
    "args": ("*operands",),
    "multi": True,
}
while_op = general(
    "while_op",
    lambda *operands, cond, body, count, max_bytes=None: iterated(operands, cond, body, count)[0],
    lambda *operands, cond, body, count, max_bytes=None: tuple(_steady(operands, cond, body, count)[0]),
    vjp=Together(_while_vjp, order_of_sums),
    jvp=PushedTogether(_while_jvp),
    sparsity=repeated,
    **_FACTS,
    doc="Calls the closed function `body` on `count` loop variables as long as the closed function `cond` holds.",
)
while_saving_op = general(
    "while_saving_op",
    _saving_kernel,
    _saving_abstract,
    vjp=Together(_saving_vjp, order_of_sums),
    jvp=PushedTogether(_saving_jvp),
    sparsity=repeated,
    **_FACTS,
    doc="""`while_op` that also gives the numbers of its iterations, and a row of each for more than the loop variables.

    These are the further results of `body`, and the `saved` loop variables as they were at the iteration's start.
    """,
)
