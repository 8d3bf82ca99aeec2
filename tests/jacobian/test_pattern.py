"""Patterns: their forms, and those of whole computations, exact where that is possible."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import engine.numpy_api.operators  # noqa: F401
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.core.kinds import linear
from engine.core.sparsity import Sites
from engine.core.trace import Trace, constant_value
from engine.jacobian.structure import pattern
from engine.jacobian.structure.pattern import FULLEST, SMALL, Pattern, repetitions, stacked
from engine.jacobian.structure.propagation import TooFullError, move_map, patterns
from engine.jacobian.structure.row_independence import coupling
from engine.ops.arithmetic import square
from engine.ops.conv import conv2d
from engine.ops.einsum import einsum
from engine.ops.explog import exp
from engine.ops.gather import gather
from engine.ops.joining import concat, split, stack
from engine.ops.linalg import matmul
from engine.ops.nn import softmax
from engine.ops.rearrange import pad, roll
from engine.ops.reduce import reduce_mean, reduce_sum
from engine.ops.scan import cumsum
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import reshape, stop_gradient, transpose
from engine.ops.slicing import boolean_mask
from engine.ops.trig import sin, tanh
from engine.runtime.errors import ShapeError
from engine.transforms.vjp import recorded
from tests.jacobian.numeric import entries, nonzeros_of, pattern_of, patterns_either_way

RNG = np.random.default_rng(0)

# ---- the forms -------------------------------------------------------------------------------------------------------


def random_patterns(rows: int, columns: int) -> list[Pattern]:
    """One of each form."""
    found = [
        Pattern.zero(rows, columns),
        Pattern.dense(rows, columns),
        Pattern.map(RNG.integers(-1, columns, rows), columns),
        Pattern.map(np.full(rows, -1), columns),
        Pattern.csr(csr_array(RNG.random((rows, columns)) < 0.3)),
    ]
    return found + ([Pattern.identity(rows)] if rows == columns else [])


SHAPES = [(3, 4), (4, 4), (1, 5), (5, 1), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_union(shape: tuple[int, int]) -> None:
    for a in random_patterns(*shape):
        for b in random_patterns(*shape):
            np.testing.assert_array_equal(entries(a.union(b)), entries(a) | entries(b))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows(shape: tuple[int, int]) -> None:
    for p in random_patterns(*shape):
        padded = np.vstack([entries(p), np.zeros((1, shape[1]), bool)])
        for index in (RNG.integers(-1, shape[0], 6), RNG.integers(0, shape[0], 6), np.zeros(0, int)):
            np.testing.assert_array_equal(entries(p.rows(index)), padded[index])
        assert p.rows(None) is p


@pytest.mark.parametrize("shape", SHAPES)
def test_merged(shape: tuple[int, int]) -> None:
    for p in random_patterns(*shape):
        for labels in (RNG.integers(-1, 3, shape[0]), np.zeros(shape[0], int), np.full(shape[0], -1)):
            expected = [entries(p)[labels == k].any(axis=0) for k in range(3)]
            np.testing.assert_array_equal(entries(p.merged(labels, 3)), expected)
        assert p.merged(None, shape[0]) is p


def test_merged_maps_stay_maps() -> None:
    p = Pattern.map(np.array([2, 2, 0, -1, 0]), 3).merged(np.array([0, 0, 1, 1, 1]), 2)
    assert p.form == "map" and p.index.tolist() == [2, 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_transposed_and_stacked(shape: tuple[int, int]) -> None:
    several = random_patterns(*shape)
    for p in several:
        np.testing.assert_array_equal(entries(p.transposed()), entries(p).T)
        np.testing.assert_array_equal(entries(stacked([p, several[2]])), np.vstack([entries(p), entries(several[2])]))
    np.testing.assert_array_equal(entries(stacked(several)), np.vstack([entries(p) for p in several]))


@pytest.mark.parametrize("times", [2, 6])
def test_what_is_alike_in_each_row_of_a_batch_is_kept_once(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "TABLE", 20)
    tables = np.eye(3, 4, dtype=bool) | np.eye(3, 4, 1, dtype=bool), RNG.random((3, 4)) < 0.4
    a, b = (Pattern.table(there, times) for there in tables)
    whole, other = (np.kron(np.eye(times, dtype=bool), there) for there in tables)
    again = lambda first: np.ravel(np.where(first < 0, -1, first + 3 * np.arange(times)[:, None]))  # noqa: E731
    rows, labels = again(np.array([2, -1, 0, 0, 1])), again(np.array([1, -1, 1]))
    taken = np.where((rows >= 0)[:, None], whole[rows], False)
    merged = np.stack([whole[labels == k].any(axis=0) for k in range(3 * times)])
    found = [
        (a.union(b), whole | other),
        (a.transposed(), whole.T),
        (a.rows(rows), taken),
        (a.merged(labels, 3 * times), merged),
    ]
    for got, expected in found:
        assert np.array_equal(got.to_table(), expected) and np.array_equal(got.to_csr().toarray(), expected)
        assert next(repetitions([got]))[0] == times
    few = np.array([3 * times - 1, -1, 1])
    assert np.array_equal(a.rows(few).to_table(), np.where((few >= 0)[:, None], whole[few], False))
    assert not [*repetitions([Pattern.map(RNG.permutation(3 * times), 3 * times)])]


def test_full_patterns_are_dense() -> None:
    assert Pattern.csr(csr_array(np.ones((2, 3), bool))).is_dense
    assert Pattern.csr(csr_array((2, 3), dtype=bool)).is_zero
    assert Pattern.dense(0, 3).is_zero
    side = int(np.sqrt(SMALL)) + 1
    filled = np.zeros((side, side), bool)
    filled[: side // FULLEST + 1] = True
    assert Pattern.csr(csr_array(filled)).is_dense
    filled[side // FULLEST - 1 :] = False
    assert Pattern.csr(csr_array(filled)).form == "csr"


def test_unions_that_need_no_work() -> None:
    p = Pattern.identity(4)
    assert p.union(p) is p and p.union(Pattern.identity(4)).is_identity
    assert p.union(Pattern.zero(4, 4)) is p
    assert Pattern.map(np.array([0, -1]), 2).union(Pattern.map(np.array([-1, 1]), 2)).index.tolist() == [0, 1]


def test_repr() -> None:
    assert repr(Pattern.identity(3)) == "<Pattern 3 x 3 map, 3 entries>"


# ---- exact patterns --------------------------------------------------------------------------------------------------


def burgers(u: Any) -> Any:
    slope, bend = (u[2:] - u[:-2]) * 0.5, u[2:] - 2 * u[1:-1] + u[:-2]
    return u[1:-1] * slope - 0.1 * bend


def stencil(u: Any) -> Any:
    neighbors = roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1)
    return square(u) * neighbors


W1, W2 = RNG.standard_normal((3, 5)), RNG.standard_normal((5, 2))
KERNEL = RNG.standard_normal((3, 3, 1, 1))
CHOSEN = np.array([3, 0, 3, 1])

EXACT: dict[str, tuple[Any, tuple[int, ...]]] = {
    "elementwise": (lambda x: sin(x) * exp(x) + 1.0, (7,)),
    "elementwise, broadcast": (lambda x: x * np.ones((3, 4)), (4,)),
    "outer product": (lambda x: x[:, None] * x[None, :], (4,)),
    "moves": (lambda x: transpose(reshape(x, (3, 4)))[1:, ::2], (12,)),
    "pad, constant": (lambda x: pad(x, [[1, 2]], constant_values=7.0), (3,)),
    "pad, mirrored": (lambda x: pad(x, [[2, 2]], "REFLECT"), (4,)),
    "mask": (lambda x: boolean_mask(x, np.array([True, False, True])), (3,)),
    "parts joined": (lambda x: concat([x[2:], sin(x[:1]), x], 0), (4,)),
    "many parts": (lambda x: stack([x[i] * x[i] for i in range(5)]), (5,)),
    "parts among constants": (lambda x: concat([np.ones(3), sin(x), np.ones(2)], 0), (2,)),
    "split": (lambda x: split(x, 2)[1] * 2.0, (6,)),
    "sum": (lambda x: reduce_sum(x, axis=1), (3, 4)),
    "sum, axes": (lambda x: reduce_sum(square(x), axis=(0, 2), keepdims=True), (2, 3, 4)),
    "total": (lambda x: reduce_sum(x), (3, 4)),
    "mean subtracted": (lambda x: x - reduce_mean(x, axis=1, keepdims=True), (3, 4)),
    "segments": (lambda x: unsorted_segment_sum(x, np.array([1, -1, 1, 2]), 3), (4,)),
    "softmax": (lambda x: softmax(x), (3, 4)),
    "softmax, first axis": (lambda x: softmax(x, axis=0), (3, 4)),
    "matmul": (lambda x: matmul(x, W1), (4, 3)),
    "matmul, transposed": (lambda x: matmul(x, W1, transpose_a=True), (3, 4)),
    "matmul, from the left": (lambda x: matmul(W1, x), (5, 4)),
    "matmul, stacks": (lambda x: matmul(x, np.ones((2, 1, 3, 2))), (4, 5, 3)),
    "einsum": (lambda x: einsum("ijk,kl->lij", x, W1), (2, 4, 3)),
    "convolution": (lambda x: conv2d(x, KERNEL, 1, "SAME"), (2, 5, 4, 1)),
    "Burgers": (burgers, (12,)),
    "stencil on a torus": (stencil, (5, 6)),
    "network on a batch": (lambda x: matmul(tanh(matmul(x, W1)), W2), (6, 3)),
    "arrowhead": (lambda x: concat([reduce_sum(square(x))[None], x[1:] * x[0]], 0), (6,)),
    "gathered blocks": (lambda x: reduce_sum(square(gather(x, CHOSEN)), axis=1), (5, 3)),
    "stopped": (lambda x: x * reduce_sum(stop_gradient(x)), (3,)),
    "nothing": (lambda x: stop_gradient(x) * 2.0, (3,)),
    "a single element": (lambda x: x[None] * np.ones(3), ()),
    "no element": (lambda x: sin(x), (0, 3)),
}


@pytest.mark.parametrize(("fn", "shape"), EXACT.values(), ids=EXACT)
def test_exact(fn: Any, shape: tuple[int, ...]) -> None:
    x = RNG.uniform(0.5, 1.5, shape)
    np.testing.assert_array_equal(entries(pattern_of(fn, x)), nonzeros_of(fn, x))


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"exclusive": True}, {"exclusive": True, "reverse": True}])
def test_a_cumulative_sum_is_a_triangle(options: dict[str, bool]) -> None:
    for shape, axis in (((2, 3), 1), ((3, 2), 0), ((24,), 0), ((1, 4, 1), 1)):
        fn = lambda x, axis=axis: cumsum(x, axis=axis, **options)  # noqa: E731
        x = np.ones(shape)
        np.testing.assert_array_equal(entries(pattern_of(fn, x)), nonzeros_of(fn, x))
    # half of the entries of long rows are not worth a link for each step
    assert pattern_of(lambda x: cumsum(x, axis=1, **options), np.ones((20, 40))).nnz == 20 * 40**2


def test_elementwise_chains_stay_the_identity() -> None:
    assert pattern_of(lambda x: tanh(sin(x) * exp(x)) + x, np.ones((3, 4))).is_identity


# ---- several sources and targets -------------------------------------------------------------------------------------


def test_several_sources_and_targets() -> None:
    nodes, (x, y), (f, g) = recorded(lambda x, y: (x * 2.0, x[:1] + y), np.ones(3), np.ones(2))
    (ff, fy), (gx, gy) = patterns_either_way(nodes, [x, y], [f, g], Sites(constant_value))
    assert ff.is_identity and fy.is_zero and fy.shape == (3, 2)
    assert gx.index.tolist() == [0, 0] and gy.is_identity
    assert patterns_either_way(nodes, [x, x], [x, f, f], Sites(constant_value))[0][1].is_identity


def test_a_source_that_depends_on_another() -> None:
    def fn(x: Any) -> Any:
        middle = x[::-1]
        return middle, middle * 2.0

    nodes, (x,), (middle, out) = recorded(fn, np.ones(3))
    by_x, by_middle = patterns_either_way(nodes, [x, middle], [out], Sites(constant_value))[0]
    assert by_x.index.tolist() == [2, 1, 0] and by_middle.is_identity


@pytest.mark.parametrize("fn", [lambda x: reduce_sum(x * x[::-1]), lambda x: cumsum(x)])
def test_patterns_that_fill_up_are_given_up(fn: Any) -> None:
    """Back from the targets where these are fewer, and forward otherwise."""
    nodes, sources, out = recorded(fn, np.ones(200))
    most = patterns(nodes, sources, [out], Sites(constant_value))[0][0].nnz
    assert patterns(nodes, sources, [out], Sites(constant_value), most)[0][0].nnz == most
    with pytest.raises(TooFullError):
        patterns(nodes, sources, [out], Sites(constant_value), most - 1)


def test_complex_values() -> None:
    x = np.ones((2, 3), np.complex128)
    np.testing.assert_array_equal(
        entries(pattern_of(lambda x: matmul(x, x, transpose_b=True), x)),
        nonzeros_of(lambda x: matmul(x, x, transpose_b=True), x),
    )


# ---- what is not known -----------------------------------------------------------------------------------------------


def graph(*shapes: Any) -> tuple[Trace, list[Any]]:
    trace = Trace()
    return trace, [trace.placeholder(Aval(shape, float64)) for shape in shapes]


def test_graphs_have_the_patterns_of_tapes() -> None:
    trace, (u,) = graph((12,))
    out = burgers(u)
    ((found,),) = patterns(trace.nodes, [u], [out], Sites(constant_value))
    np.testing.assert_array_equal(entries(found), nonzeros_of(burgers, RNG.uniform(0.5, 1.5, 12)))


def test_unknown_shapes_are_named() -> None:
    trace, (u,) = graph((None,))
    out = sin(u)
    with pytest.raises(ShapeError, match=r"sin|patterns"):
        patterns(trace.nodes, [u], [out], Sites(constant_value))


def test_unknown_indices_make_a_pattern_dense() -> None:
    x = np.ones((4, 2))
    nodes, (value, _), out = recorded(gather, x, np.array([1, 0]))
    assert patterns(nodes, [value], [out], Sites(lambda _: None))[0][0].is_dense
    assert patterns(nodes, [value], [out], Sites(constant_value))[0][0].nnz == 4


def test_an_op_without_a_rule_is_dense() -> None:
    op = linear("op_without_rule", lambda x: x * 2, lambda ct, x: ct * 2, lambda x: x, batch=lambda *_: None)
    assert pattern_of(lambda x: op(sin(x)), np.ones(3)).is_dense


# ---- moves -----------------------------------------------------------------------------------------------------------


def test_move_map() -> None:
    nodes, _, _ = recorded(lambda x, y: concat([x, y], 0), np.ones(2), np.ones(1))
    ((first, second),) = move_map(nodes[-1], Sites(constant_value)) or [()]
    assert first.tolist() == [0, 1, -1] and second.tolist() == [-1, -1, 0]


def test_move_map_of_several_results() -> None:
    nodes, _, _ = recorded(lambda x: split(x, 2), np.ones(4))
    assert [of[0].tolist() for of in move_map(nodes[-1], Sites(constant_value)) or []] == [[0, 1], [2, 3]]


def test_move_map_of_what_does_more() -> None:
    nodes, _, _ = recorded(lambda x: sin(x), np.ones(4))
    assert move_map(nodes[-1], Sites(constant_value)) is None
    nodes, _, _ = recorded(gather, np.ones((4, 2)), np.array([1, 0]))
    assert move_map(nodes[-1], Sites(lambda _: None)) is None


# ---- size ------------------------------------------------------------------------------------------------------------


def test_sparse_patterns_are_large_as_their_entries() -> None:
    found = pattern_of(burgers, np.ones(100_000))
    assert found.form == "csr" and found.nnz == 3 * (100_000 - 2)


def test_dense_patterns_have_no_entries() -> None:
    w = np.ones((512, 512))
    found = pattern_of(lambda x: tanh(matmul(tanh(matmul(x, w)), w)), np.ones((1, 512)))
    assert found.is_dense


def test_dense_patterns_of_any_size() -> None:
    # 10^12 entries
    assert pattern_of(lambda x: x - reduce_mean(x), np.ones(1_000_000)).is_dense


# ---- rows ------------------------------------------------------------------------------------------------------------

COUPLED = {
    "mean": (lambda x: x - reduce_mean(x, axis=0), "reduce_mean_op"),
    "softmax": (lambda x: softmax(x, axis=0), "softmax_op"),
    "order": (lambda x: sin(x[::-1]), "getitem_op"),
    "product": (lambda x: exp(matmul(x, x, transpose_b=True)), "matmul_op"),
    "given up": (lambda x: x * square(reduce_sum(x)), "reduce_sum_op"),
}
ROWWISE = {
    "elementwise": sin,
    "product": lambda x: matmul(x, np.ones((3, 2))),
    "there and back": lambda x: transpose(sin(transpose(x))),
    "another shape": lambda x: reshape(square(reshape(x, (12,))), (4, 3)),
    "constant": lambda x: stop_gradient(x),
    "not looked at": lambda x: concat([x, softmax(x, axis=0)], 0)[:4],
}


@pytest.mark.parametrize(("fn", "op"), COUPLED.values(), ids=COUPLED)
def test_coupled_rows(fn: Any, op: str) -> None:
    nodes, (x,), out = recorded(fn, np.ones((4, 3)))
    node = coupling(nodes, x, out, constant_value)
    assert node is not None and node.op.name == op


@pytest.mark.parametrize("fn", ROWWISE.values(), ids=ROWWISE)
def test_independent_rows(fn: Any) -> None:
    nodes, (x,), out = recorded(fn, np.ones((4, 3)))
    assert coupling(nodes, x, out, constant_value) is None


def test_a_few_rows_of_many_are_taken_without_a_table_of_all() -> None:
    # of which there would be 300 GB
    rows = np.arange(5_000_000)
    pattern = Pattern.csr(csr_array((np.ones(10_000_000, bool), (np.tile(rows, 2), np.r_[rows, rows + 1] % 60_000))))
    assert pattern.form == "csr" and pattern.rows(np.array([7, 4_999_999])).nnz == 4
