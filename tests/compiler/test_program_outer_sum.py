"""The pass that adds up products of columns and rows: it changes no bit, in Python, and as rows of the executor."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine import executor
from engine.compiler import program as program_module
from engine.compiler.passes.outer_sum import outer_sum
from engine.derivatives.reverse import reverse
from engine.executor import refs, staged
from engine.ops.linalg import matmul, matmul_op
from engine.ops.reduce import reduce_sum
from engine.ops.shape import reshape
from engine.ops.trig import tanh
from tests.compiler.test_program import lowered, names
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits

SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-320])


def gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    def derived(*xs: Any) -> Any:
        out = f(*xs)
        return reverse(list(out.trace.nodes), [(out, np.ones((), out.dtype.numpy))], list(xs), ones=True)

    return derived


def columns(w: Any, x: Any) -> Any:
    for _ in range(6):
        x = tanh(matmul(w, x))
    return reduce_sum(x * x)


def rows(w: Any, x: Any) -> Any:
    x = reshape(x, (1, -1))
    for _ in range(5):
        x = tanh(matmul(x, w, transpose_b=True))
    return reduce_sum(x)


def turned(w: Any, x: Any) -> Any:
    for k in range(4):
        x = tanh(matmul(w, x, transpose_a=bool(k % 2)))
    return reduce_sum(x) + reduce_sum(w * w)


def one_number(w: Any, x: Any) -> Any:
    """A single row, and a state of one number."""
    row = w[:1]
    for _ in range(6):
        x = tanh(matmul(row, x)) * x
    return reduce_sum(x)


def beside(w: Any, x: Any) -> Any:
    """Two sums of products that meet, and one that is used twice."""
    a, b = columns(w, x), rows(w, x * 0.5)
    return a * b + reduce_sum(matmul(w, w))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [1, 2, 7, 33])
@pytest.mark.parametrize("f", [columns, rows, turned, beside, one_number], ids=lambda f: f.__name__)
def test_gradients_of_recurrences(f: Callable[..., Any], size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    w, x = (rng.standard_normal(s).astype(dtype) / np.sqrt(size) for s in ((size, size), (size, 1)))
    program, plain = lowered(gradients(f), [w, x]), lowered(gradients(f), [w, x], ALWAYS)
    assert size < 3 or ("outer_sum" in names(program) and program.report["outer_sum"] > 0)
    for given in ((w, x), (-w, 0 * x), (w * np.inf, x)):
        with np.errstate(all="ignore"):
            for _ in range(3):
                # in Python, observed, as a table
                assert_same_bits(program(*given), plain.run_generated(*given))
            assert_same_bits(program.run_generated(*given), plain.run_generated(*given))


@pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))
@pytest.mark.parametrize("f", [columns, rows, turned, one_number], ids=lambda f: f.__name__)
def test_nothing_is_called(f: Callable[..., Any]) -> None:
    w, x = np.eye(9) * 0.5, np.linspace(-1, 1, 9)[:, None]
    program = lowered(gradients(f), [w, x])
    program(w, x)
    _, recording = staged.observed(program, [w, x], program_module.located)
    assert all(isinstance(step, refs.Row) for step in recording.steps)
    assert sum(step.loop[0] in _LOOPS for step in recording.steps) >= 2


_LOOPS = ("add_outers_d_1", "add_outers_d_2", "add_outers_d_3")


def summed(*operands: Any, start: bool, forms: Any) -> list[Any]:
    """A matrix, if there is one, and products of the other operands in pairs, added from the left."""
    rest = operands[1:] if start else operands
    total = operands[0] if start else None
    for k, (left, right) in enumerate(forms):
        product = matmul(rest[2 * k], rest[2 * k + 1], transpose_a=left, transpose_b=right)
        total = product if total is None else (total + product if k % 2 else product + total)
    return [total]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_special_numbers_and_forms(count: int, start: bool, dtype: str) -> None:
    rng = np.random.default_rng(count)
    forms = [(bool(k % 2), bool(k % 3)) for k in range(count)]
    operands = [rng.choice(SPECIAL, (8, 5)).astype(dtype)] if start else []
    for left, right in forms:
        operands += [rng.choice(SPECIAL, (1, 8) if left else (8, 1)), rng.choice(SPECIAL, (5, 1) if right else (1, 5))]
    operands = [x.astype(dtype) for x in operands]

    def f(*xs: Any) -> Any:
        return summed(*xs, start=start, forms=forms)

    program, plain = lowered(f, operands), lowered(f, operands, ALWAYS)
    (found,) = [i for i in program.instructions if i.op is outer_sum]
    assert len(found.params["turned"]) == count and program.report["outer_sum"] == count - (not start)
    with np.errstate(all="ignore"):
        for _ in range(3):
            assert_same_bits(program(*operands), plain.run_generated(*operands))
        # columns and rows with gaps
        wide = [np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3] for x in operands]
        for _ in range(3):
            assert_same_bits(program(*wide), plain.run_generated(*wide))


def test_what_is_used_elsewhere_stays() -> None:
    def f(a: Any, b: Any, c: Any, d: Any) -> Any:
        product = matmul(a, b)
        total = product + matmul(c, d)
        return [total + matmul(a, d), total, product]

    operands = [np.linspace(-1, 1, 4).reshape(s) for s in ((4, 1), (1, 4), (4, 1), (1, 4))]
    program, plain = lowered(f, operands), lowered(f, operands, ALWAYS)
    for _ in range(3):
        assert_same_bits(program(*operands), plain(*operands))
    assert "outer_sum" not in names(program)


def test_other_sums_stay() -> None:
    def f(a: Any, b: Any, row: Any) -> Any:
        return [matmul(a, b) + row + matmul(a, b * 2.0)]

    operands = [np.ones((4, 1)), np.ones((1, 4)), np.arange(4.0)[None]]
    program, plain = lowered(f, operands), lowered(f, operands, ALWAYS)
    assert_same_bits(program(*operands), plain(*operands))
    assert "outer_sum" not in names(program)


def test_long_sums() -> None:
    def f(w: Any, x: Any) -> Any:
        out = matmul(x, w)
        for k in range(2_000):
            out = out + matmul(x, w + float(k))
        return [out]

    operands = [np.array([[1.0, 2.0]]), np.array([[1.0], [0.5]])]
    program = lowered(f, operands)
    assert names(program).count("outer_sum") == 1
    steps = np.arange(2_000.0).sum()
    for _ in range(3):
        np.testing.assert_array_equal(program(*operands)[0], operands[1] * (2_001 * operands[0] + steps))


@pytest.mark.parametrize("one", [0.0, 2.0, np.inf])
def test_one_number_times_several(one: float) -> None:
    """Zero times infinity is no number: BLAS takes it for zero where NumPy's `dot` asks it."""
    column, number = np.array([[np.inf], [1.0], [0.0], [-0.0]]), np.array([[one]])
    with np.errstate(invalid="ignore"):
        expected = column * one + 0.0
        for left, right, whole in ((column, number, expected), (number, column.T, expected.T)):
            assert_same_bits([matmul_op.kernel(left, right)], [whole])
