"""The pass that splits arrays of short rows: it changes no bit, and the two spellings of a formula are one program."""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
from engine.compiler.ir.code import Code
from engine.compiler.passes import columns
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.core.structural import broadcast_like, sum_to_like_op
from engine.ops.compare import logical_and
from engine.ops.explog import exp, sqrt
from engine.ops.gather import gather, gather_op
from engine.ops.joining import concat, stack, unstack
from engine.ops.linalg import cross, matmul
from engine.ops.reduce import reduce_sum
from engine.ops.selection import flat_gather_op
from engine.ops.shape import reshape
from engine.ops.trig import cos, sin
from tests.compiler.test_program import lowered, names
from tests.compiler.test_program_narrowing import with_gradient
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits

ROWS = 700


def turned(x: Any) -> Any:
    """Rows turned about others."""
    r, v = x[:, :3], x[:, 3:6]
    angle = sqrt(reduce_sum(r * r, 1, True))
    axis = r / angle
    along = reduce_sum(axis * v, 1, True) * (1.0 - cos(angle))
    return v * cos(angle) + cross(axis, v) * sin(angle) + axis * along


def projected(x: Any) -> Any:
    seen = turned(x)
    image = seen[:, :2] / seen[:, 2:]
    square = reduce_sum(image * image, 1, True)
    return reshape(image * (1.0 + x[:, 3:4] * square) - x[:, 4:6], (-1,))


def rearranged(x: Any) -> Any:
    a, b, c = unstack(x[:, :3], axis=1)
    y = concat([stack([b, c, a], 1), x[:, 3:5] * x[:, :1]], 1)
    return exp(-y * y) + y[:, 2:3]


