"""Lowering and programs: passes change no bit and say what they did, errors have a place, programs pickle."""

import itertools
import pickle
import sys
import tracemalloc
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.compiler.ir.layout import Order
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.compiler.program import Program
from engine.core.aval import Aval
from engine.core.dtypes import float32
from engine.core.nest import flatten
from engine.core.trace import Trace, needed_nodes
from engine.core.variable import read_variable
from engine.derivatives.reverse import reverse
from engine.ops import (
    arithmetic,
    compare,
    creation,
    explog,
    gather,
    joining,
    rearrange,
    reduce,
    scatter,
    shape,
    slicing,
    sorting,
)
from engine.ops.linalg import matmul
from engine.ops.nn import leaky_relu
from engine.ops.trig import sin
from engine.runtime import elementary
from engine.runtime.errors import IndexOutOfRangeError
from tests.op_table import NARROW, cases, pure
from tests.processes import printed
from tests.row import Row
from tests.support import assert_same_bits, interpret, noted, placeholders


def lowered(
    f: Callable[..., Any], inputs: Sequence[Any], passes: Collection[str] = ALL_PASSES, order: Order = Order.CONTIGUOUS
) -> Program:
    """The program of a function, for arrays like these, of which so much is known how they lie in memory."""
    trace = Trace()
    given = placeholders(trace, inputs)
    outputs = [trace.operand(o) for o in flatten(f(*given))]
    nodes = needed_nodes(trace.nodes, outputs, {id(x) for x in given})
    program, reads, assigned = lower(
        nodes, [(x, x.aval) for x in given], outputs, orders=[order] * len(given), passes=passes
    )
    assert reads == assigned == []
    return program


def names(program: Program) -> list[str]:
    return [instruction.op.name for instruction in program.instructions]


def numbers(*size: int) -> Any:
    return np.random.default_rng(len(size)).standard_normal(size).astype(np.float32)


# ---- passes ----------------------------------------------------------------------------------------------------------


def much_to_do(x: Any, y: Any) -> Any:
    """Something for each pass."""
    folded = arithmetic.add(creation.ones_like(x), 2.0) * shape.reshape(arithmetic.multiply(x, 0.5), (2, 3))
    twice = arithmetic.multiply(x, y) + arithmetic.multiply(x, y)
    arithmetic.multiply(y, y)
    return [shape.identity(folded) + twice, reduce.reduce_sum(x, axis=-1), joining.split(y, 3, -1)]


FEW = [set(s) for n in range(3) for s in itertools.combinations(ALL_PASSES, n)]
SUBSETS = [tuple(p for p in ALL_PASSES if (p in few) is on) for few in FEW for on in (True, False)]
"""Up to two passes alone, and all but these."""


def test_any_set_of_passes_gives_the_same_bits() -> None:
    inputs = [numbers(2, 3), numbers(2, 3) + 1]
    expected = lowered(much_to_do, inputs, ())(*inputs)
    for passes in SUBSETS:
        with noted(passes):
            program = lowered(much_to_do, inputs, passes)
            assert_same_bits(program(*inputs), expected)
            assert {name.partition("/")[0] for name in program.report} <= set(passes)
            assert all(count > 0 for count in program.report.values())


