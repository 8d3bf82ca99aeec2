"""Memory layout: passes keep that of the eager op, because the rounding of sums depends on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from engine.aval import aval_of_array
from engine.eager import EagerTensor
from engine.errors import OpError
from engine.ops import rearrange, reduce, shape
from engine.program.layout import Order, order_of
from engine.program.lower import ALL_PASSES, lower, needed_nodes
from engine.program.program import Program
from engine.reverse import reverse
from engine.tape import Tape
from engine.trace import Trace
from engine.value import Value
from tests.op_table import ROWS
from tests.row import Row
from tests.support import assert_same_bits

VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "contiguous": (lambda a: a, lambda x: x),
    "transposed": (lambda a: a.T, lambda x: shape.transpose(x)),
    "reversed": (lambda a: a[..., ::-1], lambda x: rearrange.reverse(x, [-1])),
    "strided": (lambda a: np.repeat(a, 2, axis=-1), lambda x: x[..., ::2]),
}
"""By name: what is given for an array, in C order, and the view of it that is the array."""
STATIC = [row for row in ROWS if row.op.name not in ("custom_call", "closed_call") and not row.op.stateful]


def values_and_sums(
    row: Row, given: Sequence[Any], view: str, nodes: Callable[[], Any], seed: Callable[..., Any]
) -> Any:
    """The values of a row at views of what is given, their gradients, and sums of all these."""
    turn = VIEWS[view][1]
    xs = [turn(x) if len(x.aval.shape) > 0 else x for x in given]
    y = row.apply(*xs)
    found = [v for v in (y if isinstance(y, (tuple, list)) else [y]) if isinstance(v, Value)]
    ends = [v for v in found if v.dtype.is_differentiable]
    if ends and row.order:
        gradients = reverse(nodes(), [(v, seed(v)) for v in ends], [x for x in xs if x.dtype.is_differentiable])
        found += [g for g in gradients if g is not None and not hasattr(g, "indices")]
    for v in [*found]:
        rank = np.ndim(v) if isinstance(v, np.ndarray) else len(getattr(v, "_shape", ()) or ())
        for axes in {(), tuple(range(rank)), (0,)[:rank], (-1,)[:rank]}:
            if axes and getattr(v, "dtype", np.dtype(bool)) not in (np.bool_, "bool"):
                found.append(reduce.reduce_sum_op(v, axis=axes, keepdims=False))
    return found


def seed_of(v: Any) -> Any:
    size = v.aval.size or 0
    return (np.arange(size) % 7 / 3 + 0.1).reshape(v.aval.shape).astype(v.dtype.numpy)


def eagerly(row: Row, arrays: Sequence[Any], view: str) -> list[Any]:
    xs = [EagerTensor(a) for a in arrays]
    tape = Tape()
    for x in xs:
        tape.watch(x)
    tape.start()
    log: list[Any] = []

    def nodes() -> Any:
        tape.stop()
        log.append(True)
        return tape.nodes

    try:
        found = values_and_sums(row, xs, view, nodes, seed_of)
    finally:
        if not log:
            tape.stop()
    return [x._array if isinstance(x, EagerTensor) else x for x in found]


def program_of(row: Row, arrays: Sequence[Any], view: str, passes: Sequence[str]) -> Program:
    trace = Trace()
    given = [trace.placeholder(aval_of_array(a)) for a in arrays]
    found = values_and_sums(row, given, view, lambda: list(trace.nodes), lambda v: trace.operand(seed_of(v)))
    wanted = [trace.operand(v) for v in found]
    nodes = needed_nodes(trace.nodes, wanted, {id(x) for x in given}, lambda node: ())
    return lower(nodes, [(x, x.aval) for x in given], wanted, passes=passes)[0]


def is_tried(row: Row, view: str) -> bool:
    """Whether a row can be tried at a view, in a trace with known shapes."""
    try:
        program_of(row, given_for(row, view), view, ())
    except (TypeError, ValueError, AttributeError, OpError):
        return False
    return True


def given_for(row: Row, view: str) -> list[Any]:
    make = VIEWS[view][0]
    return [np.ascontiguousarray(make(a)) if a.ndim else a for a in row.arrays(row.dtypes[-1])]


PASSES = [(), ALL_PASSES, *[tuple(p for p in ALL_PASSES if p != without) for without in ("simplify", "facts", "fold")]]


@pytest.mark.parametrize("view", VIEWS)
def test_every_op_gives_the_same_bits_on_views_in_all_modes(view: str) -> None:
    """Values, gradients and their sums: on a tape and in programs, with any passes."""
    tried = 0
    for row in STATIC:
        if not is_tried(row, view):
            continue
        arrays = given_for(row, view)
        want = eagerly(row, arrays, view)
        for passes in PASSES:
            got = program_of(row, arrays, view, passes)(*arrays)
            try:
                assert_same_bits(got, want)
            except AssertionError as error:
                raise AssertionError(f"{row.id} with the passes {passes}") from error
        tried += 1
    assert tried > len(STATIC) // 2


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_known_of_the_layout_of_results_is_so(view: str) -> None:
    known = 0
    for row in STATIC:
        if not is_tried(row, view):
            continue
        arrays = given_for(row, view)
        program = program_of(row, arrays, view, tuple(p for p in ALL_PASSES if p not in ("blocks", "pieces", "slices")))
        values = {**dict(zip(program.inputs, arrays, strict=True)), **program.constants}
        for step in program.instructions:
            out = step.op.kernel(*[values[s] for s in step.inputs], **step.params)
            for s, array in zip(step.outputs, out if step.op.multi else (out,), strict=True):
                values[s] = array
                assert order_of(np.asarray(array)) >= program.orders[s], f"{row.id}: {step.op.name}"
                known += program.orders[s] is Order.CONTIGUOUS
    assert known > 1000
