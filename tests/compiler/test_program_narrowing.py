"""The pass that computes parts of values: it changes no bit, signs of zero, infinities and NaN included."""

import itertools
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import graph_api
from engine.compiler.ir.instruction import Instruction
from engine.compiler.passes import known_cells, narrowing
from engine.compiler.passes.index_maps import pieces_of, whole
from engine.compiler.passes.known_cells import BIT, MINUS_ZERO, POSITIVE, UNKNOWN, ZERO, ZERO_OR_NAN
from engine.core.aval import Aval, aval_of_array
from engine.core.dtypes import float32, float64
from engine.core.structural import contiguous, reshape_to, scale
from engine.derivatives.reverse import reverse
from engine.ops.arithmetic import add, divide, maximum, multiply, negative, subtract
from engine.ops.compare import keep_chosen, not_equal, truncate
from engine.ops.creation import ones_like
from engine.ops.explog import exp, log
from engine.ops.indexing import getitem_back_op, getitem_op
from engine.ops.joining import concat, concat_op, stack, stack_op, unstack
from engine.ops.linalg import matmul
from engine.ops.rearrange import pad, roll, roll_op
from engine.ops.reduce import reduce_sum, spread_like_op
from engine.ops.shape import transpose
from engine.ops.trig import tanh
from tests.compiler.test_program import lowered
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits

WITHOUT = ("noop_elimination", *ALWAYS)


@pytest.fixture(autouse=True)
def whatever_it_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "_pays", lambda before, after: True)
    monkeypatch.setattr(narrowing, "_drops", lambda instruction, avals: True)


def with_gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def derived(x: Any) -> Any:
        out = f(x)
        return [*reverse(list(x.trace.nodes), [(out, ones_like(out))], [x]), out]

    return derived


def chain(x: Any) -> Any:
    """Each element of a vector depends on the one before it, step by step."""
    y = x
    for _ in range(4):
        y = y + 0.1 * concat([x[:1], x[1:] * y[:-1]], 0)
    return y


def heat(u: Any) -> Any:
    for _ in range(3):
        u = concat([u[:1], u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]), u[-1:]], 0)
    return u


def turned(x: Any) -> Any:
    y = x
    for _ in range(3):
        y = y + 0.1 * x * roll(y, 1, 0)
    return y


def wave(u: Any) -> Any:
    v = u
    for _ in range(3):
        v = v + 0.3 * pad(u[2:] - 2.0 * u[1:-1] + u[:-2], np.array([[1, 1], [0, 0]])[: u.aval.ndim])
        u = u + v
    return u


def rows_apart(x: Any) -> Any:
    """A recurrence whose first rows the end does not see."""
    rows = unstack(x, axis=0)
    return stack([tanh(a) * exp(-b) for a, b in itertools.pairwise(rows)], 0)


def mixed(x: Any) -> Any:
    """What needs whole operands beside what does not."""
    y = concat([x[:2] * 3.0, log(x[2:] * x[2:])], 0)
    return matmul(y, x, transpose_b=True) * reduce_sum(y) + y[:, :1]


LAST = [
    lambda x: chain(x)[-1],
    lambda x: chain(x)[0] * heat(x)[5],
    lambda x: reduce_sum(heat(x)[-2:] * wave(x)[:2]),
    lambda x: reduce_sum(rows_apart(x)[-1] * x[0]),
    lambda x: rows_apart(x)[1, 2:3],
    lambda x: mixed(x)[-1] / x[0, 0],
    lambda x: -(x * chain(x))[..., -1],
    lambda x: -turned(x)[-2],
]
KINDS = ("numbers", "zeros", "infinite")


def inputs(kind: str, rank: int) -> np.ndarray:
    rng = np.random.default_rng(rank)
    x = rng.normal(size=(24,) if rank == 1 else (9, 9))
    if kind == "zeros":
        x = rng.choice([-1.0, -0.0, 0.0, 0.5], x.shape)
    elif kind == "infinite":
        x.flat[[2, 7, 15]] = np.inf, -np.inf, np.nan
    return x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", range(len(LAST)))
def test_parts_have_the_bits_of_the_whole(k: int, kind: str) -> None:
    for rank in (1, 2):
        if rank == 1 and k >= 3:
            continue
        x = inputs(kind, rank)
        with np.errstate(all="ignore"):
            program, plain = lowered(with_gradient(LAST[k]), [x]), lowered(with_gradient(LAST[k]), [x], WITHOUT)
            assert program.report["narrowing"] > 0 and "narrowing" not in plain.report
            expected = plain(x)
            assert_same_bits(program(x), expected)
            assert_same_bits(program.run_generated(x), expected)