@cases([c for c in pure(NARROW) if c[0].op is not read_variable])
def test_every_op(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
    expected = [np.asarray(o) for o in flatten(row.apply(*inputs))]
    plain = lowered(row.apply, inputs, ())
    assert_same_bits([np.asarray(o) for o in plain(*inputs)], expected)
    assert_same_bits([np.asarray(o) for o in lowered(row.apply, inputs)(*inputs)], expected)


def test_simplify() -> None:
    x = numbers(2, 3)
    f = lambda x: sin(shape.reshape(shape.identity(shape.broadcast_to(x, (2, 3))), (2, 3)))  # noqa: E731
    program = lowered(f, [x])
    assert names(program) == ["sin"]
    assert program.report["noop_elimination"] == 3
    assert len(names(lowered(f, [x], ("fold", "cse", "prune")))) == 4


def test_fold() -> None:
    x = numbers(2, 3)

    def f(x: Any) -> Any:
        ones = creation.ones_like(x)
        count = arithmetic.multiply(shape.size(x), 2)
        return [ones, count, sin(x.trace.operand(np.float32(2.0))) * x]

    program = lowered(f, [x])
    assert names(program) == ["multiply"]
    assert program.report["constant_folding"] == 4
    ones, count, _ = program(x)
    assert_same_bits([ones, count], [np.ones((2, 3), np.float32), np.int32(12)])
    assert "constant_folding" not in lowered(f, [x], ("common_subexpression_elimination",)).report


def test_large_constants_are_folded_only_from_large_ones() -> None:
    column = np.arange(1 << 10, dtype=np.float32)[:, None]
    row = column.T + 1
    x = np.ones((1 << 10, 1 << 10), np.float32)
    program = lowered(lambda x: (x.trace.operand(column) + row) - x, [x])
    assert names(program) == ["add", "subtract"]
    assert "constant_folding" not in program.report
    # a constant of that size is kept in any case
    program = lowered(lambda x: -x.trace.operand(column + row) - x, [x])
    assert names(program) == ["subtract"]
    assert program.report["constant_folding"] == 1


def test_what_takes_long_to_compute_is_folded_though_it_is_larger() -> None:
    column, row = np.linspace(-1.0, 1.0, 1 << 10)[:, None], np.arange(1 << 9)
    x = np.ones((1 << 10, 1 << 9))
    f = lambda x: explog.pow(x.trace.operand(column), row.astype(float)) * x  # noqa: E731
    program = lowered(f, [x])
    assert names(program) == ["multiply"]
    assert_same_bits(program(x), lowered(f, [x], ())(x))


def test_what_fails_while_folding_fails_when_it_runs() -> None:
    x = np.float32(1.0)
    bad = np.full(100, 9)  # too many for abstract evaluation to look at
    program = lowered(lambda x: gather.gather(x.trace.operand(np.zeros(2, np.float32)), bad) * x, [x])
    with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
        program(x)


def test_cse() -> None:
    x, y = numbers(2), numbers(2)
    f = lambda x, y: [x * y + x * y, y * x, sin(x) + sin(x)]  # noqa: E731
    program = lowered(f, [x, y])
    assert names(program) == ["multiply", "add", "sin", "add"]
    assert program.report["common_subexpression_elimination"] == 3
    plain = lowered(f, [x, y], ("prune",))
    assert len(names(plain)) == 7
    assert_same_bits(program(x, y), plain(x, y))
    # where the operands lie otherwise in memory, so does the result; complex products depend on the order
    assert (
        names(lowered(lambda x, y: [shape.transpose(x) * y, y * shape.transpose(x)], [numbers(3, 3), numbers(3, 3)]))
        == ["transpose_op"] + ["multiply"] * 2
    )
    assert len(names(lowered(lambda x, y: [x * y, y * x], [x + 1j, y + 2j]))) == 2


def test_a_squared_difference_shares_the_difference_with_its_derivatives() -> None:
    """It is what its product spells: the same ops, on the same bits, also of the sign of a zero."""

    def derived(spelled: Callable[..., Any]) -> Program:
        def f(x: Any, y: Any) -> list[Any]:
            z = spelled(x, y)
            return [z, *reverse(list(x.trace.nodes), [(z, creation.ones_like(z))], [x, y])]

        return lowered(f, [x, y])

    x, y = np.array([[1.0, -2.0, 3.0, 0.5]]), np.array([[0.0], [-2.0]])
    whole = derived(arithmetic.squared_difference)
    apart = derived(lambda x, y: arithmetic.square(x - y))
    assert [i.op.name for i in whole.instructions].count("subtract") == 1
    assert sorted({i.op.name for i in whole.instructions}) == sorted({i.op.name for i in apart.instructions})
    for first in (x, np.array([[np.nan, np.inf, -0.0, -2.0]])):
        assert_same_bits(whole.run_generated(first, y), apart.run_generated(first, y))


def test_cse_tells_apart_what_python_takes_for_equal() -> None:
    x = np.float32([-1.0])
    program = lowered(lambda x: [leaky_relu(x, 0.0), leaky_relu(x, -0.0)], [x])
    assert_same_bits(program(x), [np.float32([-0.0]), np.float32([0.0])])
    program = lowered(lambda x: [rearrange.pad(x, [[1, 0]], "CONSTANT", z) for z in (0.0, -0.0)], [x])
    assert_same_bits(program(x), [np.float32([0.0, -1.0]), np.float32([-0.0, -1.0])])
    zeros = lowered(lambda x: [x.trace.operand(np.float32(z)) for z in (0.0, -0.0)], [x])
    assert_same_bits(zeros(x), [np.float32(0.0), np.float32(-0.0)])
    for number in (1, 0):
        # zeros of all dtypes have equal bytes
        kinds = [np.int32(number), np.float32(number), np.uint32(number), np.bool_(number)]
        program = lowered(lambda x, kinds=kinds: [x.trace.operand(v) for v in kinds], [x])
        assert_same_bits(program(x), kinds)


def test_prune() -> None:
    trace = Trace()
    x = trace.placeholder(Aval((2,), float32))
    y = sin(x)
    sin(y) * trace.operand(np.float32([7, 8]))
    for passes, expected in ((ALL_PASSES, ["sin"]), (("constant_folding",), ["sin", "sin", "multiply"])):
        program, _, _ = lower(trace.nodes, [(x, x.aval)], [y], passes=passes)
        assert names(program) == expected
    program, _, _ = lower(trace.nodes, [(x, x.aval)], [y])
    assert program.report == {"dead_code_elimination": 2}
    assert program.constants == {}


# ---- effects ---------------------------------------------------------------------------------------------------------


def test_stateful_ops_are_neither_merged_nor_folded_nor_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    tf.reset_default_graph()
    calls: list[int] = []
    c = tf.constant(2.0)
    a, b = (tf.py_func(lambda: np.float32(calls.append(1) or len(calls)), [], tf.float32) for _ in range(2))
    p, q = (tf.Print(c, [c], "shown ") for _ in range(2))
    checks = [tf.Assert(tf.less(c, 5.0), [c]) for _ in range(2)]
    with tf.Session() as sess:
        for run in range(3):
            assert sess.run([a, b, p, q, *checks])[:4] == [2 * run + 1, 2 * run + 2, 2.0, 2.0]
        (executable,) = sess._executables.own.values()
    assert sorted(names(executable.program)) == ["assert_op"] * 2 + ["print_op"] * 2 + ["python_call"] * 2
    assert len(calls) == 6
    assert capfd.readouterr().err.count("shown [2.0]") == 6


def test_random_ops_differ_from_each_other_and_from_run_to_run() -> None:
    tf.reset_default_graph()
    a, b = tf.random_normal([4]), tf.random_normal([4])
    with tf.Session() as sess:
        draws = [d for _ in range(3) for d in sess.run([a, b])]
    assert len({d.tobytes() for d in draws}) == 6


def test_an_error_does_not_repeat_effects() -> None:
    tf.reset_default_graph()
    calls: list[int] = []
    x = tf.placeholder(tf.float32)
    seen = tf.py_func(lambda a: calls.append(1) or a, [x], tf.float32)
    product = tf.matmul(seen, seen)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=r"float32\(2, 3\)"):
        sess.run(product, {x: np.ones((2, 3))})
    assert len(calls) == 1


