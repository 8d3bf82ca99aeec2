"""Random programs of all differentiable elementwise, reduction and shape ops, written once and run in both front ends.

A program is a list of instructions; `RECIPES` says what each op does to values of any sign, so that its operands stay
where it is smooth: programs of up to 30 ops have bounded values and slopes, and finite differences stay sharp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import graph_api
import tape_api
from engine.check import inner, numeric_jvp
from engine.ops import special
from engine.transform import jvp, vjp
from tests.op_table import OPS
from tests.support import array, assert_same_bits, run_with_open_shapes

SHAPES = ((2, 3), (3,), ())
ZEROS = np.zeros((2, 3))
CONDITION = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([True, False])
ORDER = np.array([2, 0, 1, 1], np.int32)
PLACES = np.array([[0, 1], [1, 2], [1, 0]], np.int32)
SEGMENTS = np.array([0, 1, 1], np.int32)
WEIGHTS = np.array([[0.3, -0.5, 0.2], [0.1, 0.4, -0.6]])

Recipe = Callable[..., Any]


# ---- where ops are smooth --------------------------------------------------------------------------------------------


def small(tf: Any, x: Any) -> Any:
    """Any sign, at most 1.5."""
    return 1.5 * tf.tanh(x)


def positive(tf: Any, x: Any) -> Any:
    """From 0.5 to 2.5."""
    return 1.5 + tf.tanh(x)


def unit(tf: Any, x: Any) -> Any:
    """Less than 0.8 in absolute value."""
    return 0.8 * tf.tanh(x)


def fraction(tf: Any, x: Any) -> Any:
    """From 0.1 to 0.9."""
    return 0.5 + 0.4 * tf.tanh(x)


def above(tf: Any, x: Any) -> Any:
    """From 3 to 5."""
    return 4.0 + tf.tanh(x)


def matrix(tf: Any, x: Any) -> Any:
    """Small, in the shape (2, 3)."""
    return small(tf, x) + ZEROS


def named(name: str) -> Callable[[Any], Any]:
    """The function of a front end with a name that may have a dot in it."""

    def look_up(tf: Any) -> Any:
        for part in name.split("."):
            tf = getattr(tf, part)
        return tf

    return look_up


def elementwise(names: str, *domains: Callable[[Any, Any], Any]) -> dict[str, Recipe]:
    """Recipes for functions of one argument per domain."""

    def recipe(name: str) -> Recipe:
        function = named(name)
        return lambda tf, *xs: function(tf)(*[d(tf, x) for d, x in zip(domains, xs, strict=False)])

    return {name: recipe(name) for name in names.split()}


def engine_only(names: str, domain: Callable[[Any, Any], Any]) -> dict[str, Recipe]:
    """The same for functions that not both front ends have a name for."""

    def recipe(function: Any) -> Recipe:
        return lambda tf, x, _: function(domain(tf, x))

    return {name: recipe(getattr(special, name)) for name in names.split()}


RECIPES: dict[str, Recipe] = {
    # ---- elementwise
    **elementwise(
        "negative square abs exp math.expm1 sin cos tanh sinh cosh asinh atan sign math.erf math.erfc", small
    ),
    **elementwise("nn.relu nn.relu6 nn.leaky_relu nn.elu nn.selu nn.silu nn.gelu nn.softplus nn.softsign", small),
    **elementwise("sigmoid math.log_sigmoid identity nn.l2_loss", small),
    **elementwise("nn.softmax nn.log_softmax", matrix),
    **elementwise("math.reciprocal math.log math.log1p sqrt math.rsqrt math.lgamma math.digamma", positive),
    **elementwise("asin acos atanh math.erfinv tan", unit),
    **elementwise("math.ndtri", fraction),
    **elementwise("acosh", above),
    **elementwise("add subtract multiply maximum minimum math.squared_difference math.nextafter", small, small),
    **elementwise("divide math.divide_no_nan math.multiply_no_nan math.xdivy", small, positive),
    **elementwise("math.xlogy math.xlog1py", small, positive),
    **elementwise("pow", positive, small),
    **elementwise("atan2 math.igamma math.igammac", positive, positive),
    **elementwise("math.floormod truncatemod", positive, above),
    **engine_only(
        "ndtr dawsn fresnel_sin fresnel_cos bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1", small
    ),
    **engine_only("expint spence bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1", positive),
    "math.polygamma": lambda tf, x, _: tf.math.polygamma(np.float64(1), positive(tf, x)) / 4.0,
    "math.zeta": lambda tf, x, _: tf.math.zeta(np.float64(2.5), positive(tf, x)) / 4.0,
    "math.betainc": lambda tf, x, _: tf.math.betainc(np.float64(1.5), np.float64(2.5), fraction(tf, x)),
    "clip_by_value": lambda tf, x, y: tf.clip_by_value(matrix(tf, x), -1.0, above(tf, y) - 3.0),
    "where": lambda tf, x, y: tf.where(CONDITION, matrix(tf, x), matrix(tf, y)),
    "cast": lambda tf, x, _: tf.cast(tf.cast(x, tf.complex128), tf.float64),
    "cross entropy": lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=matrix(tf, y), logits=matrix(tf, x)
    ),
    # ---- reductions and scans
    "reduce_sum": lambda tf, x, _: tf.reduce_sum(matrix(tf, x), 0) / 2.0,
    "reduce_mean": lambda tf, x, _: tf.reduce_mean(matrix(tf, x), -1, keepdims=True),
    "reduce_prod": lambda tf, x, _: tf.reduce_prod(matrix(tf, x), 1, keepdims=True) / 2.0,
    "reduce_max": lambda tf, x, _: tf.reduce_max(matrix(tf, x) + WEIGHTS),
    "reduce_min": lambda tf, x, _: tf.reduce_min(matrix(tf, x) + WEIGHTS, 0),
    "reduce_logsumexp": lambda tf, x, _: tf.reduce_logsumexp(matrix(tf, x), 1, keepdims=True),
    "reduce_std": lambda tf, x, _: tf.math.reduce_std(matrix(tf, x) + 9.0 * WEIGHTS, 0),
    "reduce_variance": lambda tf, x, _: tf.math.reduce_variance(matrix(tf, x)),
    "euclidean_norm": lambda tf, x, _: tf.math.reduce_euclidean_norm(positive(tf, x) + ZEROS, 1, keepdims=True) / 2.0,
    "add_n": lambda tf, x, y: tf.add_n([matrix(tf, x), matrix(tf, y), matrix(tf, x)]) / 3.0,
    "cumsum": lambda tf, x, _: tf.cumsum(matrix(tf, x), 1, exclusive=True, reverse=True) / 2.0,
    "cumprod": lambda tf, x, _: tf.math.cumprod(matrix(tf, x), 1) / 2.0,
    "cumulative_logsumexp": lambda tf, x, _: tf.math.cumulative_logsumexp(matrix(tf, x), -1),
    "segment_sum": lambda tf, x, _: tf.math.segment_sum(tf.transpose(matrix(tf, x)), SEGMENTS)[:, :1] / 2.0,
    "unsorted_segment_max": lambda tf, x, _: tf.math.unsorted_segment_max((x + WEIGHTS)[0], SEGMENTS, 2)[:, tf.newaxis],
    # ---- shapes and data movement
    "reshape": lambda tf, x, _: tf.transpose(tf.reshape(matrix(tf, x), [3, 2])),
    "expand_dims": lambda tf, x, _: tf.squeeze(tf.expand_dims(matrix(tf, x), 1), [1]),
    "matrix_transpose": lambda tf, x, _: tf.linalg.matrix_transpose(tf.reshape(matrix(tf, x), [3, 2])),
    "fill": lambda tf, x, _: x * tf.fill([2, 3], 0.3 * tf.reduce_mean(small(tf, x))),
    "broadcast_to": lambda tf, x, _: tf.reduce_sum(tf.broadcast_to(matrix(tf, x), [2, 2, 3]), 1) / 2.0,
    "tile": lambda tf, x, _: tf.tile(matrix(tf, x), [2, 2])[1:3, 2:5],
    "concat": lambda tf, x, y: tf.concat([matrix(tf, x), matrix(tf, y)], 0)[1:3],
    "stack": lambda tf, x, y: tf.stack([matrix(tf, x), matrix(tf, y)], 1)[1],
    "unstack": lambda tf, x, _: tf.unstack(matrix(tf, x), axis=1)[2][:, tf.newaxis],
    "split": lambda tf, x, _: tf.split(matrix(tf, x), [1, 2], axis=1)[0],
    "getitem": lambda tf, x, _: matrix(tf, x)[::-1, 2:0:-2],
    "slice": lambda tf, x, _: tf.slice(matrix(tf, x), [1, 0], [1, 3]),
    "boolean_mask": lambda tf, x, _: tf.boolean_mask(matrix(tf, x), ROWS),
    "gather": lambda tf, x, _: tf.gather(matrix(tf, x), ORDER, axis=1)[:, :3],
    "gather_nd": lambda tf, x, _: tf.gather_nd(matrix(tf, x), PLACES),
    "scatter_nd": lambda tf, x, _: tf.scatter_nd(PLACES, matrix(tf, x)[0], [2, 3]),
    "scatter update": lambda tf, x, y: tf.tensor_scatter_nd_update(matrix(tf, x), PLACES, matrix(tf, y)[1]),
    "reverse": lambda tf, x, _: tf.reverse(matrix(tf, x), [0, 1]),
    "reverse_sequence": lambda tf, x, _: tf.reverse_sequence(matrix(tf, x), [2, 3], seq_axis=1),
    "roll": lambda tf, x, _: tf.roll(matrix(tf, x), [1, -1], [0, 1]),
    "pad": lambda tf, x, _: tf.pad(matrix(tf, x), [[1, 0], [1, 1]], "SYMMETRIC")[1:, :3],
    "repeat": lambda tf, x, _: tf.repeat(matrix(tf, x), [1, 0, 2], axis=1),
    "sort": lambda tf, x, _: tf.sort(matrix(tf, x) + WEIGHTS, direction="DESCENDING"),
    "top_k": lambda tf, x, _: tf.math.top_k(matrix(tf, x) + WEIGHTS, 1)[0],
    "diag_part": lambda tf, x, _: tf.linalg.diag_part(matrix(tf, x))[:, tf.newaxis],
    "diag": lambda tf, x, _: tf.linalg.diag(matrix(tf, x))[:, 0],
    "set_diag": lambda tf, x, y: tf.linalg.set_diag(matrix(tf, x), matrix(tf, y)[:, 1]),
    "band_part": lambda tf, x, _: tf.linalg.band_part(matrix(tf, x), 0, 1),
    "matmul": lambda tf, x, y: tf.matmul(matrix(tf, x), unit(tf, y) + ZEROS, transpose_b=True)[:, :1] / 3.0,
    "einsum": lambda tf, x, y: tf.einsum("ij,ij->j", matrix(tf, x), unit(tf, y) + ZEROS) / 2.0,
}
NAMES = tuple(RECIPES)

# (op, operand, operand), the operands counted back from the last value made so far
Instruction = tuple[int, int, int]
programs = st.lists(
    st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30
)


def run(tf: Any, program: Sequence[Instruction], *inputs: Any) -> Any:
    values = list(inputs)
    for op, first, second in program:
        x, y = values[-1 - first % len(values)], values[-1 - second % len(values)]
        values.append(RECIPES[NAMES[op]](tf, x, y))
    return values[-1]


def points(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.5, 1.5, shape) for shape in SHAPES]


def by_graph(program: Sequence[Instruction], shapes: Sequence[Any], opened: bool = False) -> list[Any]:
    """Value and gradients through placeholders of the given static shapes and a session."""
    tf = graph_api
    with tf.Graph().as_default():
        xs = [tf.placeholder(tf.float64, shape) for shape in shapes]
        y = run(tf, program, *xs)
        gradients = [tf.zeros([0]) if g is None else g for g in tf.gradients(y, xs)]
        with tf.Session() as session:
            start = functools.partial(run_with_open_shapes, session) if opened else session.run
            return start([y, *gradients], dict(zip(xs, points(), strict=True)))


def by_tape(program: Sequence[Instruction]) -> list[Any]:
    """Value and gradients on a tape."""
    tf = tape_api
    xs = [tf.constant(x) for x in points()]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = run(tf, program, *xs)
    return [y.numpy(), *[np.zeros([0], np.float32) if g is None else g.numpy() for g in tape.gradient(y, xs)]]


@settings(max_examples=300)
@given(programs, st.booleans())
def test_graph_and_tape_agree_to_the_bit(program: list[Instruction], known: bool) -> None:
    shapes = SHAPES if known else [(None,) * len(shape) for shape in SHAPES]
    walked = by_tape(program)
    assert_same_bits(by_graph(program, shapes), walked)
    if not known:
        assert_same_bits(by_graph(program, shapes, opened=True), walked)


@settings(max_examples=300)
@given(programs)
def test_forward_reverse_and_differences_agree(program: list[Instruction]) -> None:
    xs, tangents = points(), points(1)
    function = lambda *values: run(tape_api, program, *values)  # noqa: E731
    out, pull = vjp(function, *xs)
    ct = np.random.default_rng(2).normal(size=array(out).shape)
    pulled = [(g, t) for g, t in zip(pull(ct), tangents, strict=True) if g is not None]
    by_reverse = inner([g for g, _ in pulled], [t for _, t in pulled])
    by_forward = inner([ct], [jvp(function, xs, tangents)[1]])
    by_differences = inner([ct], [numeric_jvp(function, xs, tangents)])
    np.testing.assert_allclose(by_forward, by_reverse, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(by_differences, by_reverse, rtol=1e-6, atol=1e-6)


# ---- every op takes part ---------------------------------------------------------------------------------------------

MODULES = {
    *("arithmetic", "explog", "trig", "special", "nn", "reduce", "extrema", "stats", "scan"),
    *("shape", "rearrange", "joining", "slicing"),
}
SECOND_ORDER = {
    "bessel_scaled_by_x",
    "concat_place",
    "dawsn_curve",
    "digamma_step_of",
    "gaussian_integral",
    "length_sloped",
    "sign_sloped",
}
# these have no second derivative, so no program leads through them
FIRST_ORDER = {"betainc_grad_a", "betainc_grad_b", "zeta_grad_x"}
"""Ops that only rules of rules consist of."""


def ops_of(recipe: Recipe) -> set[str]:
    """The names of the ops in a recipe and its gradient."""
    with graph_api.Graph().as_default() as graph:
        xs = [graph_api.placeholder(graph_api.float64, [None, None]) for _ in range(2)]
        graph_api.gradients(recipe(graph_api, *xs), xs)
        return {node.op.name for node in graph.nodes}


def test_every_op_takes_part() -> None:
    used = set().union(*map(ops_of, RECIPES.values()))
    there = {op.name for op in OPS.values() if op.module.rpartition(".")[2] in MODULES and op.vjp is not None}
    assert there - used == SECOND_ORDER | FIRST_ORDER