def computed(program: Any) -> int:
    """The elements that a program computes."""
    return sum(program.avals[i.outputs[0]].size for i in program.instructions if not narrowing._is_view(i))


def test_a_gradient_of_one_element_follows_what_leads_there() -> None:
    x = np.linspace(0.5, 1.5, 10_000)
    program = lowered(with_gradient(LAST[0]), [x])
    # the result, and a few elements for each step
    assert computed(program) < len(x) + 1000
    np.testing.assert_array_equal(np.flatnonzero(program(x)[0]), np.arange(9_995, 10_000))


def test_values_are_computed_where_somebody_looks() -> None:
    x = np.linspace(0.5, 1.5, 10_000)
    assert computed(lowered(lambda x: reduce_sum(tanh(heat(x))[:3]), [x])) < 1000


def test_zeros_whose_signs_are_not_known_are_computed() -> None:
    x, w = np.linspace(-1.0, 1.0, 100), np.where(np.arange(100) % 3, -1.0, 2.0)
    f = graph_api.Graph()
    with f.as_default():
        y, v = graph_api.placeholder(graph_api.float64, [100]), graph_api.placeholder(graph_api.float64, [100])
        (gradient,) = graph_api.gradients((y * v)[-1], y)
        with graph_api.Session() as session:
            found = session.run(gradient, {y: x, v: w})
    np.testing.assert_array_equal(np.signbit(found), w < 0)


def test_how_a_repeated_constant_lies_has_a_say_in_how_a_result_lies() -> None:
    x = np.random.default_rng(0).normal(size=(40, 1, 3)).astype(np.float32)

    def f(x: Any) -> Any:
        masks = divide(truncate(not_equal(transpose(x), 0.0), dtype=float32), 3.0)
        repeated = spread_like_op(np.float32([[[0.1]], [[0.7]], [[-0.3]]]), masks, axis=(-1,), keepdims=True)
        return [reduce_sum(transpose(multiply(scale(repeated, masks), transpose(x)))), x[:2, 0, 0]]

    program, plain = lowered(f, [x]), lowered(f, [x], WITHOUT)
    assert_same_bits(program(x), plain(x))


def test_nothing_is_narrowed_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert "narrowing" not in lowered(with_gradient(LAST[0]), [np.ones(20)]).report


# ---- what is known ---------------------------------------------------------------------------------------------------


def cells(*parts: tuple[int, known_cells.Cell]) -> known_cells.Cells:
    """A vector of cells, of (length, what is known)."""
    ends = np.cumsum([length for length, _ in parts]).tolist()
    return known_cells.Cells((tuple(ends),), tuple([c for _, c in parts]))


def of(op: Any, *operands: known_cells.Cells | None, size: int = 4, **params: Any) -> list[known_cells.Cell] | None:
    aval = Aval((size,), float64)
    avals = [Aval((size,), float64)] * len(operands)
    found = known_cells.of_elementwise(op, operands, avals, params, aval)
    return None if found is None else list(found.cells)


def test_what_is_known_of_results() -> None:
    zeros, ones, half = cells((4, 0.0)), cells((4, 1.0)), cells((2, 0.0), (2, UNKNOWN))
    assert of(multiply, None, half) == [ZERO_OR_NAN, UNKNOWN]
    assert of(multiply, half, ones) == [0.0, UNKNOWN]
    assert of(scale, half, None) == [ZERO, UNKNOWN]
    assert of(scale, None, half) is None and of(divide, None, half) is None
    assert of(divide, half, None) == [ZERO_OR_NAN, UNKNOWN]
    either, masked = cells((4, ZERO)), cells((4, ZERO_OR_NAN))
    assert of(add, either, zeros) == of(subtract, zeros, either) == [0.0]
    assert of(add, either, either) == of(subtract, either, zeros) == [ZERO]
    assert of(subtract, either, cells((4, MINUS_ZERO))) == of(negative, cells((4, MINUS_ZERO))) == [0.0]
    assert of(negative, zeros) == [MINUS_ZERO]
    assert of(keep_chosen, masked, half, fixed=True) == [ZERO, ZERO_OR_NAN]
    assert of(keep_chosen, None, ones, fixed=True) is None
    assert of(add, ones, cells((4, BIT))) == [POSITIVE]
    assert of(maximum, ones, cells((4, BIT))) == [1.0] and of(maximum, zeros, cells((4, BIT))) == [BIT]
    assert of(maximum, ones, half) == [1.0, UNKNOWN] and of(maximum, cells((4, 2.0)), cells((4, BIT))) is None
    assert of(exp, zeros) == [1.0]
    assert of(divide, zeros, zeros) is None  # NaN


