"""What lowering knows of contents: what it leaves out, and that no bit changes."""

from typing import Any

import numpy as np
import pytest

from engine.compiler.lowering import FOLD_LIMIT, FOLD_TOTAL
from engine.compiler.passes.algebraic import Diagonal, Fill, Identity, structure_of_array
from engine.core.expand_axes import repeat_leading, seed_rows
from engine.core.structural import scale
from engine.derivatives.reverse import reverse
from engine.ops import arithmetic, compare, complexes, explog, linalg, reduce, shape, trig
from engine.ops.creation import identity_like, ones_like, zeros_like
from engine.runtime import elementary
from tests.compiler.test_program import ALL_PASSES, lowered, names, numbers
from tests.compiler.test_program_passes import ALWAYS, eye
from tests.support import assert_same_bits


def test_what_is_special_about_constants() -> None:
    assert structure_of_array(np.ones((2, 3), np.float32)) == Fill(1.0)
    assert structure_of_array(np.broadcast_to(np.float64(3.0), (1000, 1000))) == Fill(3.0)
    # zeros have signs
    assert structure_of_array(np.array([0.0, -0.0, 0.0])) is None
    # an identity matrix of the user's is a matrix, and 1 times an infinite complex number is not that number
    for ordinary in (numbers(2, 2), eye(6), eye(4)[:, ::-1], 2 * eye(3), np.zeros((0, 2)), np.ones(3, np.complex64)):
        assert structure_of_array(ordinary) is None
    assert structure_of_array(np.ones(3, dtype=np.int32)) is None


@pytest.mark.parametrize("number", [1, 0, 0.3 - 0.7j])
def test_a_product_with_one_complex_number_is_made(number: complex) -> None:
    """NumPy's complex products depend on the order, and turn infinities into NaN."""
    x = np.random.default_rng(0).normal(size=2000).view(np.complex128)
    x[:4] = complex(np.inf, 1), complex(-0.0, 1), complex(-0.0, -0.0), complex(np.nan, 0)
    many = np.full(1000, number, np.complex128)
    f = lambda x: [arithmetic.multiply(many, x), arithmetic.multiply(x, many), scale(many, x), scale(x, many)]  # noqa: E731
    with np.errstate(invalid="ignore"):
        assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_one_number_for_all_lies_in_memory_as_it_would() -> None:
    """Products and sums of it are made in the same order."""
    x, like = np.random.default_rng(0).normal(size=(12, 20)), np.zeros((20, 20))

    def f(x: Any, like: Any) -> Any:
        same = arithmetic.multiply(ones_like(like), np.float64(0.1 / 20))
        return [linalg.matmul(x, same, transpose_b=True), reduce.reduce_sum(same, [0])]

    assert_same_bits(lowered(f, [x, like])(x, like), lowered(f, [x, like], ALWAYS)(x, like))


@pytest.mark.parametrize("axis", [[0], [1], None])
def test_a_part_times_one_is_added_up_as_a_product_would_be(axis: Any) -> None:
    x = np.random.default_rng(0).normal(size=(41, 31))
    parts = [lambda x: x[:, 1:], lambda x: x[::-1], lambda x: x[1::2, ::-1], lambda x: shape.transpose(x, (1, 0))]
    for part in parts:
        f = lambda x, part=part: reduce.reduce_sum(part(x) * 1.0, axis)  # noqa: E731
        assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_masks_of_both_branches_choose_everything() -> None:
    """What follows from a condition is no instruction; another condition is none of its masks."""

    def f(x: Any, y: Any) -> list[Any]:
        negative, ones, zeros = compare.less(x, 0.0), np.ones(5), np.zeros(5)
        first, second = compare.select(negative, ones, zeros), compare.select(negative, zeros, ones)
        chosen = [compare.cast_like(compare.not_equal(mask, 0.0), x) for mask in (first, second)]
        either = arithmetic.maximum(*chosen)
        return [
            compare.keep_chosen(x / y, either, fixed=True),
            compare.select(compare.not_equal(either, 0.0), x * y, x),
            compare.select(compare.not_equal(second, 0.0), x, y),
            compare.select(compare.not_equal(first, 0.0), y, np.float64(0.5)),
        ]

    x, y = np.array([np.inf, -0.0, -2.0, np.nan, 0.0]), np.array([-np.inf, -3.0, np.nan, 1.0, 0.0])
    program = lowered(f, [x, y])
    assert sorted(names(program)) == ["divide", "less", "multiply", "select", "select"]
    assert_same_bits(program(x, y), lowered(f, [x, y], ALWAYS)(x, y))

    def other(x: Any, y: Any) -> Any:
        first = compare.select(compare.less(x, 0.0), np.ones(5), np.zeros(5))
        second = compare.select(compare.less(y, 0.0), np.zeros(5), np.ones(5))
        return compare.keep_chosen(x / y, arithmetic.maximum(first, second), fixed=True)

    program = lowered(other, [x, y])
    assert "keep_chosen" in names(program) and "maximum" in names(program)
    assert_same_bits(program(x, y), lowered(other, [x, y], ALWAYS)(x, y))


