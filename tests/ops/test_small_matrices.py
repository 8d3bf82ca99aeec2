"""Linear algebra of small matrices: one order in C and in NumPy, as accurate as LAPACK, and the same in programs."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.structural import reshape_to
from engine.ops import small_matrix
from engine.ops.decompose import cholesky
from engine.ops.determinants import cofactor, det, slogdet
from engine.ops.diagonal import band_part, diagonal, matrix_diag, set_diag
from engine.ops.linalg import matmul, trace
from engine.ops.reduce import reduce_sum
from engine.ops.small_matrix import is_small
from engine.ops.solve import inv, solve, triangular_solve
from engine.runtime.errors import InvalidArgumentError
from tests.compiler.test_program import lowered
from tests.compiler.test_program_narrowing import with_gradient
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits

ROWS = 700


def special(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers, and among them some that overflow, vanish, or are equal."""
    x = rng.normal(size=shape)
    some = rng.integers(0, x.size, x.size // 6)
    x.reshape(-1)[some] = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 1e300, 1e-300, 1.0, 1.0], some.size)
    return x


def layouts(x: np.ndarray) -> list[np.ndarray]:
    apart = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)
    return [x, apart, np.repeat(x, 2, 0)[::2], x.mT.copy().mT, x[:, ::-1]]


