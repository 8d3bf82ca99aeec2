"""The native executor: the same bits as kernels one after the other, for every op and for random programs."""

import contextlib
import functools
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine import executor
from engine.compiler import program as program_module
from engine.compiler.ir.layout import Order
from engine.compiler.passes.inplace_concat import alloc
from engine.compiler.program import Program
from engine.core.dtypes import int64
from engine.core.structural import scale
from engine.core.variable import read_variable
from engine.derivatives.reverse import reverse
from engine.executor import encoding, loops, refs, staged
from engine.executor.encoding import table_of
from engine.executor.hidden import Hidden, Opaque
from engine.executor.recorder import Recorder
from engine.ops import creation, explog, joining, linalg, nn, rearrange, reduce, scan, shape
from engine.ops.arithmetic import divide_no_nan, floor, reciprocal, round, square
from engine.ops.compare import cast, keep_chosen
from engine.ops.gather import gather, gather_back_op
from engine.ops.solve import solve, triangular_solve
from engine.ops.trig import tanh
from engine.runtime import elementary
from engine.runtime.errors import ShapeError
from tests.compiler.test_program import lowered
from tests.compiler.test_same_numbers import assert_same
from tests.compiler.test_same_numbers import program as random_program
from tests.op_table import CASES, cases, one_dtype, pure
from tests.processes import ran
from tests.row import Row
from tests.support import assert_same_bits, noted

pytestmark = [
    pytest.mark.skipif(not executor.status().active, reason=str(executor.status())),
    # kernels that a table calls here are called from this module
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def natively(program: Program, inputs: Sequence[Any]) -> Any:
    """The table of a program, made by observing a run with these arguments."""
    program(*inputs)
    # where there is a NaN, the table is made after a few runs only, with choices
    for _ in range(1 + staged._MOST_RESUMED):
        assert_same_bits(program(*inputs), program.run_generated(*inputs))
        if type(program.native).__name__ == "Table":
            break
    assert type(program.native).__name__ == "Table"
    return program.native


def other(x: Any) -> Any:
    """Other numbers of the same form, with special ones among them."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc" or not x.size:
        return x
    changed = x[..., ::-1].copy() if x.ndim else x * x.dtype.type(0.5)
    if changed.size > 3:
        changed.flat[:: changed.size // 3] = [np.inf, np.nan, -0.0, 0.0][: len(changed.flat[:: changed.size // 3])]
    return changed


def strides(x: Any) -> Any:
    """Strides, of axes along which there is anything to tell apart."""
    x = np.asarray(x)
    return [step for step, d in zip(x.strides, x.shape, strict=True) if d > 1] if x.size else []


@cases([c for c in pure(CASES) if c[0].op is not read_variable])
def test_every_op(row: Row, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "strict", True)
    inputs = row.arrays(dtype)
    # what passes leave is other loops, in each dtype
    programs = [lowered(row.apply, inputs), *([lowered(row.apply, inputs, ())] if dtype == one_dtype(row) else [])]
    for program in programs:
        with noted(program):
            assert_native_agrees(program, inputs)


def assert_native_agrees(program: Program, inputs: Sequence[Any]) -> None:
    table = natively(program, inputs) if program.instructions else None
    for given in (inputs, [other(x) for x in inputs]) if table else ():
        try:
            expected = program.run_generated(*given)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised natively too
            with pytest.raises(ValueError if isinstance(error, ShapeError) else type(error)):  # found early or late
                table(*given)
            continue
        results = table(*given)
        assert [type(r) for r in results] == [type(e) for e in expected]
        assert_same_bits([np.asarray(o) for o in results], [np.asarray(o) for o in expected])
        assert [strides(r) for r in results] == [strides(e) for e in expected]


# ---- what rows do ----------------------------------------------------------------------------------------------------


def by_rows(f: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """What a function of arrays gives when it is observed and run as rows."""
    recorder = Recorder()
    given = []
    for i, a in enumerate(arrays):
        root = recorder.root("argument", a, i)
        recorder.recording.arguments.append(root)
        given.append(recorder.whole(root, a))
    recorder.recording.results = [f(*given).ref]
    host = (unexpected, unexpected, unexpected, lambda: False)
    (result,) = table_of(recorder.recording, [], [], host)(*arrays)
    return result


def unexpected(*_: Any) -> Any:
    raise AssertionError("the table did not run by itself")


def laid_out(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array in some layout: axes in any order, perhaps with gaps."""
    order = rng.permutation(len(shape))
    gaps = rng.integers(1, 3, len(shape))
    whole = rng.normal(size=[shape[k] * g for k, g in zip(order, gaps, strict=True)]).astype(dtype)
    return whole[tuple([slice(None, None, g) for g in gaps])].transpose(np.argsort(order))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum], ids=lambda u: u.__name__)