def gathered(x: Any) -> Any:
    near = gather(x, np.arange(ROWS) % 7) - x + gather(x[:, ::-1], np.arange(ROWS)[::-1] // 3)
    return near / (1.0 + reduce_sum(near * near, 1, True))


def summed(x: Any) -> Any:
    """Sums of rows whose numbers are zeros of both signs."""
    return reduce_sum(-x[:, :4] * 0.0, 1, True) * x + x[0]


FUNCTIONS = (turned, projected, rearranged, gathered, summed)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_rows_by_columns_have_the_same_bits(
    f: Callable[[Any], Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_GAIN", 0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 6)).astype(dtype)
    x[3], x[5], x[7, 2], x[9, 1] = 0.0, -0.0, np.inf, np.nan
    with np.errstate(all="ignore"):
        program, plain = lowered(with_gradient(f), [x]), lowered(with_gradient(f), [x], ALWAYS)
        expected = plain(x)
        assert program.report["columns"] > 0 and "columns" not in plain.report
        assert_same_bits(program(x), expected)
        assert_same_bits(program.run_generated(x), expected)


def test_all_is_one_loop_over_the_rows() -> None:
    x = np.random.default_rng(0).normal(size=(ROWS, 6))
    program = lowered(with_gradient(projected), [x])
    count = Counter(len(program.avals[i.outputs[0]].shape) for i in program.instructions if i.op.elementwise)
    assert set(count) == {1}
    assert not {"cross_op", "reduce_sum_op", "slice_sum"} & set(names(program))


def test_what_is_taken_at_indices_is_taken_column_by_column() -> None:
    x = np.random.default_rng(0).normal(size=(90, 4))
    indices = np.random.default_rng(1).integers(0, 90, (2, ROWS))

    def springs(x: Any) -> Any:
        apart = gather(x, indices[0])[:, :3] - gather(x, indices[1])[:, :3]
        return sqrt(reduce_sum(apart * apart, 1, True)) * apart

    program, plain = lowered(springs, [x]), lowered(springs, [x], ALWAYS)
    taken = [program.avals[i.outputs[0]].shape for i in program.instructions if i.op is gather_op]
    assert taken == [(ROWS,)] * 6  # the fourth column is not needed
    assert_same_bits(program(x), plain(x))
    assert_same_bits(program.run_generated(x), plain(x))


def test_rows_that_are_taken_apart_by_hand_are_taken_apart_in_the_loop() -> None:
    x = np.random.default_rng(0).normal(size=(90, 3))
    at = np.arange(ROWS) % 90

    def f(x: Any) -> Any:
        a, b, c = unstack(gather(x, at), axis=1)
        return a * b - c * a + b

    program, plain = lowered(f, [x]), lowered(f, [x], ALWAYS)
    assert not {"unstack_op", "contiguous"} & set(names(program))
    assert_same_bits(program(x), plain(x))


def test_few_rows_stay_rows() -> None:
    assert "columns" not in lowered(with_gradient(turned), [np.ones((20, 6))]).report


def test_what_takes_whole_arrays_stays_as_it_is() -> None:
    x = np.random.default_rng(0).normal(size=(ROWS, 3))
    program = lowered(lambda x: matmul(matmul(x, x, transpose_a=True), x * 2.0, transpose_b=True), [x])
    assert "columns" not in program.report


def test_numbers_of_rows_are_added_up_as_numpy_does() -> None:
    for dtype in (np.dtype("f4"), np.dtype("f8")):
        assert all(columns._adds_alike((64, count), (1,), dtype) for count in range(2, 17))
        assert columns._adds_alike((64, 3, 3), (1, 2), dtype) and columns._adds_alike((64, 3, 2), (1,), dtype)
        # rows of nine numbers, one after the other
        assert not columns._adds_alike((64, 9, 3), (1,), dtype)


def test_vectors_are_put_together_once() -> None:
    """What gathers from rows that were put together reads the vectors themselves."""
    positions = np.arange(2 * ROWS).reshape(2, ROWS).T.ravel()

    def f(x: Any) -> Any:
        y = x[:, :2] * x[:, 2:3] + x[:, 1:2]
        return flat_gather_op(reshape(y, (-1,)), positions[::-1].copy()[::-1].copy(), size=2 * ROWS, distinct=True)

    x = np.random.default_rng(0).normal(size=(ROWS, 3))
    program, plain = lowered(f, [x]), lowered(f, [x], ALWAYS)
    assert_same_bits(program(x), plain(x))


def test_a_sparse_jacobian_of_rows() -> None:
    given = np.random.default_rng(0).normal(size=(ROWS, 6))
    results = []
    for split in (True, False):
        graph = graph_api.Graph()
        with graph.as_default(), pytest.MonkeyPatch.context() as patched:
            if not split:
                patched.setattr(columns, "_LONG", 1 << 30)
            x = graph_api.placeholder(graph_api.float64, given.shape)
            r, v = x[:, :3], x[:, 3:]
            y = graph_api.linalg.cross(r, v) / graph_api.reduce_sum(r * r, 1, keepdims=True)
            jacobian = graph_api.jacobian(y[:, :2], x, format="csr")
            with graph_api.Session() as session:
                results.append(session.run(jacobian, {x: given}))
    # all of r, and two of v, for each of two components
    assert results[0].nnz == results[1].nnz == ROWS * 10
    assert results[0].data.tobytes() == results[1].data.tobytes()


def test_a_value_of_two_long_axes_is_no_grid() -> None:
    work = columns._Columns(Code(avals={0: Aval((9, 9), float64), 1: Aval((2, 9, 3), float64)}), 9)
    assert work.axis(0) is None and work.axis(1) == -2 and work.shape(1) == (2, 1, 3)


def test_nothing_is_split_beside_a_value_of_too_many_vectors() -> None:
    """Its group, which computes all that is made of it tile by tile, would fall apart."""

    def f(x: Any, count: int) -> Any:
        pairs = x[:, :3][:, None, :] - reshape(x.trace.operand(np.arange(3.0 * count)), (count, 3))
        y = sin(x[:, :3] * x[:, 3:4]) + cos(x[:, 1:4])
        for _ in range(8):
            y = sin(y) + cos(y)
        return reduce_sum(reduce_sum(pairs * pairs, -1), -1), reduce_sum(y * y, -1)

    x = np.random.default_rng(0).normal(size=(ROWS, 6))
    for count, splits in ((4, True), (5, False)):
        program = lowered(functools.partial(f, count=count), [x])
        split = [i for i in program.instructions if i.op is sin and program.avals[i.outputs[0]].shape == (ROWS,)]
        assert bool(split) == splits


def test_a_sum_that_drops_an_axis_in_front_is_none_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ``[p, 2, 2]`` and a reference of two numbers behind the batch: only the shapes look alike."""

    def f(x: Any) -> Any:
        y = reshape(x[:, :4] * x[:, 4:5] + x[:, 1:5], (ROWS, 2, 2))
        return sum_to_like_op(y * y - y, np.ones(2), lead=1, ref_lead=0) * 2.0

    monkeypatch.setattr(columns, "_GAIN", 0)
    x = np.random.default_rng(0).normal(size=(ROWS, 6))
    program, plain = lowered(f, [x]), lowered(f, [x], ALWAYS)
    assert_same_bits(program(x), plain(x))
    y = (x[:, :4] * x[:, 4:5] + x[:, 1:5]).reshape(ROWS, 2, 2)
    np.testing.assert_allclose(program(x)[0], 2.0 * (y * y - y).sum(1), rtol=1e-13)


def test_a_constant_without_the_long_axis_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_LONG", 2)
    monkeypatch.setattr(columns, "_GAIN", 0)
    x, seeds = np.random.default_rng(0).normal(size=(3, 4)), np.arange(12.0).reshape(3, 4)

    def f(x: Any) -> Any:
        flat = reshape(x.trace.operand(seeds), (12,))
        return [x * 2.0 + x[:1], concat([flat, reshape(x, (12,))], 0)]

    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_what_is_repeated_along_no_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_LONG", 2)
    x = np.ones((2, 1))
    f = with_gradient(lambda x: reduce_sum(x * 2.0, []) * x)
    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))


def test_a_number_that_is_true_or_false_becomes_a_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_LONG", 2)
    monkeypatch.setattr(columns, "_GAIN", 0)
    x = np.random.default_rng(0).normal(size=(4, 3))

    def f(x: Any) -> Any:
        large = broadcast_like(reduce_sum(x), x) < 9.0
        return [logical_and(large, x < 0.5), large]

    assert_same_bits(lowered(f, [x])(x), lowered(f, [x], ALWAYS)(x))