@pytest.mark.skipif(small_matrix.in_c is None, reason="there is no extension")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", range(1, 7))
def test_numpy_gives_the_bits_of_c(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    sizes = ((1, 2), (3, 2), (30, 19), (1100, 1))
    for (count, m), make in itertools.product(sizes, (special, lambda rng, *shape: rng.normal(size=shape))):
        with np.errstate(all="ignore"):
            a, b, sides = (make(rng, count, n, k).astype(dtype) for k in (n, n, m))
            operands = {name: [(x,) for x in layouts(a)] for name in small_matrix.FUNCTIONS}
            operands["small_cofactor_change"] = [(x, b) for x in layouts(a)]
            operands["small_solve"] = operands["small_lower_solve"] = [
                *[(x, y) for x, y in zip(layouts(a), layouts(sides), strict=True)], (a[0], sides), (a, sides[0])
            ]  # fmt: skip
            if make is not special:
                operands["small_cholesky"] = [(x,) for x in layouts(np.matmul(a, a.mT) + np.eye(n, dtype=dtype))]
        for name, each in operands.items():
            if name.startswith("small_cofactor") and n > small_matrix.MOST_COFACTORS:
                continue
            in_numpy = small_matrix._ordered(name, small_matrix._IN_NUMPY[name])
            for x in each:
                got = small_matrix.call(name, *x)
                with np.errstate(all="ignore"):
                    expected = in_numpy(*x, order="C")
                if not isinstance(got, tuple):
                    got, expected = (got,), (expected,)
                assert_same_bits(got, [np.broadcast_to(y, z.shape) for y, z in zip(expected, got, strict=True)])


def exact_det(a: np.ndarray) -> Fraction:
    rows = [[Fraction(float(x)) for x in row] for row in a]
    total = Fraction(0)
    for order in itertools.permutations(range(len(rows))):
        odd = sum(order[i] > order[j] for i, j in itertools.combinations(range(len(order)), 2)) % 2
        product = Fraction(-1 if odd else 1)
        for i, j in enumerate(order):
            product *= rows[i][j]
        total += product
    return total


def ill_conditioned(rng: np.random.Generator, n: int) -> np.ndarray:
    """Nearly singular, of rank one and more, with rows and columns of all sizes."""
    rank = rng.integers(1, n + 1)
    x = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
    x += 10.0 ** rng.uniform(-14, 0) * rng.normal(size=(n, n))
    return x * 10.0 ** rng.uniform(-3, 3, (n, 1)) * 10.0 ** rng.uniform(-3, 3, n)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_determinants_are_as_accurate_as_those_of_lapack(n: int) -> None:
    rng = np.random.default_rng(0)
    matrices = np.array([ill_conditioned(rng, n) for _ in range(200)])
    exact = [exact_det(x) for x in matrices]
    ours, lapacks = (
        np.array([abs(float((Fraction(float(x)) - y) / y)) for x, y in zip(found, exact, strict=True)])
        for found in (small_matrix.call("small_det", matrices), np.linalg.det(matrices))
    )
    # both round otherwise: an error of one matrix says little
    assert np.median(ours) < 1.5 * np.median(lapacks)
    assert np.mean(np.log(ours + 1e-17)) < np.mean(np.log(lapacks + 1e-17)) + np.log(1.5)
    assert ours.max() < 8 * lapacks.max()


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_solutions_have_the_backward_error_of_lapack(n: int) -> None:
    rng = np.random.default_rng(0)
    a = np.array([ill_conditioned(rng, n) for _ in range(300)])
    b = rng.normal(size=(300, n, 1))
    x, failed = small_matrix.call("small_solve", a, b)
    assert not failed.any()
    wide = a.astype(np.longdouble)
    left = np.abs(np.matmul(wide, x.astype(np.longdouble)) - b)
    size = np.matmul(np.abs(wide), np.abs(x)) + np.abs(b)
    of_row = np.abs(wide).sum(-1, keepdims=True) * np.abs(x).max((-2, -1), keepdims=True)
    assert float((left / np.maximum(size, of_row)).max()) < 8 * n * np.finfo(float).eps
    definite = np.matmul(a, a.mT) + 1e-3 * np.eye(n) * np.square(a).sum((-2, -1), keepdims=True)
    factor, failed = small_matrix.call("small_cholesky", definite)
    assert not failed.any()
    apart = np.matmul(factor.astype(np.longdouble), factor.mT) - definite
    size = np.sqrt(np.einsum("pii,pjj->pij", definite, definite))
    assert float((np.abs(apart) / size).max()) < 2 * n * np.finfo(float).eps
    inverse, _ = small_matrix.call("small_inv", a)
    ours, lapacks = (
        np.abs(np.matmul(wide, found) - np.eye(n)).max((1, 2)) / (np.linalg.norm(a, axis=(1, 2)) * np.abs(found).max())
        for found in (inverse, np.linalg.inv(a))
    )
    assert float(np.median(ours)) < 2 * float(np.median(lapacks))


def test_products_of_pivots_neither_overflow_nor_vanish() -> None:
    sizes = [(1e200, 1e200, 1e-300), (1e-200, -1e-200, 1e300), (1e-200, 1e-200, 1e-200), (1e200, 1e200, 1e200)]
    x = np.array([np.diag(each) for each in sizes])
    np.testing.assert_allclose(small_matrix.call("small_det", x), [1e100, -1e-100, 0.0, np.inf], rtol=1e-15)
    sign, logarithm = slogdet(x)
    assert sign.tolist() == [1, -1, 1, 1]
    np.testing.assert_allclose(logarithm, np.log(10) * np.array([100, -100, -600, 600]), rtol=1e-14)
    single = np.array([1e-20, 1e20], "f4")[:, None, None] * np.eye(3, dtype="f4")
    np.testing.assert_allclose(slogdet(single)[1], np.array([-60, 60]) * np.log(10), rtol=1e-6)
    assert np.signbit(small_matrix.call("small_det", np.array([[0.0, -1.0], [0.0, 1.0]]))) == 0


def test_what_is_not_small() -> None:
    a = np.ones((5, 3, 3))
    assert is_small(a) and is_small(a, a[..., :1]) and is_small(a[0], a)
    assert not is_small(np.ones((5, 7, 7))) and not is_small(a.astype("c16")) and not is_small(a[:0])
    assert not is_small(a, a[..., :0]) and not is_small(a, np.ones((5, 2, 1))) and not is_small(a, a.astype("f4"))


# ---- singular matrices -----------------------------------------------------------------------------------------------


def spd(rng: np.random.Generator, *shape: int) -> np.ndarray:
    x = rng.normal(size=shape)
    return np.matmul(x, x.mT) + np.eye(shape[-1])


RAISE: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (inv, "inverse.*Singular matrix"),
    (lambda x: solve(x, x[..., :1]), "solve.*Singular matrix"),
    (cholesky, "cholesky.*not positive definite"),
    (lambda x: triangular_solve(x, x[..., :1]), "triangular_solve.*a zero on its diagonal"),
    (lambda x: triangular_solve(x, x, lower=False), "triangular_solve.*a zero on its diagonal"),
)


