"""Products of stacks of small matrices: one order of sums, in C and in NumPy, whatever the memory layout."""

import numpy as np
import pytest

from engine.ops import small_product
from engine.ops.einsum import einsum_op
from engine.ops.linalg import matmul_op
from engine.ops.small_product import is_small, multiply_small
from tests.support import assert_same_bits

DIMS = [(3, 3, 3), (3, 3, 1), (1, 4, 4), (2, 5, 6), (6, 6, 6), (1, 3, 1)]


def in_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = np.zeros((), a.dtype)
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_sums_go_in_order_from_zero(dims: tuple[int, int, int], dtype: str) -> None:
    m, k, n = dims
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5, m, k)).astype(dtype), rng.normal(size=(5, k, n)).astype(dtype)
    a[0, :2], b[1], a[1, 2, 0, 0], b[3, 0, 0] = -0.0, 0.0, np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = in_order(a, b)
        for left in (a, a.mT.copy().mT, np.repeat(a, 2, -1)[..., ::2]):
            for right in (b, b.mT.copy().mT, np.repeat(b, 2, -2)[..., ::2, :]):
                assert is_small(left.shape, right.shape, left.dtype)
                assert_same_bits(multiply_small(left, right), expected)
                assert_same_bits(small_product._in_numpy(left, right), expected)
                assert multiply_small(left, right).flags.c_contiguous
        if k > 1:
            assert_same_bits(matmul_op(a, b.mT.copy(), transpose_b=True), expected)
        assert_same_bits(einsum_op(a[0], b, equation="pik,pkj->pij"), expected[0])


def test_rows_are_multiplied_in_order() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 50, 3))
    assert_same_bits(einsum_op(a, b, equation="pi,pi->p"), in_order(a[:, None], b[..., None])[:, 0, 0])


@pytest.mark.parametrize(
    ("a", "b", "char"),
    [((3, 3), (3, 3), "d"), ((5, 3, 7), (5, 7, 3), "d"), ((5, 3, 3), (5, 3, 3), "e"), ((0, 3, 3), (0, 3, 3), "d")],
)
def test_what_is_not_small(a: tuple[int, ...], b: tuple[int, ...], char: str) -> None:
    assert not is_small(a, b, np.dtype(char))
