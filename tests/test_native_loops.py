"""Which of NumPy's loops the native executor takes: those that give the bits of NumPy's calls."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.core.structural import scale
from engine.ops import arithmetic, explog, joining, linalg
from engine.program import native
from engine.program import program as program_module
from engine.program.layout import Order
from engine.program.native import loops, reductions, staged, vocabulary
from engine.program.native.hidden import Opaque
from engine.program.native.memory import Ref, constant_ref, elementwise
from engine.runtime.cache import clear_caches
from tests.support import assert_same_bits
from tests.test_native import by_rows, natively
from tests.test_program import lowered

pytestmark = pytest.mark.skipif(not native.status().active, reason=str(native.status()))


@pytest.mark.parametrize("called", [np.add, np.minimum, np.power], ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_loop_that_gives_other_bits_is_left_out(
    called: np.ufunc, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "rejected", [])
    kind = np.dtype(dtype)
    taken = loops.loop_of(np.multiply, (kind, kind))
    assert taken is not None and loops.is_trusted(np.multiply, *taken)
    assert loops.rejected == []
    assert not loops.is_trusted(called, *taken)
    assert loops.rejected == [f"{called.__name__} {kind.char * 3}"]


def test_a_loop_that_may_raise_is_left_out() -> None:
    whole = np.dtype("i8")
    assert loops.loop_of(np.power, (whole, whole)) is None
    assert loops.loop_of(np.multiply, (whole, whole)) is not None


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum], ids=lambda u: u.__name__)
def test_extrema_of_short_rows_are_those_of_numpy(ufunc: np.ufunc, dtype: str) -> None:
    """Also which of two zeros is found, which depends on the order in which NumPy compares."""
    rng = np.random.default_rng(1)
    for count in (*range(2, 36), 63, 64, 65, 127, 128, 129, 200):
        zeros, numbers = rng.choice([0.0, -0.0], size=(30, count)), rng.normal(size=(30, count))
        special = rng.choice([1.0, np.inf, -np.inf, np.nan, 0.0, -0.0], size=(2, 15, count))
        for x in (zeros, numbers, special, np.asfortranarray(numbers), numbers.T):
            given = x.astype(dtype)
            for how in ({}, {"initial": -np.inf if ufunc is np.maximum else np.inf}, {"keepdims": True}):
                reduced = functools.partial(ufunc.reduce, axis=-1, **how)
                assert_same_bits([by_rows(reduced, given)], [reduced(given)])


def test_a_reduction_in_another_order_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # of zeros all orders give the same sum
    x = np.zeros((6, 30))
    assert np.array_equal(by_rows(functools.partial(np.add.reduce, axis=1), x), np.zeros(6))
    clear_caches()
    made = reductions._reduction_rows

    def otherwise(loop: Any, x: Ref, nest: Any, result: Ref, start: Ref) -> Any:
        backwards = Ref(x.root, x.offset + 29 * 8, x.shape, x.strides, x.dtype)
        return made(loop, backwards, [nest[0], (nest[1][0], -nest[1][1], 0)], result, start)

    monkeypatch.setattr(reductions, "_reduction_rows", otherwise)
    with pytest.raises(Opaque):
        by_rows(functools.partial(np.add.reduce, axis=1), x)


def test_complex_products_of_single_elements_of_several_ranks() -> None:
    """NumPy rounds them as products with a scalar, and arrays of one shape otherwise."""
    rng = np.random.default_rng(8)
    for ranks in itertools.product(range(4), range(4)):
        given = [(rng.normal(size=(1,) * k) + 1j * rng.normal(size=(1,) * k)).reshape((1,) * k) for k in ranks]
        program = lowered(lambda x, y: [x * y, y * x * 2.5], given)
        for dtype in ("complex64", "complex128"):
            assert_same_bits(*[f(*[x.astype(dtype) for x in given]) for f in (program.run_generated, program)])
        for _ in range(8):
            given = [np.asarray(rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)) for x in given]
            assert_same_bits(program(*given), program.run_generated(*given))


def test_vectors_of_one_element_are_computed_as_numpy_does() -> None:
    # which loop NumPy takes, and so the last bit, depends on strides even where there is one element
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)).astype(np.float32).view(np.complex64)
    given = [(a[::-1][::2], c[::-1]) for a, c in zip(x, z, strict=True)]
    program = lowered(lambda x, z: [explog.exp(x), z * z], given[0], order=Order.UNKNOWN)
    for each in given:
        assert_same_bits(program(*each), program.run_generated(*each))
    assert program.native is not None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("either", [False, True])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((9, 20, 1), (20, 6)),
        ((9, 1, 6), (20, 6)),
        ((9, 20, 6), (20, 1)),
        ((7, 5, 4, 3), (5, 4, 1)),
        ((7, 5, 4, 1), (5, 4, 3)),
        ((50, 3), (3,)),
        ((2, 3, 1, 2), (3, 5, 1)),
        ((4, 9, 1, 2), (9, 16, 2)),
        ((4, 9, 1), (9, 2)),
    ],
)
def test_products_that_keep_zeros_go_through_many_short_lines(left: Any, right: Any, either: bool, dtype: str) -> None:
    """In one call, with the bits of NumPy's product but for zeros, however the operands lie."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 2.5, -0.3], dtype)
    x, y = np.resize(special, left), np.resize(special[[3, 0, 5, 1, 7, 2, 6, 4, 4]], right)
    name = f"{'eithers' if either else 'scales'}_{x.dtype.char}"
    for given in ([x, y], [np.asfortranarray(x), y], [x, np.asfortranarray(y)], [x[::-1], y]):
        program = lowered(functools.partial(scale, either=either), given, (), Order.UNKNOWN)
        _, recording = staged.observed(program, given, program_module.located)
        assert [step.loop for step in recording.steps] == [(name,)]
        assert_same_bits(natively(program, given)(*given), [scale.kernel(*given, either=either)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 7), (64, 64), (2, 9), (9, 2), (300, 3)])