def test_cells_of_several_axes() -> None:
    corner = np.zeros((4, 6))
    corner[1:3, 4:] = 2.0
    c = known_cells.of_constant(corner)
    assert c == known_cells.Cells(((1, 3, 4), (4, 6)), (0.0, 0.0, 0.0, 2.0, 0.0, 0.0))
    assert c is not None and c.besides_zeros(whole((4, 6))) == ((1, 3), (4, 6))
    assert c.besides_zeros(((2, 4), (0, 5))) == ((2, 3), (4, 5))
    assert c.besides_zeros(((0, 1), (0, 6))) is None
    np.testing.assert_array_equal(c.array(((0, 2), (3, 6)), float), corner[0:2, 3:6])
    row = cells((4, 1.0), (2, UNKNOWN))
    sizes = [Aval((4, 6), float64), Aval((6,), float64)]
    product = known_cells.of_elementwise(multiply, [c, row], sizes, {}, sizes[0])
    # a zero times what is not known may be NaN
    mixed = (0.0, ZERO_OR_NAN, 0.0, UNKNOWN, 0.0, ZERO_OR_NAN)
    assert product == known_cells.Cells(((1, 3, 4), (4, 6)), mixed)
    mask = known_cells.of_constant(np.broadcast_to(np.eye(2)[:, None, :], (2, 50, 2)))
    assert mask is not None and mask.ends == ((1, 2), (50,), (1, 2))
    assert known_cells.of_constant(np.random.default_rng(0).normal(size=1000)) is None
    assert known_cells.of_constant(np.eye(17)) is None


def pieces_in(op: Any, params: Any, operands: list[Aval], out: Aval, constants: Any = MappingProxyType({})) -> Any:
    values = tuple(range(len(operands)))
    return pieces_of(Instruction(op, values, params, (-1,)), {**dict(enumerate(operands)), -1: out}, constants)


@pytest.mark.parametrize(
    ("op", "params", "shapes"),
    [
        (concat_op, {"axis": 1}, [(3, 2), (3, 4)]),
        (stack_op, {"axis": 1}, [(3, 2), (3, 2)]),
        (contiguous, {}, [(3, 2)]),
        (reshape_to, {"shape": (1, 3, 4)}, [(3, 1, 4)]),
        (getitem_op, {"spec": ((1, 3, None), 0, None, ...)}, [(4, 3, 2)]),
        (getitem_back_op, {"spec": (-1, (1, None, None)), "lead": 0, "like_lead": 0}, [(2, 2), (3, 3, 2)]),
        (getitem_back_op, {"spec": (None, ..., (0, 1, None))}, [(1, 3, 1), (3, 2)]),
        (roll_op, {"axis": (-1,)}, [(2, 5), 3]),
        (roll_op, {"axis": (0,)}, [(4, 2), -1]),
        (roll_op, {"axis": (0,)}, [(4, 2), 8]),
    ],
)
def test_pieces_are_where_the_kernel_puts_them(op: Any, params: Any, shapes: Any) -> None:
    arrays = [
        np.arange(1.0, 1 + np.prod(s)).reshape(s) + 100 * i if isinstance(s, tuple) else np.array([s])
        for i, s in enumerate(shapes)
    ]
    expected = op.kernel(*arrays, **params)
    pieces = pieces_in(op, params, [aval_of_array(a) for a in arrays], aval_of_array(expected), dict(enumerate(arrays)))
    assert pieces is not None
    out = np.zeros_like(expected)
    for piece in pieces:
        source = piece.source(whole(out.shape), arrays[piece.operand].shape)
        assert source is not None
        index = tuple([slice(*ends) for ends in piece.target(source)])
        out[index] = getitem_op.kernel(arrays[piece.operand], spec=piece.spec(source, tuple([0] * len(source))))
    np.testing.assert_array_equal(out, expected)


def test_other_indices_are_no_boxes() -> None:
    six, three = Aval((6,), float64), Aval((3,), float64)
    assert pieces_in(getitem_op, {"spec": ((None, None, 2),)}, [six], three) is None
    assert pieces_in(truncate, {}, [six], six) is pieces_in(not_equal, {}, [six, six], six) is None