def test_what_is_so_everywhere_is_no_instruction() -> None:
    """Of a power of a norm, whose exponent tells which of its rules holds; and where results lie as they would."""
    nowhere = np.zeros(5, bool)

    def f(x: Any, y: Any) -> list[Any]:
        negative = compare.less(x, 0.0)
        return [
            compare.select(np.True_, x, y) * y,
            compare.select(nowhere, x, np.float64(2.0)) * y,
            compare.select(compare.logical_and(negative, nowhere), x, y) * x,
            compare.select(compare.logical_or(nowhere, negative), x, y),
            compare.select(np.False_, np.float64(1.0), y[::-1]),
        ]

    x, y = np.array([np.inf, -0.0, -2.0, np.nan, 0.0]), np.array([-np.inf, -3.0, np.nan, 1.0, 0.0])
    program = lowered(f, [x, y])
    assert sorted(names(program)) == ["getitem_op", "less", "multiply", "multiply", "select", "select"]
    assert_same_bits(program(x, y), lowered(f, [x, y], ALWAYS)(x, y))

    def slope(x: Any) -> Any:
        y = explog.pow(complexes.complex_abs(complexes.complex_op(x, x)), np.float64(2.0))
        return reverse(list(x.trace.nodes), [(y, ones_like(y))], [x])

    assert not {"select", "logical_and", "pow"} & {*names(lowered(slope, [x]))}
    assert_same_bits(lowered(slope, [x])(x), lowered(slope, [x], ())(x))


def test_a_constant_condition_says_nothing_of_itself() -> None:
    """A mask made of it is the same constant."""
    condition = np.array([True, False, True])

    def f(x: Any) -> list[Any]:
        ends = ones_like(x), zeros_like(x)
        masks = [compare.select(c, *each) for c in (condition, ~condition) for each in (ends, ends[::-1])]
        return [compare.select(compare.not_equal(mask, 0.0), x, -x) for mask in masks]

    x = numbers(3)
    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_a_condition_of_another_shape_stays() -> None:
    f = lambda x, y: compare.select(compare.not_equal(compare.select(x < 0.0, ones_like(y), zeros_like(y)), 0.0), x, y)  # noqa: E731
    x, y = numbers(5) - 1.0, numbers(3, 5)
    assert "not_equal" in names(lowered(f, [x, y]))
    assert_same_bits(lowered(f, [x, y])(x, y), lowered(f, [x, y], ALWAYS)(x, y))


def test_the_identity_is_not_made() -> None:
    x, w = np.linspace(0, 1, 1000), np.ones((1000, 1000))
    f = lambda x, w: linalg.matmul(identity_like(x, first=0, count=1000), w)  # noqa: E731
    program = lowered(f, [x, w])
    assert "matmul_op" not in names(program) and not any(c.size > 1 for c in program.constants.values())
    assert_same_bits(program(x, w), [w])