def test_products_of_columns_and_rows_are_those_of_elements(shape: Any, dtype: str) -> None:
    """With the bits of BLAS's, which adds them to 0; where these differ, they are left to it."""
    special = np.array([-0.0, 1.5, np.inf, 1e-310, 0.0, np.nan, -2.5, -0.3], dtype)
    column, row = np.resize(special, (shape[0], 1)), np.resize(special[::-1], (1, shape[1]))
    for given in ([column, row], [column.reshape(1, -1), row], [column, row.reshape(-1, 1)]):
        flags = {"transpose_a": given[0] is not column, "transpose_b": given[1] is not row}
        program = lowered(functools.partial(linalg.matmul, **flags), given)
        _, recording = staged.observed(program, given, program_module.located)
        assert [step.loop[0].split("_")[0] for step in recording.steps] in (["outer"], ["outers"])
        assert_same_bits(natively(program, given)(*given), [np.matmul(column, row)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stack", [(), (1,), (40,), (3, 4)])
def test_products_of_small_matrices_are_those_of_numpy(stack: Any, dtype: str) -> None:
    rng = np.random.default_rng(len(stack))
    special = np.array([-0.0, 1.5, np.inf, 1e-310, 0.0, np.nan, -2.5, -0.3], dtype)
    for m, k, n in itertools.product((1, 2, 3, 4, 6, 7), repeat=3):
        a, b = rng.normal(size=(*stack, m, k)).astype(dtype), rng.normal(size=(*stack, k, n)).astype(dtype)
        odd = np.resize(special, a.shape), np.resize(special[::-1], b.shape)
        turned = np.ascontiguousarray(a.mT).mT, np.ascontiguousarray(b.mT).mT
        for x, y in ((a, b), odd, (turned[0], b), (a, turned[1]), (a[..., ::-1, :], b), (a, b.reshape(-1, k, n)[0])):
            assert_same_bits(by_rows(np.matmul, x, y), np.matmul(x, y))
    a = rng.normal(size=(*stack, 3, 3)).astype(dtype)
    assert_same_bits(by_rows(lambda x: np.matmul(x, x.mT), a), np.matmul(a, a.mT))


def test_products_of_small_matrices_go_through_a_loop_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [np.ones((40, 3, 3)), np.ones((40, 3, 3))]
    program = lowered(linalg.matmul, given)
    _, recording = staged.observed(program, given, program_module.located)
    assert [step.loop[0] for step in recording.steps] in (["small_matmul_fma_d"], ["small_matmul_d"])
    # what rounds otherwise is left to NumPy
    vocabulary._small_product.cache_clear()
    monkeypatch.setattr(vocabulary, "reduces_alike", lambda *_: False)
    _, recording = staged.observed(program, given, program_module.located)
    assert [step.loop[0] for step in recording.steps] == [np.matmul]
    vocabulary._small_product.cache_clear()


def test_products_of_columns_and_rows_that_blas_rounds_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [np.ones((7, 1)), np.ones((1, 9))]
    monkeypatch.setattr(vocabulary, "_is_outer", lambda *_: False)
    _, recording = staged.observed(lowered(linalg.matmul, given), given, program_module.located)
    assert [step.loop[0] for step in recording.steps] == [np.matmul]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide], ids=lambda u: u.__name__)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((50, 1, 6), (20, 6)),
        ((9, 1, 3), (5, 3)),
        ((9, 1, 20), (9, 25, 1)),
        ((4, 3, 5), (5, 3)),
        ((6, 1, 5), (6, 7, 10)),
    ],
)
def test_arithmetic_goes_through_many_short_lines(left: Any, right: Any, ufunc: Any, dtype: str) -> None:
    """Where no operand can be repeated once for all, with the bits of NumPy's loops, however the operands lie."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 2.5, -0.3, 1e-40], dtype)
    x, y = np.resize(special, left), np.resize(special[[3, 0, 5, 1, 7, 2, 6, 4, 8]], right)
    if right[-1] == 10:
        y = y[..., ::2]
    if left == (4, 3, 5):
        y = y.T
    for a, b in ((x, y), (y, x)):
        assert_same_bits(by_rows(ufunc, a, b), ufunc(a, b))
    recording = staged.observed(lowered(lambda x, y: x - y, [x, y]), [x, y], program_module.located)[1]
    assert [step.loop for step in recording.steps] == [(f"subtracts_{x.dtype.char}",)]


_BY_LETTER: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "r": lambda a, b: b - a,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "q": lambda a, b: b / a,
    "s": lambda a, b: scale.kernel(a, b),
    "t": lambda a, b: scale.kernel(b, a),
    "n": lambda a: -a,
    "Q": lambda a: a * a,
    "2": lambda a: a + a,
    "A": lambda a, b, c: a + b * c,
    "B": lambda a, b, c: a - b * c,
    "C": lambda a, b, c: b * c - a,
    "D": lambda a, b, c: a + scale.kernel(b, c),
    "E": lambda a, b, c: a - scale.kernel(b, c),
    "F": lambda a, b, c: scale.kernel(b, c) - a,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("letters", [*_BY_LETTER, "+-r", "*DQ", "tA-", "nF2s"])
def test_steps_in_registers_give_the_bits_of_numpy(letters: str, kind: str) -> None:
    taken = [_BY_LETTER[letter].__code__.co_argcount - 1 for letter in letters]
    ways = itertools.cycle([1, 1, 0, 1, 3, 1, 1])
    for n in (1, 2, 5, 31, 64, 67, 130, 300, 517):
        given, operands = [], []
        for k in range(1 + sum(taken)):
            way = next(ways)
            held = np.resize(loops.samples(np.dtype(kind), k), max(n * way, 1))
            given.append(np.lib.stride_tricks.as_strided(held, (n,), (way * held.itemsize,)))
            operands.append(constant_ref(given[-1]))
        left = iter(given)
        expected = next(left)
        for letter, count in zip(letters, taken, strict=True):
            expected = _BY_LETTER[letter](expected, *itertools.islice(left, count))
        row = elementwise((f"fused_{kind}_l{letters}",), [*operands, constant_ref(expected)])
        pairs = list(zip(operands, given, strict=True))
        assert_same_bits(loops.run_rows([row], pairs, np.empty(n, kind)), np.asarray(expected))


@pytest.mark.parametrize("name", ["fused_d_", "fused_d_+", "fused_d_lx", "fused_d_ll", "fused_d_lAAAA", "fused_i_l+"])
def test_steps_that_there_are_not_are_refused(name: str) -> None:
    x = np.zeros(3)
    row = elementwise((name,), [constant_ref(x), constant_ref(x)])
    with pytest.raises(ValueError, match="there is no such loop"):
        loops.run_rows([row], [(constant_ref(x), x)], x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_lies_with_gaps_is_laid_side_by_side(dtype: str) -> None:
    rng = np.random.default_rng(3)
    table, many = rng.standard_normal((3, 700)).astype(dtype).T, rng.standard_normal((50, 700)).astype(dtype)
    points = np.ascontiguousarray(table)
    found = by_rows(lambda x, p: (x - p[:, 0]) / (p[:, 2] + x * p[::-1, 1]), many, points)
    with np.errstate(all="ignore"):
        assert_same_bits(found, (many - points[:, 0]) / (points[:, 2] + many * points[::-1, 1]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_negated_with_gaps_is_negated(dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(16, 3, 3, 4)).astype(dtype)

    def both(x: Any) -> Any:
        half = x[..., :2]
        return tf.concat([half, -half], -1)

    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.as_dtype(dtype), x.shape)
        run = session.make_callable(both(p), [p])
        for _ in range(3):
            np.testing.assert_array_equal(run(x), np.concatenate([x[..., :2], -x[..., :2]], -1))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("asks", [np.isfinite, np.isinf, np.isnan, np.signbit], ids=lambda u: u.__name__)
def test_kinds_of_numbers_are_told_by_a_loop_of_our_own(asks: np.ufunc, dtype: str) -> None:
    special = [
        0.0,
        -0.0,
        1.5,
        -1.5,
        1e-40,
        -1e-310,
        3e38,
        -1e300,
        np.inf,
        -np.inf,
        np.nan,
        -np.nan,
        1.0,
        -2.0,
        1e-300,
        7.0,
    ]
    with np.errstate(over="ignore"):
        x = np.array(special, dtype)
    for given in (x, x[::-1], x[::3], np.tile(x, 40), np.tile(x, 4).reshape(8, 8).T[:, ::2]):
        assert_same_bits(by_rows(asks, given), asks(np.ascontiguousarray(given)))


def test_loops_are_tried_where_the_result_lies_with_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "rejected", [])
    kind = np.dtype("f8")
    trials, *_, where = loops._trials((kind, kind))
    assert len(where) == sum(len(x) for (x,) in trials)
    assert (np.diff(where) == 2).sum() >= 3 * (len(trials[0][0]) - 1), "three trials leave a gap after each result"
    loops.loop_of.cache_clear()
    assert loops.loop_of(np.negative, (kind,)) is not None, "a loop of our own is in its place"
    assert loops.loop_of(np.sqrt, (kind,)) is not None
    assert loops.rejected == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", range(1, 11))
def test_rows_of_few_elements_give_the_bits_of_numpy(count: int, dtype: str) -> None:
    """Rows of up to eight elements are run without a call (short_rows.c), also where one operand stays in place."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 2.5, -0.3, 1e-40, 3.0], dtype)
    for first, second in itertools.product(range(10), repeat=2):
        x, y = np.roll(special, first)[:count].copy(), np.roll(special, second)[:count].copy()
        spread = [(x, y), (x, y[:1]), (x[:1], y), (x[::-1], y)]
        for a, b in spread[: 1 + 3 * (first == second)]:
            given = [a, b, np.array(2.0, dtype)]
            program = lowered(_few_elements, given, (), Order.UNKNOWN)
            assert_same_bits(natively(program, given)(*given), [np.asarray(r) for r in program.run_generated(*given)])


def _few_elements(x: Any, y: Any, z: Any) -> list[Any]:
    return [
        x + y,
        (x - y) * (x / y) - z,
        scale(x, y),
        scale(x, y, either=True),
        arithmetic.square(x) * (1.0 / y) - -x,
        joining.concat([x, y, x], 0) * z,
    ]
