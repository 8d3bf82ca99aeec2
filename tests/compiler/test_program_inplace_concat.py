"""The pass that writes the operands of a large concat straight into it: it changes no bit."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.ops import arithmetic, explog, linalg, shape, trig
from engine.ops.joining import concat
from engine.ops.scan import cumsum
from tests.compiler.test_program import lowered, names, numbers
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits


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
def test_pieces_are_written_where_they_belong(order: Any) -> None:
    """What comes in another order in memory is copied there."""
    x = np.asarray(np.random.default_rng(0).normal(size=(120, 100)), order=order)
    w = np.random.default_rng(1).normal(size=(100, 100))

    def f(x: Any, w: Any) -> Any:
        elementwise = explog.exp(trig.sin(x) * x)
        product = linalg.matmul(x, w)
        single = shape.reshape(arithmetic.multiply(linalg.matmul(x, w, transpose_b=True), 2.0), (60, 200))
        return concat([elementwise, product, shape.reshape(single, (120, 100))], 0)

    program, plain = lowered(f, [x, w]), lowered(f, [x, w], ALWAYS)
    assert "alloc" in names(program) and program.buffers is not None
    written = [i.op.name for i in program.instructions if {*i.outputs} & {*program.buffers.concat_rows}]
    assert sorted(written) == ["exp", "matmul_op", "multiply"]
    for _ in range(2):
        assert_same_bits(program(x, w), plain(x, w))
    assert_same_bits(pickle.loads(pickle.dumps(program))(x, w), plain(x, w))
