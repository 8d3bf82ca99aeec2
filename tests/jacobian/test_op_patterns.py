"""Every row of the op table: what its derivative has must be in its pattern, and not much else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.sparsity import Sites
from engine.core.trace import constant_value
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import move_map
from engine.transforms.vjp import recorded
from tests.jacobian.numeric import entries, nonzeros, patterns_either_way
from tests.op_table import OPS, ROWS, WIDE, cases, with_derivatives
from tests.row import Row
from tests.support import differentiable

POINTS = 2

DENSE = {
    "custom_call": "the rule is the user's",
    "closed_call": "the rule is the user's",
    "deferred_op": "a subprogram",
    "pull_varying_op": "a subprogram",
    "spread_op": "a subprogram",
}
"""Ops without a rule, and why."""

LOOSE = {
    "cond_op": "the other branch",
    "scan_op": "branches in its body",
    "balanced": "which share is nearly all of the sum",
    "banded_solve_op": "elements of the diagonals that lie outside of the matrix, triangles",
    "cholesky_op": "triangles",
    "cofactor": "an entry does not depend on its own row and column",
    "cofactor_change": "an entry does not depend on its own row and column",
    "conv_data_op": "taps that fall on padding",
    "conv_filters_op": "taps that fall on padding, groups",
    "conv_op": "taps that fall on padding, groups",
    "depthwise_data_op": "taps that fall on padding",
    "depthwise_filters_op": "taps that fall on padding",
    "depthwise_op": "taps that fall on padding",
    "eigh_op": "triangles",
    "eigvalsh_op": "triangles",
    "irfft_op": "entries that are cropped",
    "qr_op": "triangles",
    "recurrence": "the first factor is not used",
    "rfft_op": "entries that are cropped",
    "segment_recurrence": "triangles",
    "shuffle_op": "any order of rows",
    "spectral": "triangles",
    "spectral_part": "triangles",
    "spectral_sloped": "triangles",
    "stdtrit-degrees": "the median does not depend on the degrees",
    "triangular_solve_op": "triangles",
    "lu_op": "an element of a factor depends on those before it only",
    "nextafter": "of the second operand only the side matters",
}
"""Ops whose rule claims more than it could, and what."""

DATA = {
    *("logm_op-equal eigenvalues", "sqrtm_op-equal eigenvalues", "huber"),
    *(f"eval_{name}" for name in ("chebyt", "chebyu", "gegenbauer", "genlaguerre", "hermite", "hermitenorm", "jacobi")),
    *("eval_laguerre", "eval_legendre", "sinc-zero", "stdtr-degrees"),
    *("log_cosh-at 0", "log_of_power", "log_of_power1p", "product-of 0", "share"),
    "clip", "complex_sign", "cumprod_op-zeros", "divide_no_nan", "log_sigmoid", "max_pool_op", "maximum", "minimum",
    "mod",
    "gather_taps_op", "scatter_taps_op", "put_band-set_diag", "reduce_euclidean_norm_op-norm-inf-of-matrix",
    "reduce_logsumexp_op", "reduce_max_op", "reduce_min_op", "reduce_prod_op", "relu", "relu6", "segment_max_op",
    "segment_min_op", "select", "sigmoid", "sigmoid_cross_entropy_op", "sign", "sign_sloped", "slogdet_op", "softplus",
    "squared_difference_op", "tensor_scatter_max_op", "tensor_scatter_min_op", "truncatemod", "unsorted_segment_min_op",
    "unsorted_segment_prod_op",
}  # fmt: skip
"""Ops, or single rows, whose derivative vanishes here and there, as the data have it."""


class Contents:
    """Contents of indices, and which were looked at."""

    def __init__(self) -> None:
        self.used: list[np.ndarray] = []

    def __call__(self, value: Any) -> Any:
        array = constant_value(value)
        if array is not None:
            self.used.append(array)
        return array


def recorded_row(row: Row, inputs: list[Any], wrt: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """The nodes of a row, its sources and its targets."""
    nodes, values, out = recorded(row.apply, *inputs)
    return nodes, [values[i] for i in wrt], differentiable(out)


def points(row: Row, dtype: str, wrt: tuple[int, ...]) -> list[list[Any]]:
    """Inputs that differ only in what is differentiated."""
    first = row.arrays(dtype)
    return [[x if i in wrt else first[i] for i, x in enumerate(row.arrays(dtype, k))] for k in range(POINTS)]


@cases(with_derivatives(WIDE))
def test_derivatives_lie_within_the_pattern(row: Row, dtype: str) -> None:
    wrt = row.differentiable(row.arrays(dtype))
    found: list[list[Pattern]] = []
    used: list[np.ndarray] = []
    seen: list[list[np.ndarray]] = []
    for inputs in points(row, dtype, wrt):
        contents = Contents()
        nodes, sources, targets = recorded_row(row, inputs, wrt)
        here = patterns_either_way(nodes, sources, targets, Sites(contents))
        if not found or not all(map(np.array_equal, contents.used, used)):
            # patterns hold for other data, but not for other indices
            found, used, seen = here, contents.used, [[np.zeros(p.shape, bool) for p in line] for line in here]
        for line, numbers, total in zip(found, nonzeros(nodes, sources, targets), seen, strict=True):
            for pattern, nonzero, union in zip(line, numbers, total, strict=True):
                assert not (nonzero & ~entries(pattern)).any()
                union |= nonzero
    if not {row.op.name, row.id} & {*DENSE, *LOOSE, *DATA}:
        for line, total in zip(found, seen, strict=True):
            for pattern, union in zip(line, total, strict=True):
                assert pattern.nnz == union.sum()


def test_all_ops_have_a_rule() -> None:
    without = {op.name for op in OPS.values() if op.vjp is not None and op.sparsity is None}
    assert without == set(DENSE)


def test_exceptions_are_there() -> None:
    names = {op.name for op in OPS.values()} | {row.id for row in ROWS}
    assert {*LOOSE, *DATA} <= names and not set(LOOSE) & DATA


@pytest.mark.parametrize("row", [r for r in ROWS if r.op.moves and r.order and not r.call], ids=lambda r: r.id)
def test_moves_copy(row: Row) -> None:
    """Peeling relies on it: each element of the result is one of an operand's, or does not depend on them at all."""
    inputs = row.arrays("float64" if "float64" in row.dtypes else row.dtypes[0])
    wrt = row.differentiable(inputs)
    if not wrt:
        return
    assert_copies(row.apply, inputs, wrt)


def assert_copies(fn: Callable[..., Any], inputs: list[Any], wrt: tuple[int, ...]) -> None:
    nodes, _, _ = recorded(fn, *inputs)
    (node,) = [n for n in nodes if n.op.moves]
    maps = move_map(node, Sites(constant_value))
    assert maps is not None
    for out, of in zip(node.outputs, maps, strict=True):
        known = np.zeros(out._array.size, bool)
        for i in wrt:
            index = of[i]
            here = index >= 0
            assert not (known & here).any()
            known |= here
            np.testing.assert_array_equal(np.ravel(out._array)[here], np.ravel(inputs[i])[index[here]])