# ---- several outputs, arrays as parameters, shapes that depend on data -----------------------------------------------


def multi_output(x: Any) -> Any:
    a, _, c = joining.split(x, 3, -1)
    return [a * c, reduce.reduce_mean(c)]


def held_array(x: Any) -> Any:
    return matmul(x, x.trace.operand((np.arange(201, dtype=np.float32) / 99).reshape(3, 67)))


def data_dependent(x: Any) -> Any:
    kept = slicing.boolean_mask(x, x > 0)
    values, _ = sorting.unique(shape.reshape(x > 0, (-1,)))
    return [reduce.reduce_sum(kept * 2.0), kept, shape.shape(kept), values, scatter.gather_nd(x, compare.where(x < 0))]


FUNCTIONS = [multi_output, held_array, data_dependent]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_passes_on_and_off(function: Callable[..., Any]) -> None:
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)
        program, plain = lowered(function, [x]), lowered(function, [x], ())
        assert_same_bits(program(x), plain(x))
        assert_same_bits(program(-x), plain(-x))
        assert_same_bits(program(x), flatten(function_of_arrays(function, x)))


def function_of_arrays(function: Callable[..., Any], x: Any) -> Any:
    """What the function gives without a program, node by node."""
    trace = Trace()
    (given,) = placeholders(trace, [x])
    return interpret(trace, [(given, x)], flatten(function(given)))


def test_avals_say_what_is_known() -> None:
    program = lowered(data_dependent, [numbers(4, 3)])
    known = [str(program.avals[s]) for s in program.outputs]
    assert known == ["float32()", "float32(?,)", "int32(1,)", "bool(?,)", "float32(?,)"]
    assert "boolean_mask" in str(program)
    assert str(program).startswith("inputs  v0:float32(4, 3)\n")


# ---- pickling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [much_to_do, *FUNCTIONS])
def test_programs_pickle(function: Callable[..., Any]) -> None:
    inputs = [numbers(2, 3), numbers(2, 3) + 1][: 1 + (function is much_to_do)]
    program = lowered(function, inputs)
    expected = program(*inputs)
    again = pickle.loads(pickle.dumps(program))
    assert_same_bits(again(*inputs), expected)
    assert all(a.op is b.op for a, b in zip(program.instructions, again.instructions, strict=True))
    assert all(again.avals[s].dtype is program.avals[s].dtype for s in program.avals)
    assert str(again) == str(program) and again.report == program.report


