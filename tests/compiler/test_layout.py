"""Memory layout: passes keep that of the eager op, because the rounding of sums depends on it."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.compiler.ir.layout import Order, order_of, packed, same_layout, unpacked
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.compiler.program import Program
from engine.core.aval import aval_of_array
from engine.core.eager import EagerTensor
from engine.core.tape import Tape
from engine.core.trace import Trace, needed_nodes
from engine.core.value import Value
from engine.derivatives.reverse import reverse
from engine.ops import joining, rearrange, reduce, shape
from engine.runtime.errors import OpError
from tests.op_table import ROWS
from tests.row import Row
from tests.support import assert_same_bits, noted
from tests.tapes import watching

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


def lowering_of(row: Row, arrays: Sequence[Any], view: str) -> Callable[..., Program]:
    """What makes a program, with these passes, of one trace."""
    trace = Trace()
    given = [trace.placeholder(aval_of_array(a)) for a in arrays]
    found = values_and_sums(row, given, view, lambda: list(trace.nodes), lambda v: trace.operand(seed_of(v)))
    wanted = [trace.operand(v) for v in found]
    nodes = needed_nodes(trace.nodes, wanted, {id(x) for x in given})
    return lambda passes: lower(nodes, [(x, x.aval) for x in given], wanted, passes=passes)[0]


def given_for(row: Row, view: str) -> list[Any]:
    make = VIEWS[view][0]
    return [np.ascontiguousarray(make(a)) if a.ndim else a for a in row.arrays(row.dtypes[-1])]


def tried(view: str) -> list[tuple[Row, list[Any], Callable[..., Program]]]:
    """The rows that can be tried at a view, in a trace with known shapes: what is given, and what makes programs."""
    found = []
    # a third of the rows each without a change of layout, and with strides of either sign
    others = ("contiguous", "reversed", "strided")
    for row in STATIC if view == "transposed" else STATIC[others.index(view) :: len(others)]:
        arrays = given_for(row, view)
        try:
            found.append((row, arrays, lowering_of(row, arrays, view)))
        except (TypeError, ValueError, AttributeError, OpError):
            continue
    return found


def without(*names: str) -> tuple[str, ...]:
    return tuple(p for p in ALL_PASSES if p not in names)


KEPT = without("inplace_concat", "slice_concat")
"""Passes that give what steps of a program give to others as kernels do."""

LESS = [ALL_PASSES, *[without(p) for p in ("noop_elimination", "algebraic_simplification", "constant_folding")]]


@pytest.mark.parametrize("view", VIEWS)
def test_every_op_gives_the_same_bits_on_views_in_all_modes(view: str) -> None:
    """Values, gradients and their sums: on a tape and in programs, with any passes; in the layouts that are known."""
    rows, known = tried(view), 0
    for i, (row, arrays, lowered) in enumerate(rows):
        want = eagerly(row, arrays, view)
        kept = lowered(KEPT)
        others = [LESS[i % len(LESS)]] if view == "transposed" else []
        for program in (lowered(()), kept, *map(lowered, others)):
            with noted(f"{row.id}: {program}"):
                assert_same_bits(program(*arrays), want)
        known += assert_orders(row, kept, arrays)
    assert len(rows) > 0.25 * len(STATIC) and known > 500


def assert_orders(row: Row, program: Program, arrays: Sequence[Any]) -> int:
    """All results lie as the program says; how many of them in C order."""
    values, known = {**dict(zip(program.inputs, arrays, strict=True)), **program.constants}, 0
    for step in program.instructions:
        out = step.op.kernel(*[values[s] for s in step.inputs], **step.params)
        for s, array in zip(step.outputs, out if step.op.multi else (out,), strict=True):
            values[s] = array
            assert order_of(np.asarray(array)) >= program.orders[s], f"{row.id}: {step.op.name}"
            known += program.orders[s] is Order.CONTIGUOUS
    return known


# ---- where values are kept, and what is put in place of others -------------------------------------------------------

X = np.random.default_rng(0).normal(size=(70, 40)).astype(np.float32)


def test_variables_hold_what_is_assigned_in_the_same_order_in_both_modes() -> None:
    want = np.ascontiguousarray(X.T).sum()
    v = tape_api.Variable(np.zeros((40, 70), np.float32))
    v.assign(tape_api.transpose(tape_api.constant(X)))
    assert_same_bits([tape_api.reduce_sum(v).numpy()], [want])
    assert_same_bits([tape_api.reduce_sum(tape_api.Variable(tape_api.transpose(tape_api.constant(X)))).numpy()], [want])
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float32, X.shape)
        w = graph_api.Variable(graph_api.zeros((40, 70)))
        session.run(w.initializer)
        change = w.assign(graph_api.transpose(x))
        with graph_api.control_dependencies([change]):
            at_once = graph_api.reduce_sum(w.read_value())
        assert_same_bits([session.run(at_once, {x: X})], [want])
        assert_same_bits([session.run(graph_api.reduce_sum(w))], [want])


def test_a_branch_gives_a_constant_as_it_lies() -> None:
    """Bodies copy what they give away of their own constants."""
    want = tape_api.reduce_sum(tape_api.transpose(tape_api.constant(X)) * 1.5).numpy()
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder(graph_api.bool, ())
        y = graph_api.cond(p, lambda: graph_api.transpose(graph_api.constant(X)), lambda: graph_api.zeros((40, 70)))
        assert_same_bits([session.run(graph_api.reduce_sum(y * 1.5), {p: True})], [want])


@pytest.mark.parametrize("turn", ["transpose", "slice", "repeat", "nothing"])
def test_replayed_gradients_of_views_are_those_of_the_walk(turn: str) -> None:
    views: dict[str, Callable[[Any], Any]] = {
        "transpose": lambda x: tape_api.transpose(x),
        "slice": lambda x: x[:, ::3],
        "repeat": lambda x: tape_api.broadcast_to(x[:, :1], (70, 40)),
        "nothing": lambda x: x,
    }
    x = views[turn](tape_api.constant(X))
    w = tape_api.constant(X[:1, :1])
    found = []
    for _ in range(6):
        tape, y = watching([x, w], lambda: tape_api.reduce_sum(tape_api.tanh(x * w) * x))
        found.append([g.numpy() for g in tape.gradient(y, [x, w])])
    for each in found[1:]:
        assert_same_bits(each, found[0])


@pytest.mark.parametrize(
    "array", [X, X.T, X[::2, 1::3], X[::-1], np.broadcast_to(X[:, :1], (3, 70, 4)), np.float32(3.0)], ids=str
)
def test_programs_keep_the_strides_of_constants_when_they_are_pickled(array: Any) -> None:
    for other in (same_layout(array), unpacked(pickle.loads(pickle.dumps(packed(array))))):
        np.testing.assert_array_equal(other, array)
        assert other.strides == array.strides
        assert not np.may_share_memory(other, array)


def test_what_is_joined_is_in_c_order() -> None:
    x = EagerTensor(X)
    for y in (joining.concat([shape.transpose(x), shape.transpose(x)], 0), joining.stack([shape.transpose(x)] * 2, 1)):
        assert y._array.flags.c_contiguous


def test_a_product_with_ones_is_as_the_eager_one_lies() -> None:
    ones = np.ones((40, 70), np.float32)

    def f(x: Any) -> Any:
        return reduce.reduce_sum(shape.transpose(x) * ones), shape.transpose(x) * np.float32(1)

    trace = Trace()
    x = trace.placeholder(aval_of_array(X))
    wanted = f(x)
    nodes = needed_nodes(trace.nodes, wanted, {id(x)})
    got = lower(nodes, [(x, x.aval)], wanted)[0](X)
    want = [y._array for y in f(EagerTensor(X))]
    assert_same_bits(got, want)
    assert [g.strides for g in got] == [w.strides for w in want]