def test_folding_has_a_limit_in_all() -> None:
    x = numbers(300)
    program = lowered(lambda x: [identity_like(x, first=k, count=300) + x for k in range(70)], [x])
    kept = [c.nbytes for c in program.constants.values()]
    assert kept and sum(kept) <= FOLD_TOTAL * FOLD_LIMIT
    assert_same_bits(program(x), [np.eye(300, 300, k, dtype=np.float32) + x for k in range(70)])


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_what_is_repeated_is_multiplied_once(position: int, transpose_b: bool) -> None:
    x, w = numbers(4, 5), numbers(*((3, 5) if transpose_b else (5, 3)))
    f = lambda x, w: linalg.matmul(seed_rows(x, size=7, position=position), w, transpose_b=transpose_b)  # noqa: E731
    program = lowered(f, [x, w])
    assert names(program) == ["matmul_op", "seed_rows"]
    # with any passes: it is what a plan means
    assert_same_bits(program(x, w), lowered(f, [x, w], ())(x, w))
    expected = np.matmul(
        np.broadcast_to(np.expand_dims(x, position), (*program(x, w)[0].shape[:2], 5)), w.T if transpose_b else w
    )
    np.testing.assert_allclose(program(x, w)[0], expected, rtol=1e-5)
    other = lowered(lambda x, w: linalg.matmul(seed_rows(x, size=5, position=2), w), [x, w.reshape(5, 3)])
    assert "seeds" not in other.report


def test_what_a_user_repeats_is_multiplied_as_it_is() -> None:
    x, w = numbers(41, 50), numbers(50, 30)
    f = lambda x, w: linalg.matmul(repeat_leading(x, size=7, position=1), w)  # noqa: E731
    assert_same_bits(lowered(f, [x, w])(x, w), lowered(f, [x, w], ALWAYS)(x, w))


def test_what_is_repeated_and_in_another_shape_is_multiplied_as_it_is() -> None:
    def f(x: Any, w: Any, v: Any) -> Any:
        rows = seed_rows(x, size=20, position=1)
        others = [shape.reshape(rows, s) for s in ((80, 5), (8, 10, 5))]
        return [*[linalg.matmul(other, w) for other in others], linalg.matmul(rows, v, transpose_a=True)]

    given = [numbers(4, 5), numbers(5, 3), numbers(20, 3)]
    assert_same_bits(lowered(f, given)(*given), lowered(f, given, ALWAYS)(*given))


def test_ones_cost_nothing() -> None:
    x = numbers(3, 4)
    f = lambda x: [arithmetic.multiply(ones_like(x), x), scale(x, ones_like(x)), scale(ones_like(x), trig.sin(x))]  # noqa: E731
    program = lowered(f, [x])
    assert names(program) == ["sin"] and program.report["algebraic_simplification"] >= 3
    assert_same_bits(program(x), [x, x, elementary.sin(x)])
    # a result that must be repeated is not the operand
    assert names(lowered(lambda x: arithmetic.multiply(np.ones((2, 4), np.float32), x), [numbers(4)])) == ["multiply"]