def test_extrema_of_numbers_and_one_number(ufunc: np.ufunc, dtype: str) -> None:
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5], dtype)
    x = np.resize(special, (6, 7, 9))
    for number, data in itertools.product(special, (x, x.T, x[::2, 1:, ::3], x[0, 0, :1], x[:, :1])):
        assert_same_bits(by_rows(lambda a, n=number: ufunc(a, n), data), ufunc(data, number))
        assert_same_bits(by_rows(lambda a, n=number: ufunc(n, a), data), ufunc(number, data))
    assert loops.replaced((ufunc, 0), [refs.constant_ref(a) for a in (x, special[:1])]) != (ufunc, 0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum], ids=lambda u: u.__name__)
def test_reductions_add_up_in_numpys_order(ufunc: np.ufunc, dtype: str) -> None:
    rng = np.random.default_rng(1)
    done = 0
    for _ in range(120):
        shape = tuple(rng.choice([1, 2, 3, 5, 9, 17, 40, 130], rng.integers(1, 5)).tolist())
        if math.prod(shape) > 1 << 15:
            continue
        x = laid_out(rng, shape, dtype)
        axes = tuple(np.flatnonzero(rng.integers(0, 2, len(shape))).tolist())
        f = functools.partial(ufunc.reduce, axis=axes, keepdims=bool(rng.integers(2)))
        try:
            found = by_rows(f, x)
        except Opaque:
            continue
        assert_same_bits([found], [f(x)])
        done += 1
    assert done > 60


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("product", [np.matmul, lambda a, b: a.dot(b)], ids=["matmul", "dot"])
def test_products_are_those_of_numpy(product: Callable[..., Any], dtype: str) -> None:
    rng = np.random.default_rng(2)
    done = 0
    for n, k, m in itertools.product((1, 2, 4, 7, 33), repeat=3):
        lead = tuple(rng.integers(1, 4, rng.integers(0, 3)).tolist()) if product is np.matmul else ()
        a, b = laid_out(rng, (*lead, n, k), dtype), laid_out(rng, (*lead[1:], k, m), dtype)
        for left, right in ((a, b), (np.ascontiguousarray(a), np.asfortranarray(b)), (a[..., 0, :], b)):
            try:
                found = by_rows(product, left, right)
            except (Opaque, ValueError):
                continue
            assert_same_bits([found], [product(left, right)])
            done += 1
    assert done > 80


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_few_elements_at_a_time_become_many(dtype: str) -> None:
    """A bias is repeated before it is added to many rows; short rows are added up, and spread, in one call."""
    rng = np.random.default_rng(12)
    for sides in ((700, 3), (80, 9, 2), (9, 5, 16), (2, 301, 8), (4, 2, 3, 7), (1025, 2), (40, 100)):
        x, bias = (rng.normal(size=s).astype(dtype) for s in (sides, sides[-1:]))
        given = [x, bias, x.sum(-2, keepdims=True, dtype=dtype)]

        def f(x: Any, bias: Any, row: Any) -> Any:
            return [x + bias, bias - x, x * row, reduce.reduce_sum(x * bias, axis=-2), row + 0 * x]

        program = lowered(f, given, ())
        table = natively(program, given)
        assert_same_bits(table(*given), program.run_generated(*given))
        _, recording = staged.observed(program, given, program_module.located)
        assert any(str(step.loop[0]).startswith("copies_") for step in recording.steps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 14, 15, 31, 33, 64, 255, 256])