def test_a_program_runs_in_another_process(tmp_path: Path) -> None:
    x = numbers(4, 3)
    program = lowered(data_dependent, [x])
    (tmp_path / "in").write_bytes(pickle.dumps((program, x)))
    code = (
        "import pathlib, pickle, sys; folder = pathlib.Path(sys.argv[1]); "
        "program, x = pickle.loads((folder / 'in').read_bytes()); "
        "(folder / 'out').write_bytes(pickle.dumps(program(x)))"
    )
    printed("-c", code, tmp_path)
    assert_same_bits(pickle.loads((tmp_path / "out").read_bytes()), program(x))


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_errors_name_the_op_and_the_line_of_the_user() -> None:
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32)
    i = tf.placeholder(tf.int32)
    picked = tf.gather(x * 2.0, i, name="picked")
    line = sys._getframe().f_lineno - 1
    here = rf"\[\[operation 'picked', made at .*test_program.py:{line}\]\]"
    with tf.Session() as sess:
        for feed in ({x: [1.0, 2.0], i: 7}, {x: 1.0, i: 0}):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"gather.*{here}"):
                sess.run(picked + 1.0, feed)
        # the same shapes once more: from the program now, not from lowering
        sess.run(picked, {x: [1.0, 2.0], i: 1})
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"gather.*{here}"):
            sess.run(picked, {x: [1.0, 2.0], i: -1})


def test_errors_of_the_users_own_pass() -> None:
    tf.reset_default_graph()

    class Own(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(a, b)

    def fail(a: Any) -> Any:
        raise Own(1, 2)

    y = tf.py_func(fail, [tf.constant(1.0)], tf.float32)
    with tf.Session() as sess, pytest.raises(tf.errors.UnknownError, match=r"Own: \(1, 2\)"):
        sess.run(y)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_constants_and_arguments_are_not_changed() -> None:
    held, x = np.arange(6, dtype=np.float32).reshape(2, 3), numbers(2, 3)
    before = held.copy(), x.copy()
    for array in (held, x):
        array.flags.writeable = False

    def f(x: Any) -> Any:
        c = x.trace.operand(held)
        return [c * x, sin(c), rearrange.reverse(c, [0]), reduce.reduce_sum(x + c), c, x]

    program = lowered(f, [x])
    first = [np.array(o) for o in program(x)]
    assert_same_bits(program(x), first)
    assert_same_bits([held, x], before)


def test_values_are_freed_after_their_last_use() -> None:
    def chain(x: Any) -> Any:
        for _ in range(20):
            x = sin(x)
        return x

    x = np.zeros(1 << 16)
    program = lowered(chain, [x])
    program(x)
    tracemalloc.start()
    program(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * x.nbytes


def test_outputs_and_unused_inputs() -> None:
    x, y = numbers(2), numbers(2)
    program = lowered(lambda x, y: [x, x, sin(x), x.trace.operand(np.float32([1, 2]))], [x, y])
    a, b, c, d = program(x, y)
    assert a is x and b is x
    assert_same_bits([c, d], [elementary.sin(x), np.float32([1, 2])])
    assert lowered(lambda x: [], [x])(x) == ()


def test_source_is_one_line_per_instruction() -> None:
    program = lowered(much_to_do, [numbers(2, 3)] * 2)
    lines = program.source().splitlines()
    assert len(lines) == len(program.instructions) + 2
    assert lines[0].startswith("def program(v0, v1):") and lines[-1].startswith("    return (")


@pytest.mark.usefixtures("in_python")
def test_names_of_values_that_are_not_needed_any_more_are_used_again() -> None:
    """Frames with a variable for each of a thousand values do not fit where Python keeps frames."""

    def chain(x: Any) -> Any:
        y = x
        for _ in range(600):
            y = sin(y) + x
        return y

    x = numbers(3)
    program = lowered(chain, [x])
    assert_same_bits(program(x), lowered(chain, [x], ())(x))
    assert program._compiled is not None
    assert len(program.instructions) == 1200 and program._compiled[0].__code__.co_nlocals < 5


def test_an_error_names_operands_whose_variables_were_used_before() -> None:
    def wrong(x: Any, i: Any) -> Any:
        y = sin(sin(x))
        return gather.gather(y * y, i)

    program = lowered(wrong, [numbers(3), np.int32([0])])
    with pytest.raises(IndexOutOfRangeError, match="7"):
        program(numbers(3), np.int32([7]))
