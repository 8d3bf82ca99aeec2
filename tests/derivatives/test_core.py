"""The core: dispatch, tapes, traces, batches, the two walks."""

from typing import Any

import numpy as np
import pytest

from engine.core import dtypes
from engine.core.aval import Aval
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.dtypes import INEXACT, DType, as_dtype, float32, float64, int32, int64
from engine.core.eager import EagerTensor
from engine.core.kinds import elementwise_abstract, elementwise_rule, general, in_blocks
from engine.core.op import Op
from engine.core.tape import Tape, active, paused
from engine.core.tensor_shape import TensorShape
from engine.core.trace import Symbol, Trace, constant_value
from engine.core.value import Zero
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.ops.arithmetic import add, floor, multiply
from engine.ops.compare import cast
from engine.ops.shape import identity
from engine.ops.trig import sin
from engine.runtime.errors import InvalidArgumentError, OperatorNotAllowedInGraphError, RuleError
from tests.support import array, interpret

F64 = EagerTensor(np.array([1.0, 2.0]))


def tensor(*values: float) -> EagerTensor:
    return EagerTensor(np.array(values))


# ---- dispatch --------------------------------------------------------------------------------------------------------


def test_an_op_on_raw_values_is_its_kernel() -> None:
    out = multiply(np.ones(2), 3.0)
    assert type(out) is np.ndarray


def test_a_kernel_of_several_functions_works_on_large_arrays_in_blocks() -> None:
    sizes: list[int] = []

    def exact(x: Any, y: Any) -> Any:
        sizes.append(x.size)
        return np.exp(x) * np.float32(2) - y

    kernel = in_blocks(exact)
    x = np.random.default_rng(0).normal(size=(3, 50_001)).astype(np.float32)
    assert kernel(x, x[::-1].copy()).tobytes() == (np.exp(x) * np.float32(2) - x[::-1]).tobytes()
    assert max(sizes) < x.size == sum(sizes)
    assert all(np.array_equal(kernel(x, y), exact(x, y)) for y in (x[0, 0], x[:, :1], x[::-1]))


def test_the_most_abstract_operand_decides() -> None:
    trace = Trace()
    symbol = trace.placeholder(Aval((2,), float64))
    with batch_level() as level:
        batch = Batched(np.ones((3, 2)), level)
        assert type(F64 * symbol) is Symbol
        assert type(symbol * F64.numpy()) is Symbol
        assert type(batch * F64) is Batched
        both = batch * symbol
        assert type(both) is Batched and type(both.inner) is Symbol


def test_a_trace_holds_an_eager_value_once() -> None:
    trace = Trace()
    symbol = trace.placeholder(Aval((2,), float64))
    symbol * F64 + F64
    assert [node.op.name for node in trace.nodes] == ["placeholder", "constant", "multiply", "add"]
    assert constant_value(trace.nodes[1].outputs[0]).tolist() == [1.0, 2.0]


def test_symbols_of_two_traces_do_not_mix() -> None:
    one, other = (Trace().placeholder(Aval((2,), float64)) for _ in range(2))
    with pytest.raises(InvalidArgumentError, match="belongs to another graph"):
        one + other


def test_symbols_have_no_truth_value_and_no_array() -> None:
    symbol = Trace().placeholder(Aval((2,), float64))
    with pytest.raises(OperatorNotAllowedInGraphError, match=r"tf\.cond"):
        bool(symbol)
    with pytest.raises(OperatorNotAllowedInGraphError, match=r"tf\.unstack"):
        list(symbol)
    with pytest.raises(NotImplementedError, match="NumPy function was called on it"):
        np.asarray(symbol)