@pytest.mark.parametrize(("value", "scales"), [(3.0, 0), (-0.5, 0), (np.inf, 1), (0.0, 1), (np.nan, 2)])
def test_one_number_need_not_be_repeated(value: float, scales: int) -> None:
    """Where a zero may meet an infinity, somebody must look."""
    x = numbers(3, 4)
    x[0, :2] = np.inf, 0
    many = np.full((3, 4), value, np.float32)
    f = lambda x: [scale(many, x), scale(x, many), arithmetic.multiply(many, x)]  # noqa: E731
    program = lowered(f, [x])
    assert names(program).count("scale") == scales
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_powers_of_zero_and_one(dtype: str) -> None:
    """What derivatives of squares have: no power is computed, and what follows from ones is known."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5.0], dtype)
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    f = lambda x: [explog.pow(x, zero) * 6.0, explog.pow(x, one) - 1.0, explog.pow(x, np.full(6, one))]  # noqa: E731
    program = lowered(f, [x])
    assert ("pow" in names(program)) is (dtype == "complex64")
    with np.errstate(invalid="ignore"):
        assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))
    # a result of another shape is computed
    wide = lambda x: [explog.pow(x, np.ones((2, 6), dtype))]  # noqa: E731
    assert names(lowered(wide, [x])) == ["pow"]


def test_what_is_computed_from_single_numbers_is_one() -> None:
    x = np.zeros((600, 600))
    f = lambda x: [-(ones_like(x) * 3.0 + ones_like(x)) / 7.0, trig.sin(x) + ones_like(x)]  # noqa: E731
    program = lowered(f, [x])
    assert "negative" not in names(program) and "multiply" not in names(program)
    assert sum(c.nbytes for c in program.constants.values()) < 1000
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))


@pytest.mark.parametrize(
    ("number", "dtype", "known"),
    [
        *[(1.0, "float32", True), (-3.0, "float64", True), (1.0, "float16", False), (0.1, "float64", False)],
        *[(-0.0, "float64", False), (np.inf, "float64", False), (np.nan, "float64", False)],
    ],
)
def test_a_sum_of_one_whole_number_is_counted(number: float, dtype: str, known: bool) -> None:
    """It is exact in any order, up to the mantissa: a product with it then needs no look at it."""
    x, number = np.ones((2, 5000), dtype), np.dtype(dtype).type(number)
    f = lambda x: [scale(x, reduce.reduce_sum(ones_like(x) * number, 1, keepdims=True))]  # noqa: E731
    program = lowered(f, [x], [name for name in ALL_PASSES if name != "constant_folding"])
    assert ("reduce_sum_op" not in names(program)) is known, names(program)
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_zeros_of_both_signs_are_two_numbers(dtype: str) -> None:
    x = np.zeros((3, 4), dtype)
    f = lambda x: [ones_like(x) * 0.0, -(ones_like(x) * 0.0), ones_like(x) / 3.0 - ones_like(x)]  # noqa: E731
    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_a_mean_of_large_arrays() -> None:
    x = np.linspace(0, 1, 360_000).reshape(600, 600)

    def f(x: Any) -> Any:
        y = reduce.reduce_mean(trig.sin(x))
        return reverse(list(x.trace.nodes), [(y, ones_like(y))], [x])

    program = lowered(f, [x])
    assert names(program) == ["cos", "multiply"]
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))


def test_large_ones_cost_nothing() -> None:
    x = np.zeros((600, 600))
    program = lowered(lambda x: reverse_of_sum(x), [x])
    assert names(program) == ["cos"] and program.constants == {}


def reverse_of_sum(x: Any) -> Any:
    nodes = x.trace.nodes
    y = reduce.reduce_sum(trig.sin(x))
    (found,) = reverse(list(nodes), [(y, ones_like(y))], [x])
    return found


def seeds(w: Any, n: int) -> Any:
    return identity_like(shape.reshape(w, (-1,))[:n], first=0, count=n)


def test_products_of_seeds() -> None:
    w = numbers(3, 4)
    w[0, 0] = -0.0
    w[2, 1] = np.inf

    def f(w: Any) -> Any:
        left, right = seeds(w, 3), seeds(w, 4)
        both = [linalg.matmul(left, w), linalg.matmul(w, right), linalg.matmul(right, w, transpose_b=True)]
        return [*both, linalg.matmul(w, left, transpose_a=True)]

    program = lowered(f, [w])
    assert set(names(program)) == {"identity_product"}
    assert_same_bits(program(w), lowered(f, [w], ())(w))
    # an infinity stays in its row
    assert_same_bits(program(w), [w + 0, w + 0, w.T + 0, w.T + 0])
    assert all(out.flags.c_contiguous for out in program(w))


def test_products_with_a_diagonal() -> None:
    w, d = numbers(3, 4), np.float32([2.0, -1.0, 0.5])

    def f(w: Any, d: Any) -> Any:
        rows = scale(scale(seeds(w, 3), d), d)
        return [linalg.matmul(rows, w), linalg.matmul(w, rows, transpose_a=True)]

    program = lowered(f, [w, d])
    assert set(names(program)) == {"scale", "reshape_to", "diagonal_product"}
    assert_same_bits(program(w, d), [np.diag(d * d) @ w, w.T @ np.diag(d * d)])
    w[1, 1] = np.nan
    assert_same_bits(program(w, d), lowered(f, [w, d], ())(w, d))


def test_a_square_of_another_shape_is_no_identity() -> None:
    # the elements of the identity as a stack of two matrices, times a vector
    x = numbers(1, 3)
    f = lambda x: linalg.matmul(x.trace.operand(eye(2, 2, 1)), x)  # noqa: E731
    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_a_factor_of_another_axis_is_no_diagonal() -> None:
    d = np.float32([2.0, 3.0, 4.0])
    f = lambda d: linalg.matmul(scale(identity_like(d, first=0, count=3), shape.reshape(d, (3, 1))), eye(3) + 1)  # noqa: E731
    assert_same_bits(lowered(f, [d])(d), lowered(f, [d], ALWAYS)(d))
    assert Diagonal is not Identity