@pytest.mark.parametrize(("f", "message"), RAISE)
def test_singular_matrices_are_refused_in_all_modes(f: Callable[[Any], Any], message: str) -> None:
    good = spd(np.random.default_rng(0), ROWS, 3, 3)
    bad = good.copy()
    bad[ROWS // 2] = np.diag([1.0, 0.0, 1.0])
    with pytest.raises(InvalidArgumentError, match=message):
        f(tape_api.constant(bad))
    program = lowered(lambda x: reduce_sum(f(x * 2.0) * 3.0 + 1.0, [1, 2]), [good])
    expected = program.run_generated(good)
    for _ in range(3):
        assert_same_bits(program(good), expected)
        with pytest.raises(InvalidArgumentError, match=message):
            program(bad)
    with pytest.raises(InvalidArgumentError, match=message):
        program.run_generated(bad)
    # NaN is let pass, and is all that is left of a matrix
    bad[ROWS // 2] = np.nan
    (found,) = program(bad)
    assert np.flatnonzero(np.isnan(found)).tolist() == [ROWS // 2]


def test_the_program_is_refused_at_the_line_that_made_the_op() -> None:
    good = spd(np.random.default_rng(0), ROWS, 2, 2)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, good.shape)
        y = graph_api.reduce_sum(graph_api.linalg.inv(x * 2.0) * x + x, [1, 2])
        for _ in range(3):
            session.run(y, {x: good})
        with pytest.raises(InvalidArgumentError, match=r"Singular matrix.*MatrixInverse.*test_small_matrices"):
            session.run(y, {x: good * 0.0})


# ---- formulas --------------------------------------------------------------------------------------------------------


def entries(x: Any) -> Any:
    return reshape_to(x, shape=(ROWS, 3, 3))


def definite(x: Any) -> Any:
    a = entries(x)
    return matmul(a, a, transpose_b=True) + np.diag([1.0, 2.0, 3.0]).astype(x.dtype.numpy)


def inverted(x: Any) -> Any:
    a = entries(x) + 4.0 * np.eye(3, dtype=x.dtype.numpy)
    return matmul(inv(a), a * 2.0) + inv(a, adjoint=True) * trace(a)[:, None, None]


def solved(x: Any) -> Any:
    a = entries(x) + 4.0 * np.eye(3, dtype=x.dtype.numpy)
    return solve(a, x[:, :3, None] * 2.0) + solve(a, x[:, 3:6, None] + x[:, 1:4, None], adjoint=True)


def deformed(x: Any) -> Any:
    f = entries(x) + np.eye(3, dtype=x.dtype.numpy)
    sign, logarithm = slogdet(f)
    return reduce_sum(f * f, [1, 2]) + logarithm * logarithm * 2.0 + det(f) * sign + det(f[:, :2, :2])


def factored(x: Any) -> Any:
    factor = cholesky(definite(x))
    y = triangular_solve(factor, x[:, :3, None])
    return (
        reduce_sum(y * y, [1, 2])
        + reduce_sum(diagonal(factor), -1)
        + triangular_solve(factor, y, adjoint=True)[:, 0, 0]
    )


def upper(x: Any) -> Any:
    a = set_diag(band_part(entries(x), 0, -1), x[:, :3] * x[:, :3] + 1.0)
    return triangular_solve(a, matrix_diag(x[:, 3:6]), lower=False) + triangular_solve(a, a * 2.0, False, True)


def curved(x: Any) -> Any:
    """Cofactors, and what they change by."""
    return cofactor(entries(x)) * 2.0 + entries(x)


FORMULAS = (inverted, solved, deformed, factored, upper, curved)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", FORMULAS, ids=lambda f: f.__name__)
def test_formulas_of_matrices_have_the_same_bits(f: Callable[[Any], Any], dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(ROWS, 9)).astype(dtype)
    x[3], x[5, 2], x[9, 1] = 0.5, -0.0, np.nan
    with np.errstate(all="ignore"):
        program, plain = lowered(with_gradient(f), [x]), lowered(with_gradient(f), [x], ALWAYS)
        expected = plain(x)
        for _ in range(3):
            assert_same_bits(program(x), expected)
        assert_same_bits(program.run_generated(x), expected)