def test_tensors_do_not_change() -> None:
    with pytest.raises(TypeError, match="tensor_scatter_nd_update"):
        F64[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(F64)[0] = 1.0
    copy = F64.numpy()
    copy[0] = 7.0
    assert array(F64)[0] == 1.0


# ---- tapes -----------------------------------------------------------------------------------------------------------


def slope(y: Any, x: Any, tape: Tape) -> Any:
    return reverse(tape.nodes, [(y, np.ones(y.shape))], [x])[0]


def test_a_tape_records_what_depends_on_what_it_watches() -> None:
    tape, x, other = Tape(), tensor(2.0), tensor(3.0)
    tape.watch(x)
    tape.start()
    other * other
    y = x * other
    floor(x)
    tape.stop()
    y * y
    assert [node.op for node in tape.nodes] == [multiply]
    assert slope(y, x, tape).tolist() == [3.0]


def test_pausing() -> None:
    outer, inner = Tape(), Tape()
    outer.start()
    inner.start()
    with paused(inner):
        assert active.tapes == (outer,)
    with paused():
        assert active.tapes == ()
    with pytest.raises(KeyError), paused():
        raise KeyError
    assert active.tapes == (outer, inner)
    outer.stop()
    inner.stop()


def test_a_tape_records_symbols_too() -> None:
    trace, tape = Trace(), Tape()
    x = trace.placeholder(Aval((1,), float64))
    tape.watch(x)
    tape.start()
    y = x * x
    tape.stop()
    dy = reverse(tape.nodes, [(y, trace.capture(np.ones(1)))], [x])
    assert interpret(trace, [(x, np.array([3.0]))], dy)[0].tolist() == [6.0]


def test_sources_and_targets_may_coincide() -> None:
    tape, x = Tape(), tensor(2.0)
    tape.watch(x)
    tape.start()
    y = x * x
    z = y * y
    tape.stop()
    seeds = [(z, np.array([1.0])), (y, np.array([10.0])), (x, np.array([100.0]))]
    assert [g.tolist() for g in reverse(tape.nodes, seeds, [x, y, z])] == [[172.0], [18.0], [1.0]]


def test_stops_count_as_constants() -> None:
    """SEMANTICS.md: gradients(a + 2a, [a, b]) with b = 2a is [1, 1] with stop_gradients=[a, b], else [3, 1]."""
    tape, a = Tape(), tensor(1.0)
    tape.watch(a)
    tape.start()
    b = 2.0 * a
    y = a + b
    tape.stop()
    seeds = [(y, np.ones(1))]
    assert [g.tolist() for g in reverse(tape.nodes, seeds, [a, b])] == [[3.0], [1.0]]
    assert [g.tolist() for g in reverse(tape.nodes, seeds, [a, b], stop=[a, b])] == [[1.0], [1.0]]


# ---- rules -----------------------------------------------------------------------------------------------------------


def identity_with(vjp: Any, jvp: Any) -> Op:
    return general(
        "odd_identity",
        np.positive,
        elementwise_abstract("odd_identity", ("x",), INEXACT, None),
        vjp=(vjp,),
        jvp=(jvp,),
        batch=elementwise_rule,
    )


def derivatives(op: Op, x: EagerTensor) -> tuple[Any, Any]:
    tape = Tape()
    tape.watch(x)
    tape.start()
    y = op(x)
    tape.stop()
    ones = np.ones_like(array(x))
    return reverse(tape.nodes, [(y, ones)], [x])[0], forward(tape.nodes, [(x, ones)], [y])[0]


def test_a_rule_may_answer_zero() -> None:
    zero = Zero(Aval((2,), float64))
    assert repr(zero) == "Zero(float64(2,))"
    op = identity_with(lambda ct, out, x: zero, lambda t, out, x: zero)
    assert derivatives(op, F64) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (lambda ct, out, x: add.kernel(ct, np.ones((2, 1))), r"float64\(2, 2\)"),
        (lambda ct, out, x: cast(ct, float32), r"float32\(2,\)"),
    ],
)
def test_a_wrong_rule_is_named(wrong: Any, got: str) -> None:
    right = lambda ct, out, x: ct  # noqa: E731
    with pytest.raises(
        RuleError, match=rf"vjp rule of odd_identity for operand 0 returned {got}, but .* float64\(2,\)"
    ):
        derivatives(identity_with(wrong, right), F64)
    with pytest.raises(RuleError, match=rf"jvp rule of odd_identity returned {got}, but the output is float64\(2,\)"):
        derivatives(identity_with(right, wrong), F64)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_value_times_itself(dtype: str) -> None:
    """Both factors' derivatives in one product: what two copies give, in all ways and orders."""
    rng = np.random.default_rng(0)
    x, ct = (
        (rng.normal(size=4) + (1j * rng.normal(size=4) if dtype == "complex128" else 0)).astype(dtype) for _ in "12"
    )

    def derivatives(other: Any) -> list[Any]:
        value, tape = EagerTensor(x), Tape()
        tape.watch(value)
        tape.start()
        y = multiply(value, other(value))
        (gradient,) = reverse(list(tape.nodes), [(y, EagerTensor(ct))], [value])
        tape.stop()
        (pushed,) = forward(tape.nodes, [(value, EagerTensor(ct))], [y])
        (second,) = reverse(tape.nodes, [(gradient, EagerTensor(ct))], [value])
        return [np.asarray(d) for d in (gradient, pushed, second)]

    for once, twice in zip(derivatives(lambda v: v), derivatives(identity), strict=True):
        np.testing.assert_allclose(once, twice, rtol=1e-6)