def test_rows_side_by_side(count: int, dtype: str) -> None:
    """Chains of small ops: any number of elements, operands that are single numbers, slices, special numbers."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0, 1e-40, 3e38], dtype)
    rng = np.random.default_rng(count)
    x, y = (np.where(rng.uniform(size=count) < 0.4, rng.choice(special, count), rng.normal(size=count)) for _ in "xy")
    given = [x.astype(dtype), y.astype(dtype), rng.choice(special, ())]

    def f(x: Any, y: Any, c: Any) -> Any:
        z, half = x * y, count // 2
        many = [x + y, z - c, c - x, c * z, x / y, c / y, y / c, -z, square(z), reciprocal(y)]
        checked = [scale(x, y), scale(c, y), scale(x, c), keep_chosen(z, y, fixed=True), keep_chosen(z, c, fixed=True)]
        return [*many, *checked, joining.concat([z[half:] + x[half:], z[:half] * c], 0) - y]

    program = lowered(f, given, ())
    table = natively(program, given)
    assert_same_bits(table(*given), program.run_generated(*given))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: nn.sigmoid(reduce.reduce_sum(x)),
        lambda x: reduce.add_n([x[0, 0], x[1, 1], x[0, 1]]),
        lambda x: explog.exp(x)[1:, ::2] * 2.0,
        lambda x: explog.exp(x)[:, 1] * 2.0,
        lambda x: rearrange.roll(rearrange.roll(x * x, [1, -2], [0, 1]), 0, 1) * x,
        lambda x: explog.pow(x, 0.5),
        lambda x: divide_no_nan(x, floor(x)),
        lambda x: rearrange.pad(x, [[1, 0], [0, 2]], constant_values=-1.5) * 2.0,
        lambda x: linalg.cross(x[:, 1:], x[:, :3]),
        lambda x: scan.cumprod(x, 0, exclusive=True) + scan.cumsum(x, 0, exclusive=True, reverse=True),
        lambda x: scan.cumprod(round(x), 1, reverse=True),
    ],
    ids=str.split("sigmoid add_n part column roll root quotient pad cross steps doubling"),
)
def test_nothing_is_called_of(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(8).normal(size=(3, 4))
    program = lowered(lambda x: derived(f, [x]), [x])
    program(x)
    _, recording = staged.observed(program, [x], program_module.located)
    assert all(isinstance(step, refs.Row) for step in recording.steps)
    table, special = natively(program, [x]), np.r_[np.inf, -np.inf, np.nan, -0.0, 0.0, x.flat[5:]].reshape(x.shape)
    for given in (x, special):
        assert_same_bits(table(given), program.run_generated(given))


# ---- whole programs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs(first: int) -> None:
    check_random_programs(first)


def check_random_programs(first: int) -> None:
    """Twenty programs and their gradients give the same by their tables as in Python."""
    for seed in range(first, first + 20):
        f, inputs = random_program(seed)
        program = lowered(lambda *xs, f=f: derived(f, xs), inputs)
        if not program.instructions:
            continue
        table = natively(program, inputs)
        for given in (inputs, [other(x) for x in inputs]):
            assert_same(table(*given), program.run_generated(*given), f"program {seed}")


def derived(f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
    """A function of symbols, and its gradients."""
    out = f(*xs)
    found = reverse(list(xs[0].trace.nodes), [(out, creation.ones_like(out))], xs)
    return [out, *[g for g in found if g is not None]]


def network(x: Any, w: Any) -> Any:
    h = tanh(linalg.matmul(x, w)) + x
    return [reduce.reduce_sum(h * h, axis=0), shape.transpose(h, (1, 0)), h]


def test_arguments_that_lie_otherwise() -> None:
    rng = np.random.default_rng(3)
    program = lowered(network, [rng.normal(size=(6, 6))] * 2, order=Order.UNKNOWN)
    for a, b in itertools.product(range(3), repeat=2):
        x, w = rng.normal(size=(2, 6, 6))
        given = [[x, x.T, rng.normal(size=(6, 12))[:, ::2]][a], [w, w.T, np.asfortranarray(w)][b]]
        for _ in range(3):
            results, expected = program(*given), program.run_generated(*given)
            assert_same_bits(results, expected)
            assert [strides(r) for r in results] == [strides(e) for e in expected]


def test_arguments_of_two_forms_in_turn_stay_native(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(2, 6, 6))
    program = lowered(network, [x, w], order=Order.UNKNOWN)
    given = [(x, w), (x.T, w), (x.T, np.asfortranarray(w))]
    expected = [program.run_generated(*arguments) for arguments in given]
    for arguments in (given[0], *given):
        program(*arguments)
    monkeypatch.setattr(Program, "run_generated", unexpected)
    for _ in range(10):
        for arguments, results in zip(given, expected, strict=True):
            assert_same_bits(program(*arguments), results)


def test_bodies_are_observed_on_arrays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    real = staged.observed

    def noting(program: Any, arguments: Any, *how: Any) -> Any:
        given.extend(arguments)
        return real(program, arguments, *how)

    monkeypatch.setattr(staged, "observed", noting)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, (3,))
        y = tf.while_loop(lambda h: tf.reduce_sum(h) < 50.0, lambda h: [h * 1.5 + 1.0], [tf.exp(x)])
        for _ in range(4):
            session.run(y, {x: np.ones(3)})
    assert given and not any(isinstance(x, Hidden) for x in given)


def test_results_are_nobody_elses() -> None:
    rng = np.random.default_rng(4)
    inputs = [rng.normal(size=(6, 6)) for _ in range(2)]
    table = natively(lowered(network, inputs), inputs)
    first = table(*inputs)
    kept = [np.array(r) for r in first]
    second = table(*[x + 1 for x in inputs])
    assert_same_bits(first, kept)
    assert not any(np.shares_memory(a, b) for a in first for b in (*second, *inputs))


def test_a_list_of_results_says_that_they_are_the_callers_alone() -> None:
    x, w = np.random.default_rng(4).normal(size=(2, 6, 6))
    alone = lowered(lambda x, w: [tanh(x), reduce.reduce_sum(x * w), linalg.matmul(x, w)], [x, w])
    assert type(natively(alone, [x, w])(x, w)) is list
    constant = np.ones((6, 6))
    lent: list[Callable[..., Any]] = [
        lambda x, w: [x, tanh(w)],  # an argument
        lambda x, w: [shape.reshape(x, (36,)), tanh(w)],  # its memory
        lambda x, w: [tanh(x), shape.transpose(tanh(x), (1, 0))],  # memory of two results
        lambda x, w: [x.trace.operand(constant), tanh(w)],  # a constant
    ]
    for f in lent:
        program = lowered(f, [x, w], ())
        assert type(natively(program, [x, w])(x, w)) is tuple


def test_values_of_megabytes() -> None:
    def loss(x: Any, w: Any) -> list[Any]:
        h = tanh(linalg.matmul(x, w))
        return [reduce.reduce_sum(h * h, axis=0), explog.exp(h[:10]) + 1.0]

    rng = np.random.default_rng(7)
    inputs = [rng.normal(size=(900, 300)), rng.normal(size=(300, 500)) / 20]
    program = lowered(lambda *xs: derived_of_all(loss, xs), inputs)
    table = natively(program, inputs)
    for given in (inputs, [x[::-1].copy() for x in inputs]):
        assert_same_bits(table(*given), program.run_generated(*given))


def derived_of_all(f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
    """Several results of symbols, and the gradients of their sum."""
    outs = f(*xs)
    found = reverse(list(xs[0].trace.nodes), [(out, creation.ones_like(out)) for out in outs], xs)
    return [*outs, *[g for g in found if g is not None]]


def test_threads_run_one_table() -> None:
    rng = np.random.default_rng(5)
    inputs = [rng.normal(size=(40, 40)) for _ in range(2)]
    program = lowered(network, inputs)
    table = natively(program, inputs)
    wrong: list[int] = []

    def work(seed: int) -> None:
        own = np.random.default_rng(seed)
        given = [own.normal(size=(40, 40)) for _ in range(2)]
        expected = program.run_generated(*given)
        runs = [table(*given) for _ in range(200)]
        wrong.extend(seed for run in runs if not all(map(np.array_equal, run, expected)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_name_the_op_and_its_place() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, i = tf.placeholder(tf.float64, (3,)), tf.placeholder(tf.int32, (2,))
        y = tf.gather(tf.sin(x) * 2.0, i, name="picked") + 1.0
        for _ in range(4):
            session.run(y, {x: np.ones(3), i: [0, 2]})
        with pytest.raises(Exception, match=r"7.*'picked', made at .*test_native.py"):
            session.run(y, {x: np.ones(3), i: [0, 7]})
        np.testing.assert_array_equal(session.run(y, {x: np.ones(3), i: [0, 2]}), elementary.sin(np.ones(2)) * 2 + 1)


def test_a_call_whose_result_lies_otherwise_than_before() -> None:
    turned = itertools.cycle([False, False, False, True])
    calls = []

    def function(a: Any) -> Any:
        calls.append(a)
        return np.asfortranarray(a * 2) if next(turned) else a * 2

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, (4, 5))
        y = tf.py_func(function, [tf.cos(x) + 1.0], tf.float64)
        y.set_shape((4, 5))
        z = tf.reduce_sum(tf.sin(y) + tf.cos(x), axis=1)
        for k in range(40):
            value = np.random.default_rng(k).normal(size=(4, 5))
            given = elementary.cos(value) + 1.0
            inner = np.asfortranarray(given * 2) if k % 4 == 3 else given * 2
            assert_same_bits(
                [session.run(z, {x: value})], [np.add.reduce(elementary.sin(inner) + elementary.cos(value), axis=1)]
            )
    # it is called once a run, and may keep what it is given
    assert len(calls) == 40
    np.testing.assert_array_equal(calls[20], elementary.cos(np.random.default_rng(20).normal(size=(4, 5))) + 1.0)


def test_a_result_of_another_size_in_each_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ids, x = tf.placeholder(tf.int32, (6,)), tf.placeholder(tf.float64, (6,))
        different, where = tf.unique(ids)
        sums = tf.exp(tf.unsorted_segment_sum(x, where, tf.size(different))) + 1.0
        loss = tf.reduce_sum(tf.gather(sums, where)) + tf.reduce_sum(tf.sin(x) * 2.0)
        slope = tf.gradients(loss, x)[0]
        for k in range(40):
            rng = np.random.default_rng(k)
            some, value = rng.integers(0, 1 + k % 5, 6), rng.normal(size=6)
            by_hand = [np.exp(value[some == i].sum()) + 1.0 for i in some]
            found = session.run([different, loss, slope], {ids: some, x: value})
            assert set(found[0]) == set(some)
            np.testing.assert_allclose(found[1], np.sum(by_hand) + np.sum(np.sin(value) * 2.0), rtol=1e-13)
        (executable,) = session._executables.own.values()
        assert type(executable.program.native).__name__ == "Table"


def test_floating_point_errors_are_raised_where_numpy_is_told_to() -> None:
    program = lowered(lambda x: explog.log(x) * 2.0, [np.ones(3)])
    table = natively(program, [np.ones(3)])
    assert np.isneginf(table(np.zeros(3))[0]).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        program(np.zeros(3))


# ---- tables that are wrong -------------------------------------------------------------------------------------------


def picking(x: Any, w: Any) -> Any:
    """Rows that may refuse: indices of a run, systems, a triangle."""
    at = cast(floor(abs(x[0]) * 2.0), int64)
    rows = gather(x, at, axis=1)
    return [triangular_solve(w, solve(w, rows)), gather_back_op(rows, x, at, axis=1, batch_dims=0)]


@pytest.mark.parametrize("f", [network, picking])
def test_tables_that_lead_astray_are_refused(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    assert encoding.executor is not None
    real = encoding.executor.Table
    monkeypatch.setattr(encoding, "executor", SimpleNamespace(Table=lambda *args: made.append(args) or real(*args)))
    rng = np.random.default_rng(6)
    inputs = [rng.normal(size=(6, 6)) for _ in range(2)]
    program = lowered(f, inputs)
    program(*inputs)
    program(*inputs)
    nargs, bases, loops, numbers, *rest = made[0]
    whole = np.frombuffer(numbers, np.intp)
    refused = 0
    for _ in range(3000):
        changed = whole.copy()
        at = rng.integers(len(whole))
        changed[at] += rng.choice([1, -1, 8, -8, 64, -4096, 1 << 40, -(1 << 62)])
        if is_refused(lambda changed=changed: real(nargs, bases, loops, changed.tobytes(), *rest)):
            refused += 1
        elif abs(changed[at]) < 1 << 20:
            # other numbers, perhaps, but nothing outside of its memory
            with contextlib.suppress(Exception):
                real(nargs, bases, loops, changed.tobytes(), *rest)(*inputs)
    assert refused > 1000
    for k in range(len(whole)):
        assert is_refused(lambda k=k: real(nargs, bases, loops, numbers[: 8 * k], *rest))


def is_refused(make: Callable[[], Any]) -> bool:
    """Whether a table is found to be wrong before it runs."""
    try:
        make()
    except ValueError as error:
        return "native executor" in str(error)
    return False


@pytest.mark.parametrize(
    ("wanted", "outcome"), [("0", "off"), ("1", "on"), ("require", "on"), ("2", "must be 0, 1 or require")]
)
def test_the_environment_decides(wanted: str, outcome: str) -> None:
    done = ran("from engine.executor import status; print(status())", DUALGRAD_NATIVE=wanted)
    assert outcome in done.stdout + done.stderr


def test_large_sweeps_into_a_small_matrix_have_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[Program] = []
    run = Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, *given: (programs.append(self), run(self, *given))[1])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [96])
        hidden = tf.tanh(np.linspace(0, 3, 200)[:, None] * x[:32] + x[32:64])
        (hessian,) = tf.hessians(tf.reduce_sum(tf.square(tf.reduce_sum(hidden * x[64:], 1))), [x])
        for _ in range(3):
            session.run(hessian, {x: np.linspace(-1, 1, 96)})
    (program,) = {id(p): p for p in programs if any(i.op is alloc for i in p.instructions)}.values()
    assert max(a.size * a.dtype.size for a in program.avals.values()) > 1 << 20
    assert type(program.native).__name__ == "Table"


@pytest.mark.parametrize(
    ("number", "other"),
    [(1.5, 1.25), (-0.0, 0.0), (np.nan, 0.0), (np.float32(2), 0), (np.int8(3), 4), (1j, -1j), (1, 0)],
)
def test_a_large_constant_of_one_number_is_told_by_its_bits(number: Any, other: Any) -> None:
    full = np.full((300, 1000), number)
    assert staged._result(Recorder(), full).actual.tobytes() == full.tobytes()
    full[-1, -1] = other
    with pytest.raises(Opaque):
        staged._result(Recorder(), full)
