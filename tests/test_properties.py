"""Random programs of smooth ops: both modes to the bit, both walks, and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check import inner, numeric_jvp
from engine.core.eager import EagerTensor
from engine.core.tape import Tape
from engine.core.trace import Trace
from engine.ops.arithmetic import divide, multiply
from engine.ops.explog import exp, log1p, sqrt
from engine.ops.linalg import matmul
from engine.ops.reduce import reduce_mean
from engine.ops.shape import transpose
from engine.ops.trig import atan, cos, sin, tanh
from engine.reverse import reverse
from engine.transform import jvp, recorded
from tests.support import array, assert_same_bits, interpret, placeholders

SHAPES = ((2, 3), (3,), ())
ROW, MATRIX = np.zeros(3), np.zeros((2, 3))

# However these are chained, values and slopes stay small, so that finite differences stay sharp, and every value
# broadcasts against (2, 3).
UNARY = (
    sin,
    cos,
    tanh,
    atan,
    lambda x: exp(-x * x),
    lambda x: sqrt(1.0 + x * x) - 1.0,
    lambda x: log1p(x * x) / 2.0,
    lambda x: reduce_mean(sin(x)),
    lambda x: reduce_mean(x + ROW, -1, keepdims=True),
    lambda x: (x + ROW)[..., ::-1],
    lambda x: transpose(transpose(x + MATRIX) / 2.0),
)
BINARY = (
    lambda x, y: (x + y) / 2.0,
    lambda x, y: x - y / 2.0,
    lambda x, y: multiply(sin(x), cos(y)),
    lambda x, y: divide(x, 2.0 + y * y),
    lambda x, y: tanh(x) * y,
    lambda x, y: matmul(x + MATRIX, tanh(y + MATRIX), transpose_b=True)[:, :1] / 3.0,
)

# (op, operand, operand), the operands counted back from the last value made so far
Instruction = tuple[int, int, int]
programs = st.lists(
    st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 5), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)
repeatedly = settings(max_examples=400)


def run(program: list[Instruction], *inputs: Any) -> Any:
    values = list(inputs)
    for op, first, second in program:
        x, y = values[-1 - first % len(values)], values[-1 - second % len(values)]
        values.append(UNARY[op](x) if op < len(UNARY) else BINARY[op - len(UNARY)](x, y))
    return values[-1]


def inputs(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.5, 1.5, shape) for shape in SHAPES]


@repeatedly
@given(programs)
def test_graph_and_tape_agree_to_the_bit(program: list[Instruction]) -> None:
    arrays = inputs()
    nodes, xs, y = recorded(lambda *x: run(program, *x), *arrays)
    ct = np.ones_like(array(y))
    plain = reverse(nodes, [(y, ct)], xs)
    outer = Tape()
    outer.start()
    taped = reverse(nodes, [(y, EagerTensor(ct))], xs)
    outer.stop()

    for shape in (lambda s: s, lambda s: (None,) * len(s)):
        trace = Trace()
        symbols = placeholders(trace, arrays, shape)
        out = run(program, *symbols)
        gradients = reverse(trace.nodes, [(out, trace.capture(ct))], symbols)
        got = interpret(trace, zip(symbols, arrays, strict=True), [out, *gradients])
        assert_same_bits(got, [y, *plain])
        assert_same_bits(got, [y, *taped])


@repeatedly
@given(programs)
def test_derivatives_agree(program: list[Instruction]) -> None:
    points, tangents = inputs(), inputs(1)
    function = lambda *x: run(program, *x)  # noqa: E731
    nodes, xs, y = recorded(function, *points)
    ct = np.random.default_rng(2).normal(size=array(y).shape)
    pulled = [(g, t) for g, t in zip(reverse(nodes, [(y, ct)], xs), tangents, strict=True) if g is not None]
    by_reverse = inner([g for g, _ in pulled], [t for _, t in pulled])
    by_forward = inner([ct], [jvp(function, points, tangents)[1]])
    by_differences = inner([ct], [numeric_jvp(function, points, tangents)])
    np.testing.assert_allclose(by_forward, by_reverse, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(by_differences, by_reverse, rtol=1e-6, atol=1e-6)