def test_a_large_cotangent_of_a_value_times_itself() -> None:
    """As losses are scaled for half floats: twice the cotangent would be infinite, the gradient is not."""
    x, tape = EagerTensor(np.full(3, 0.125, np.float16)), Tape()
    tape.watch(x)
    tape.start()
    y = multiply(x, x)
    tape.stop()
    (gradient,) = reverse(tape.nodes, [(y, np.full(3, 2.0**15, np.float16))], [x])
    (pushed,) = forward(tape.nodes, [(x, np.full(3, 2.0**15, np.float16))], [y])
    assert np.asarray(gradient).tolist() == np.asarray(pushed).tolist() == [2.0**13] * 3


def test_two_values_of_one_array_are_two() -> None:
    shared = np.array([2.0, 3.0])
    a, b = EagerTensor(shared), EagerTensor(shared)
    tape = Tape()
    tape.watch(a)
    tape.start()
    y = multiply(a, b)
    tape.stop()
    assert slope(y, a, tape).tolist() == [2.0, 3.0]


# ---- long programs ---------------------------------------------------------------------------------------------------


def chain(length: int) -> tuple[Tape, Any, Any]:
    tape, x = Tape(), tensor(1.0)
    tape.watch(x)
    tape.start()
    y = x
    for _ in range(length):
        y = y + 1e-5
    tape.stop()
    return tape, x, y


def test_a_chain_of_100_000_ops() -> None:
    tape, x, y = chain(100_000)
    assert len(tape.nodes) == 100_000
    assert slope(y, x, tape).tolist() == [1.0]
    assert [t.tolist() for t in forward(tape.nodes, [(x, np.ones(1))], [y])] == [[1.0]]


def test_a_long_graph_needs_no_recursion() -> None:
    trace = Trace()
    x = trace.placeholder(Aval((1,), float64))
    y = x
    for _ in range(10_000):
        y = sin(y)
    dx = reverse(trace.nodes, [(y, trace.capture(np.ones(1)))], [x])[0]
    assert isinstance(dx, Symbol)
    # and is let go of without one
    del y, dx, trace, x


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_batches_nest() -> None:
    """An outer product, twice vectorized, of operands whose ranks differ."""
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(2, 3)), rng.normal(size=(4, 5, 3)), rng.normal(size=3)
    with batch_level() as outer:
        a = Batched(x, outer)
        with batch_level() as inner:
            b = Batched(y, inner)
            assert inner > outer
            assert (a.aval.shape, b.aval.shape, a.size, b.size) == ((3,), (5, 3), 2, 4)
            out = sin(a) * b + z
            assert out.level == inner and out.inner.level == outer
            assert out.aval.shape == (5, 3)
            inside = unbatch(out, inner, 4)
        result = unbatch(inside, outer, 2)
    # a gradient rule refers to elements of a batch that may have ended when it is called
    with batch_level() as later:
        assert later > inner
    expected = np.sin(x)[:, None, None, :] * y[None] + z
    np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_a_batch_has_no_array() -> None:
    with batch_level() as level, pytest.raises(TypeError, match="inside a function that is being vectorized"):
        np.sin(np.asarray(Batched(np.ones((3, 2)), level)))


# ---- traces ----------------------------------------------------------------------------------------------------------


def test_known_contents_are_carried_along() -> None:
    """Small integers computed from known ones are known, so that shapes stay known."""
    trace = Trace()
    n = trace.constant(np.array([2, 3], np.int32))
    assert (n * 2 + 1).aval.value == (5, 7)
    assert constant_value(n * 2).tolist() == [4, 6]
    assert constant_value(trace.placeholder(Aval((2,), int32))) is None


def test_a_gradient_of_a_graph_stays_in_the_graph() -> None:
    """Trap: the constant gradient of x + x + x must not come back as an eager value."""
    trace = Trace()
    x = trace.placeholder(Aval((2,), float64))
    y = x + x + x
    dx = reverse(trace.nodes, [(y, trace.capture(np.ones(2)))], [x])[0]
    assert isinstance(dx, Symbol) and dx.trace is trace
    assert interpret(trace, [(x, np.zeros(2))], [dx])[0].tolist() == [3.0, 3.0]


def test_dtypes_by_tensorflows_numbers() -> None:
    assert as_dtype(1) is float32 and DType(9) is int64 and as_dtype(101) is float32
    assert all(as_dtype(d.as_datatype_enum) is d for d in dtypes.ALL)
    for wrong in (0, 99, 201, True):
        with pytest.raises(TypeError, match="not a supported dtype"):
            as_dtype(wrong)
    for kind in (dtypes.bool_, dtypes.string, dtypes.complex64):
        with pytest.raises(TypeError, match="Cannot find maximum"):
            _ = kind.max


def test_shapes_of_unknown_rank_and_order_of_shapes() -> None:
    unknown = TensorShape(None)
    assert unknown[1:3].as_list() == [None, None] and unknown[-2:].rank is None and unknown[3:1].as_list() == []
    with pytest.raises(ValueError, match="must be >= 0"):
        TensorShape([-1])
