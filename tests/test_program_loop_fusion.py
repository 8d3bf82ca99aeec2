"""The passes for large arrays, loop fusion and in-place concat: they change no bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.compiler.ir.layout import Order
from engine.compiler.passes import loop_fusion
from engine.core.dtypes import float32, float64
from engine.core.structural import reshape_to, scale
from engine.core.value import dtype_of
from engine.ops import arithmetic, explog, linalg, reduce, shape, trig
from engine.ops.compare import cast, where
from engine.ops.joining import concat
from engine.ops.scan import cumsum
from tests.support import assert_same_bits
from tests.test_program import lowered, names, numbers
from tests.test_program_passes import ALWAYS

# ---- loop fusion -----------------------------------------------------------------------------------------------------


def chain(x: Any, y: Any) -> Any:
    """Elementwise ops of several kinds, with results that are used in other shapes and by others."""
    a = trig.sin(x) * x + 2.0
    b = shape.expand_dims(explog.exp(-a * y), 0)
    c = scale(shape.squeeze(b, 0), explog.sqrt(x))
    d = where(x > y, c, arithmetic.maximum(x, y))
    return [d, b, reduce.reduce_sum(a), explog.log1p(d * d) - a]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bytes_", [1 << 10, 3000, 1 << 30])
def test_blocks_change_no_bit(dtype: str, bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_fusion, "LARGE", 100)
    monkeypatch.setattr(loop_fusion, "TILE_BYTES", bytes_)
    monkeypatch.setattr(loop_fusion, "SHORT", 10)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((41, 37)).astype(dtype) for _ in range(2))
    program, plain = lowered(chain, [x, y]), lowered(chain, [x, y], ALWAYS)
    assert "fused_loop" in names(program) and program.report["loop_fusion"] >= 10
    assert_same_bits(program(x, y), plain(x, y))
    again = pickle.loads(pickle.dumps(program))
    assert_same_bits(again(x, y), plain(x, y))
    assert "sin" in str(program)
    row, wide = x[:1], np.repeat(x, 3, axis=1)
    others = [np.asfortranarray(x), x[::-1], wide[:, :37], wide[:, ::3], wide[:, ::-3], np.broadcast_to(row, x.shape)]
    for other in others:
        for pair in ((other, y), (y, other), (other, other)):
            assert_same_bits(program(*pair), plain(*pair))
            assert [o.flags.c_contiguous for o in program(*pair)] == [o.flags.c_contiguous for o in plain(*pair)]


def some_chain(rng: np.random.Generator, x: Any, y: Any) -> list[Any]:
    """Random ops on results made shortly before and long before, of three dtypes."""
    values = [x, y]
    for _ in range(14):
        a, b = (values[-1 - min(int(rng.geometric(0.3)) - 1, len(values) - 1)] for _ in range(2))
        b = cast(b, dtype_of(a))
        makes = [
            lambda a=a: trig.sin(a),
            lambda a=a: cast(a, float32 if dtype_of(a) == float64 else float64),
            lambda a=a, b=b: a * b,
            lambda a=a, b=b: a - b,
            lambda a=a, b=b: where(a > b, a, -b),
        ]
        values.append(makes[rng.integers(len(makes))]())
    return [
        values[-1],
        values[int(rng.integers(2, len(values)))],
        cast(values[-2], float64) + cast(values[-3], float64),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_memory_of_a_block_is_used_again_when_it_is_free(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LARGE", 100), ("TILE_BYTES", 1 << 10), ("SHORT", 10)):
        monkeypatch.setattr(loop_fusion, name, value)
    x, y = np.random.default_rng(seed).standard_normal((2, 41, 37))
    given = [x, y.astype(np.float32)]
    f = lambda x, y: some_chain(np.random.default_rng(seed), x, y)  # noqa: E731
    program, plain = lowered(f, given), lowered(f, given, ALWAYS)
    assert "fused_loop" in names(program)
    for _ in range(2):
        assert_same_bits(program(*given), plain(*given))


def test_blocks_hold_few_elements_in_memory() -> None:
    x = np.linspace(0, 1, 1 << 19)
    program = lowered(lambda x: trig.sin(x) * trig.cos(x) + explog.exp(x), [x])
    assert names(program) == ["fused_loop"] and program.report["loop_fusion"] == 5
    assert_same_bits(program(x), [np.sin(x) * np.cos(x) + np.exp(x)])
    assert names(lowered(lambda x: trig.sin(x) * x, [x[:1000]])) == ["sin", "multiply"]


def test_a_zero_in_a_block_stays_zero() -> None:
    x = np.zeros(1 << 19)
    x[-1] = 4.0
    f = lambda ct, x: scale(ct, explog.rsqrt(x)) + 1.0  # noqa: E731
    program = lowered(f, [x, x])
    assert names(program) == ["fused_loop"]
    assert_same_bits(program(x, x), [np.where(x == 0, 1.0, 3.0)])


def test_blocks_that_are_complete_do_not_wait() -> None:
    """What chunks of a Jacobian make must not be there all at once."""
    x = np.linspace(0, 1, 1 << 19)

    def chunks(x: Any, *seeds: Any) -> Any:
        return [cumsum(scale(seed, trig.cos(x)) + seed) for seed in seeds]

    program = lowered(chunks, [x, x, 2 * x, 3 * x])
    # the first has the cosine too
    assert names(program) == ["fused_loop", "cumsum_op"] * 3
    plain = lowered(chunks, [x, x, 2 * x, 3 * x], ALWAYS)
    assert_same_bits(program(x, x, 2 * x, 3 * x), plain(x, x, 2 * x, 3 * x))


# ---- in-place concat -------------------------------------------------------------------------------------------------


def test_large_arrays_are_joined_piece_by_piece() -> None:
    x = numbers(100, 200)
    f = lambda x: concat([trig.sin(x), cumsum(x), trig.cos(x)[:50]], 0)  # noqa: E731
    program, plain = lowered(f, [x]), lowered(f, [x], ALWAYS)
    assert program.report["inplace_concat"] == 1 and "concat_op" not in names(program)
    assert names(program).index("write_rows") < names(program).index("cumsum_op")
    first = program(x)
    assert_same_bits(first, plain(x))
    # each run has an array of its own
    program(-x)
    assert_same_bits(first, plain(x))
    assert_same_bits(pickle.loads(pickle.dumps(program))(x), plain(x))


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: concat([trig.sin(x), trig.cos(x)], 1), id="another axis"),
        pytest.param(lambda x: concat([trig.sin(x), trig.sin(x)], 0), id="a piece twice"),
        pytest.param(lambda x: concat([x, trig.sin(x)], 0), id="an input"),
        pytest.param(lambda x: [concat([trig.sin(x), trig.cos(x)], 0), trig.sin(x)], id="a result"),
        pytest.param(lambda x: concat([trig.sin(x[:9]), trig.cos(x[:9])], 0), id="small"),
    ],
)
def test_other_arrays_are_joined_at_the_end(f: Callable[[Any], Any]) -> None:
    x = numbers(100, 200)
    program = lowered(f, [x])
    assert "inplace_concat" not in program.report and "concat_op" in names(program)
    assert_same_bits(program(x), lowered(f, [x], ALWAYS)(x))


@pytest.mark.parametrize("order", ["C", "F"])
def test_pieces_are_written_where_they_belong(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes in another order in memory is copied there."""
    monkeypatch.setattr(loop_fusion, "LARGE", 100)
    monkeypatch.setattr(loop_fusion, "SHORT", 10)
    x = np.asarray(np.random.default_rng(0).normal(size=(120, 100)), order=order)
    w = np.random.default_rng(1).normal(size=(100, 100))

    def f(x: Any, w: Any) -> Any:
        in_blocks = explog.exp(trig.sin(x) * x)
        product = linalg.matmul(x, w)
        single = shape.reshape(arithmetic.multiply(linalg.matmul(x, w, transpose_b=True), 2.0), (60, 200))
        return concat([in_blocks, product, shape.reshape(single, (120, 100))], 0)

    program, plain = lowered(f, [x, w]), lowered(f, [x, w], ALWAYS)
    assert "alloc" in names(program) and program.buffers is not None
    written = [i.op.name for i in program.instructions if {*i.outputs} & {*program.buffers.concat_rows}]
    assert sorted(written) == ["fused_loop", "matmul_op", "multiply"]
    for _ in range(2):
        assert_same_bits(program(x, w), plain(x, w))
    assert_same_bits(pickle.loads(pickle.dumps(program))(x, w), plain(x, w))


def test_the_memory_of_a_result_serves_before() -> None:
    """A chain needs no memory of its own where it may write into its result's, or over what is used up."""
    x = np.linspace(0.1, 1, 1 << 19)
    program = lowered(lambda x: [explog.exp(trig.sin(x) * x), trig.cos(x) + explog.log(x)], [x])
    (loop,) = [i.params["loop"] for i in program.instructions]
    assert_same_bits(program(x), [np.exp(np.sin(x) * x), np.cos(x) + np.log(x)])
    assert len(loop._scratch) == 1


def test_arrays_in_another_order_go_through_reshapes() -> None:
    """They cannot be cut into blocks, so they go through one op after the other."""
    x, w = numbers(700, 600).astype(float), numbers(700 * 600).astype(float)

    def f(x: Any, w: Any) -> Any:
        y = trig.sin(x)
        z = reshape_to(y, shape=(700 * 600,)) * w
        return [z * 2.0, reshape_to(y, shape=(600, 700)) + 1.0]

    program = lowered(f, [x, w], order=Order.UNKNOWN)
    assert program.report["loop_fusion"]
    for given in (x, np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2]):
        assert_same_bits(program(given, w), lowered(f, [x, w], ())(given, w))
