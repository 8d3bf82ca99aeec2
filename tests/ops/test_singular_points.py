"""Derivatives of every order at points where a partial derivative is infinite, NaN or guarded."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.op import Op
from engine.ops.compare import where
from engine.ops.creation import zeros_like
from tests.op_table import OPS
from tests.tapes import gradient_in, watching

POINTS = np.array([-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.inf])
WAYS = ["r", "f", "rr", "rf", "fr", "ff", "rrr", "rfr", "frf", "fff"]
PARAMS: dict[str, dict[str, Any]] = {
    "airy": {"which": 0},
    "bessel_scaled_by_x": {"kind": "k", "order": 1, "times": 1},
    "gaussian_integral": {"times": 1, "sign": 1},
    "gelu_op": {"approximate": True},
    "inverse_mills": {"times": 0},
    "leaky_relu_op": {"alpha": 0.2},
    "log1p_ratio": {"times": 1},
    "riemann_zeta_by_order": {"times": 1},
}
OF_COMPLEX = ("erf_of_complex", "erfc_of_complex", "lambertw_op", "wofz_op", "wofz_slope")
TWICE = ("log_i0e",)
"""What has two derivatives."""
UNARY = [
    op for op in OPS.values() if op.kind == "elementwise" and len(op.args) == 1 and op.name not in (*OF_COMPLEX, *TWICE)
]
PAIRS = ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "divide_no_nan", "atan2", "xlogy", "mod"]
BINARY = [op for op in OPS.values() if op.name in (*PAIRS, "xdivy", "xlog1py", "squared_difference")]


def on_tape(fn: Callable[..., Any], points: np.ndarray, way: str) -> Any:
    """The derivatives of an elementwise function; `way` says from the innermost on how: in reverse or forward."""
    if not way:
        return fn(tape_api, points)
    tape, y = watching(points, lambda: on_tape(fn, points, way[:-1]))
    if way[-1] == "r":
        return tape.gradient(y, points, unconnected_gradients="zero")
    return tape.jvp(y, points, tape_api.ones_like(points))


def in_graph(fn: Callable[..., Any], points: Any, way: str) -> Any:
    """The same with symbols."""
    y = fn(graph_api, points)
    for direction in way:
        if direction == "r":
            (y,) = graph_api.gradients(y, points, unconnected_gradients="zero")
        else:
            y = graph_api.jvp(y, points, graph_api.ones_like(points))
    return y


def check_zeros(functions: dict[str, Callable[..., Any]], points: np.ndarray, way: str) -> None:
    """All derivatives are zero in both modes, also where the graph does not know shapes."""
    found = {name: [np.asarray(on_tape(fn, tape_api.constant(points), way))] for name, fn in functions.items()}
    for shape in (points.shape, (None,))[: 2 if len(way) < 3 else 1]:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x = graph_api.placeholder(graph_api.float64, shape)
            values = session.run({name: in_graph(fn, x, way) for name, fn in functions.items()}, {x: points})
        for name, value in values.items():
            found[name].append(value)
    wrong = [name for name, values in found.items() if any(np.any(value != 0) for value in values)]
    assert wrong == []


def not_taken(op: Op) -> Callable[..., Any]:
    """An elementwise op in a branch that is never taken."""
    return lambda tf, x: where(zeros_like(x) > 1, op(x, **PARAMS.get(op.name, {})), zeros_like(x))


@pytest.mark.parametrize("way", WAYS)
def test_the_branch_not_taken_gives_zero_at_every_order(way: str) -> None:
    check_zeros({op.name: not_taken(op) for op in UNARY}, POINTS, way)


def two_not_taken(op: Op, others: np.ndarray) -> Callable[..., Any]:
    """The same for an op of two operands, each in its turn the one that is differentiated."""

    def fn(tf: Any, x: Any) -> Any:
        other, chosen = tf.constant(others), zeros_like(x) > 1
        return where(chosen, op(x, other + x), zeros_like(x)) + where(chosen, op(other, x) ** 0.5, zeros_like(x))

    return fn


@pytest.mark.parametrize("way", WAYS)
def test_the_branch_not_taken_of_two_operands_gives_zero(way: str) -> None:
    x, y = np.array(list(itertools.product(POINTS, repeat=2))).T.copy()
    check_zeros({op.name: two_not_taken(op, y) for op in BINARY}, x, way)


@pytest.mark.parametrize("format", ["dense", "csr", "operator"])
def test_hessians_are_zero_where_the_branch_is_not_taken(format: str) -> None:
    points = np.array([-1.0, 0.0, 4.0])
    expected = np.diag([0.0, 0.0, -1 / 32])

    def full(found: Any) -> np.ndarray:
        return np.asarray(found if format == "dense" else found @ np.eye(3))

    x = tape_api.constant(points)
    tape, y = watching(x, lambda: tape_api.reduce_sum(tape_api.where(x > 0, tape_api.sqrt(x), 0.0)), persistent=True)
    np.testing.assert_array_equal(full(tape.hessian(y, x, format=format)), expected)
    np.testing.assert_array_equal(tape.hessian_diag(y, x), np.diag(expected))
    np.testing.assert_array_equal(tape.hvp(y, x, tape_api.ones_like(x)), np.diag(expected))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [3])
        y = graph_api.reduce_sum(graph_api.where(s > 0, graph_api.sqrt(s), 0.0 * s))
        (g,) = graph_api.gradients(y, s)
        wanted = [
            graph_api.hessian(y, s, format=format),
            graph_api.jacobian(g, s, format=format),
            graph_api.hessian_diag(y, s),
            graph_api.hvp(y, s, graph_api.ones_like(s)),
        ]
        hessian, jacobian, diagonal, product = session.run(wanted, {s: points})
    np.testing.assert_array_equal(full(hessian), expected)
    np.testing.assert_array_equal(full(jacobian), expected)
    np.testing.assert_array_equal(diagonal, np.diag(expected))
    np.testing.assert_array_equal(product, np.diag(expected))


# ---- what is not chosen gets nothing, not even a NaN -----------------------------------------------------------------

X = np.array([-1.0, 0.0, 1.0, 2.0, 7.0])
CHOICES: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "maximum": (lambda tf, x: tf.maximum(x, tf.zeros_like(x)), [0, 1, 1, 1, 1]),
    "maximum, second": (lambda tf, x: tf.maximum(tf.zeros_like(x), x), [0, 0, 1, 1, 1]),
    "minimum": (lambda tf, x: tf.minimum(x, tf.zeros_like(x)), [1, 1, 0, 0, 0]),
    "clip_by_value": (lambda tf, x: tf.clip_by_value(x, 0.0, 1.0), [0, 1, 1, 0, 0]),
    "lower edge": (lambda tf, x: tf.clip_by_value(tf.zeros_like(x), x, 9.0 + 0.0 * x), [0, 0, 1, 1, 1]),
    "sign": (lambda tf, x: tf.sign(x), [0, 0, 0, 0, 0]),
    "relu": (lambda tf, x: tf.nn.relu(x), [0, 0, 1, 1, 1]),
    "relu6": (lambda tf, x: tf.nn.relu6(x), [0, 0, 1, 1, 0]),
    "divide_no_nan": (lambda tf, x: tf.math.divide_no_nan(tf.ones_like(x), x), [1, 0, 1, 1, 1]),
    "where": (lambda tf, x: tf.where(x > 0, x, tf.zeros_like(x)), [0, 0, 1, 1, 1]),
    "reduce_max": (lambda tf, x: tf.reduce_max(x) + tf.zeros_like(x), [0, 0, 0, 0, 1]),
    "reduce_min": (lambda tf, x: tf.reduce_min(x) + tf.zeros_like(x), [1, 0, 0, 0, 0]),
    "segment_max": (lambda tf, x: tf.gather(tf.math.segment_max(x, [0, 0, 1, 1, 1]), [0, 0, 1, 1, 1]), [0, 1, 0, 0, 1]),
    "sort": (lambda tf, x: tf.concat([tf.sort(x)[3:], tf.zeros([3], tf.float64)], 0), [0, 0, 0, 1, 1]),
    "tensor_scatter_nd_max": (
        lambda tf, x: tf.tensor_scatter_nd_max(x, [[0], [4]], tf.zeros([2], tf.float64)),
        [0, 1, 1, 1, 1],
    ),
}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", CHOICES)
def test_no_nan_reaches_what_is_not_chosen(name: str, bad: float) -> None:
    fn, reached = CHOICES[name]
    x = tape_api.constant(X)
    for persistent in (False, True):
        # a tape that is persistent is replayed
        tape, y = watching(x, lambda: fn(tape_api, x), persistent=persistent)
        for _ in range(1 + persistent):
            found = tape.gradient(y, x, output_gradients=tape_api.fill(y.shape, np.float64(bad)))
            found = np.asarray(tape_api.convert_to_tensor(found))
            np.testing.assert_array_equal(np.isfinite(found), np.array(reached) == 0)
            np.testing.assert_array_equal(found[np.array(reached) == 0], 0.0)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        s = graph_api.placeholder(graph_api.float64, [5])
        ct = graph_api.placeholder(graph_api.float64, [5])
        (g,) = graph_api.gradients(fn(graph_api, s), s, ct)
        found = session.run(graph_api.convert_to_tensor(g), {s: X, ct: np.full(5, bad)})
        np.testing.assert_array_equal(np.isfinite(found), np.array(reached) == 0)
        np.testing.assert_array_equal(found[np.array(reached) == 0], 0.0)


def test_a_smooth_partial_that_is_zero_does_not_hide_a_nan() -> None:
    x = tape_api.constant([0.0])
    assert np.isnan(
        gradient_in(x, lambda: tape_api.cos(x) * tape_api.square(x), output_gradients=tape_api.constant([np.nan]))
    ).all()


# ---- rules that guard a point: their own derivatives there -----------------------------------------------------------


def derivative(fn: Callable[..., Any], at: tuple[float, ...], wrt: str) -> float:
    """A partial derivative of a function of scalars, `wrt` one operand after the other."""
    points = [tape_api.constant(np.float64(p)) for p in at]

    def nested(left: str) -> Any:
        if not left:
            return fn(*points)
        tape, y = watching(points, lambda: nested(left[:-1]))
        return tape.gradient(y, points[int(left[-1])], unconnected_gradients="zero")

    return float(nested(wrt))


E1 = float(np.exp(-1.0))
CLOSED: list[tuple[str, Callable[..., Any], tuple[float, ...], str, float]] = [
    # (x ** y): y x^(y-1), and its derivative in y, x^(y-1) (1 + y log x)
    ("pow", tape_api.pow, (2.0, 0.0), "0", 0.0),
    ("pow", tape_api.pow, (2.0, 0.0), "01", 0.5),
    ("pow", tape_api.pow, (2.0, 0.0), "10", 0.5),
    ("pow", tape_api.pow, (0.25, 0.0), "010", -16.0),
    ("pow", tape_api.pow, (2.0, 0.0), "011", float(np.log(2.0))),
    ("pow", tape_api.pow, (2.0, 0.0), "00", 0.0),
    ("pow", tape_api.pow, (0.0, 0.0), "0", 0.0),
    ("pow", tape_api.pow, (0.0, 0.0), "00", 0.0),
    ("pow", tape_api.pow, (0.0, 0.0), "000", 0.0),
    ("pow", tape_api.pow, (-2.0, 0.0), "0", 0.0),
    ("pow", tape_api.pow, (1e-310, 0.0), "0", 0.0),
    ("pow", tape_api.pow, (0.0, 1.0), "0", 1.0),
    ("pow", tape_api.pow, (0.0, 1.0), "00", 0.0),
    ("pow", tape_api.pow, (0.0, 2.0), "00", 2.0),
    ("pow", tape_api.pow, (0.0, 2.0), "000", 0.0),
    ("pow", tape_api.pow, (0.0, 3.0), "000", 6.0),
    ("pow", tape_api.pow, (-1.0, 3.0), "000", 6.0),
    # P(1, x) = 1 - exp(-x); its derivative in x is x^(a-1) exp(-x) / Gamma(a), in both x^(a-1) e^-x (log x - psi(1))
    ("igamma", tape_api.math.igamma, (1.0, 1.0), "1", E1),
    ("igamma", tape_api.math.igamma, (1.0, 1.0), "10", E1 * np.euler_gamma),
    ("igamma", tape_api.math.igamma, (1.0, 1.0), "01", E1 * np.euler_gamma),
    ("igamma", tape_api.math.igamma, (1.0, 1.0), "011", E1 * (1 - np.euler_gamma)),
    ("igammac", tape_api.math.igammac, (1.0, 1.0), "10", -E1 * np.euler_gamma),
    # I1(x) = x/2 + x^3/16 + x^5/384 + ..., J1 with signs
    ("bessel_i1", tape_api.math.bessel_i1, (0.0,), "0", 0.5),
    ("bessel_i1", tape_api.math.bessel_i1, (0.0,), "00", 0.0),
    ("bessel_i1", tape_api.math.bessel_i1, (0.0,), "000", 3 / 8),
    ("bessel_i1", tape_api.math.bessel_i1, (1e-6,), "000", 3 / 8),
    ("bessel_i1", tape_api.math.bessel_i1, (0.0,), "0000", 0.0),
    ("bessel_i1", tape_api.math.bessel_i1, (0.0,), "00000", 5 / 16),
    ("bessel_j1", tape_api.math.special.bessel_j1, (0.0,), "000", -3 / 8),
    ("huber", lambda x: tape_api.keras.losses.huber(tape_api.zeros([1], tape_api.float64), [x]), (0.0,), "00", 1.0),
    ("square root squared", lambda x: tape_api.sqrt(x) ** 2.0, (4.0,), "00", 0.0),
]


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}")
def test_derivatives_at_guarded_points_are_those_of_the_closed_form(case: tuple[Any, ...]) -> None:
    _, fn, at, wrt, expected = case
    np.testing.assert_allclose(derivative(fn, at, wrt), expected, rtol=1e-9, atol=1e-9)


def test_the_hessian_of_a_power_at_exponent_zero() -> None:
    at = tape_api.constant(np.array([2.0, 0.0]))
    np.testing.assert_allclose(
        gradient_in(at, lambda: at[0] ** at[1], method="hessian"), [[0.0, 0.5], [0.5, np.log(2.0) ** 2]], rtol=1e-12
    )


def test_huber_loss_is_quadratic_at_zero() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [3])
        y = graph_api.losses.huber_loss(graph_api.zeros([3], graph_api.float64), x, reduction="weighted_sum")
        value, diagonal = session.run([y, graph_api.hessian_diag(y, x)], {x: [0.0, 0.5, -3.0]})
    assert value == 0.125 + 2.5
    np.testing.assert_array_equal(diagonal, [1.0, 1.0, 0.0])


# ---- products and determinants with zeros ----------------------------------------------------------------------------


def products_of_segments(tf: Any, x: Any) -> Any:
    ids = np.array([0, 1, 0, 0, 1, -1, 1, 0], np.int32)
    return tf.reduce_sum(tf.math.unsorted_segment_prod(x, ids, 3) ** 2) + tf.math.unsorted_segment_prod(x, ids, 3)[0]


@pytest.mark.parametrize("way", ["r", "f", "rf", "rr", "fr", "ff", "rrr", "rff"])
def test_products_of_segments_with_several_zeros(way: str) -> None:
    # two zeros in each segment, or one, or none
    for x in ([0.0, 0.0, 0.0, 3.0, 0.0, 7.0, 2.0, 2.0], [0.0, 2, 3, 4, 0, 5, 0, 6], [1.0, 2, 3, 4, 5, 6, 7, 8]):

        def plain(tf: Any, x: Any) -> Any:
            first, second = x[0] * x[2] * x[3] * x[7], x[1] * x[4] * x[6]
            return first**2 + second**2 + 1.0 + first

        expected = np.asarray(on_tape(plain, tape_api.constant(x, tape_api.float64), way))
        found = on_tape(products_of_segments, tape_api.constant(x, tape_api.float64), way)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            for shape in ((8,), (None,)):
                given = graph_api.placeholder(graph_api.float64, shape)
                found = session.run(in_graph(products_of_segments, given, way), {given: x})
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["hessian", "for_scipy"])
def test_hessians_of_products_of_segments(method: str) -> None:
    fn = lambda tf, x: tf.math.segment_prod(x, np.zeros(4, np.int32))[0]  # noqa: E731
    x = np.array([0.0, 0.0, 3.0, 2.0])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 6.0
    if method == "for_scipy":
        found = tape_api.for_scipy(lambda x: fn(tape_api, x), x).hess(x)
    else:
        c = tape_api.constant(x)
        found = gradient_in(c, lambda: fn(tape_api, c), method="hessian").numpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_second_derivatives_of_determinants_of_singular_matrices(rank: int, dtype: str) -> None:
    rng = np.random.default_rng(rank)
    left, right, d, e = (rng.normal(size=shape) for shape in ((3, rank), (rank, 3), (3, 3), (3, 3)))
    x = (left @ right).astype(dtype)
    if dtype == "complex128":
        x, d, e = x * (1 + 0.5j), d + 0.3j * e, e - 0.2j * d

    # the determinant of three rows is a polynomial of the third degree: these differences are exact
    det = np.linalg.det
    expected = (det(x + d + e) - det(x + d - e) - det(x - d + e) + det(x - d - e)) / 4
    c = tape_api.constant(x)
    with tape_api.GradientTape() as outer:
        outer.watch(c)
        inner, y = watching(c, lambda: tape_api.linalg.det(c))
        first = inner.jvp(y, c, tape_api.constant(d))
    second = outer.jvp(first, c, tape_api.constant(e))
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-9, atol=1e-12)
    if dtype == "float64":
        tape, y = watching(c, lambda: tape_api.linalg.det(c))
        hessian = tape.hessian(y, c).numpy()
        np.testing.assert_allclose(np.einsum("ij,ijkl,kl", d, hessian, e), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values_at_corners_are_those_of_tensorflow(dtype: str) -> None:
    """`lgamma` at -inf, and products with 0 of what is NaN: values, and derivatives in both arguments."""
    tf = tape_api
    x, y = tf.constant([0.0, -0.0, 0.0], dtype), tf.constant([np.nan, np.nan, -2.0], dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    lgamma = tf.math.lgamma(tf.constant([-np.inf, np.inf, 0.0, tiny, -tiny], dtype)).numpy()
    np.testing.assert_array_equal(lgamma, np.array([np.inf, np.inf, np.inf, -np.log(tiny), -np.log(tiny)], dtype))
    for product in (tf.math.xlogy, tf.math.xlog1py, tf.math.xdivy):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = product(x, y)
        assert not np.any([z, *tape.gradient(z, [x, y])])


# ---- powers of norms -------------------------------------------------------------------------------------------------

SECOND = 2 * np.eye(3)


def norm_times_itself(tf: Any, x: Any) -> Any:
    n = tf.norm(x)
    return n * n


SQUARES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "norm ** 2": (lambda tf, x: tf.norm(x) ** 2, SECOND),
    "square(norm)": (lambda tf, x: tf.square(tf.norm(x)), SECOND),
    "norm * norm": (norm_times_itself, SECOND),
    "half of it": (lambda tf, x: 0.5 * tf.norm(x) ** 2 + tf.reduce_sum(x), np.eye(3)),
    "norm ** 3": (lambda tf, x: tf.norm(x) ** 3, 0 * SECOND),
    "norm ** 4": (lambda tf, x: tf.norm(x) ** 4, 0 * SECOND),
    "norms of rows": (lambda tf, x: tf.reduce_sum(tf.norm(tf.stack([x, x + 1.0]), axis=1) ** 2), 2 * SECOND),
    "reduce_euclidean_norm ** 2": (lambda tf, x: tf.math.reduce_euclidean_norm(x) ** 2, SECOND),
    "reduce_std ** 2": (lambda tf, x: tf.math.reduce_std(x) ** 2, SECOND / 3 - 2 / 9),
    "reduce_variance": (lambda tf, x: tf.math.reduce_variance(x), SECOND / 3 - 2 / 9),
    "sqrt ** 2": (lambda tf, x: tf.sqrt(tf.reduce_sum(x * x)) ** 2, SECOND),
    "abs ** 2": (lambda tf, x: tf.reduce_sum(tf.abs(x) ** 2), SECOND),
    "abs ** 2, complex": (lambda tf, x: tf.reduce_sum(tf.abs(tf.complex(x, x)) ** 2), 2 * SECOND),
    "hypot ** 2": (lambda tf, x: tf.reduce_sum(np.hypot(x, x) ** 2), 2 * SECOND),
    "l2_normalize": (lambda tf, x: tf.reduce_sum(tf.math.l2_normalize(x)), 0 * SECOND),
    "clip_by_norm": (lambda tf, x: tf.reduce_sum(tf.clip_by_norm(x, 1.0) ** 2), SECOND),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SQUARES)
def test_second_derivatives_of_powers_of_norms(name: str, dtype: str) -> None:
    """At 0 in all ways, also where the walk has been compiled."""
    fn, expected = SQUARES[name]
    x = tape_api.constant(np.zeros(3), dtype)
    for _ in range(4):
        with tape_api.GradientTape(persistent=True) as outer:
            outer.watch(x)
            inner, y = watching(x, lambda: fn(tape_api, x))
            slope = inner.gradient(y, x)
            parts = tape_api.unstack(slope)
        reversed_twice = [outer.gradient(part, x, unconnected_gradients="zero") for part in parts]
        found = [outer.jacobian(slope, x, unconnected_gradients="zero"), np.stack(reversed_twice), outer.hessian(y, x)]
        for matrix in found:
            np.testing.assert_allclose(matrix, expected, atol=1e-6)
        np.testing.assert_allclose(outer.hvp(y, x, tape_api.ones_like(x)), expected.sum(1), atol=1e-6)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        source = graph_api.placeholder(dtype, [3])
        (matrix,) = graph_api.hessians(fn(graph_api, source), source)
        np.testing.assert_allclose(session.run(matrix, {source: np.zeros(3)}), expected, atol=1e-6)


@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [1.0, -2.0, 0.5], [np.nan, 1.0, 0.0]])
def test_a_norm_that_is_a_source_keeps_its_derivative(x: list[float]) -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        source = graph_api.constant(np.array(x))
        n = graph_api.norm(source)
        by_both = graph_api.gradients(n**2, [source, n])
        (stopped,) = graph_api.gradients(n**2 + graph_api.reduce_sum(source), [source], stop_gradients=[n])
        given, slope, by_norm, rest = session.run([n, *by_both, stopped])
    np.testing.assert_array_equal(by_norm, 2 * given)
    np.testing.assert_array_equal(rest, np.ones(3))
    assert np.isnan(given) or np.allclose(slope, 2 * np.array(x))


@pytest.mark.parametrize("name", ["norm", "reduce_std"])
def test_a_norm_has_no_second_derivative_at_zero(name: str) -> None:
    fn = {"norm": tape_api.norm, "reduce_std": tape_api.math.reduce_std}[name]
    x = tape_api.constant(np.zeros(3))
    tape, y = watching(x, lambda: fn(x), persistent=True)
    np.testing.assert_array_equal(tape.gradient(y, x), np.zeros(3))
    assert not np.isfinite(np.diag(np.asarray(tape.hessian(y, x)))).any()


def of_matern(tf: Any, r: Any) -> Any:
    return (1.0 + r) * tf.exp(-r)


LENGTHS: dict[str, Callable[..., Any]] = {
    "norm": lambda tf, x: tf.norm(x),
    "np.linalg.norm": lambda tf, x: np.linalg.norm(x),
    "reduce_std": lambda tf, x: tf.math.reduce_std(x),
    "hypot": lambda tf, x: np.hypot(x[0], x[1]),
    "abs, complex": lambda tf, x: tf.abs(tf.complex(x[0], x[1])),
    "root of a sum of squares": lambda tf, x: tf.sqrt(tf.reduce_sum(tf.square(x))),
    "root of a sum of products": lambda tf, x: np.sqrt(np.sum(x * x, axis=0, keepdims=True))[0],
}
EVEN: dict[str, tuple[Callable[..., Any], float]] = {
    "matern": (of_matern, -1.0),
    "gauss": (lambda tf, r: 1.5 * tf.exp(-r * r), -3.0),
    "cosh": (lambda tf, r: tf.cosh(r), 1.0),
}
"""Even functions and their second derivatives at 0."""


def twice_by_every_way(fn: Callable[..., Any], point: np.ndarray) -> list[tuple[Any, Any]]:
    """Pairs of a gradient and its Jacobian."""
    x, tr = tape_api.constant(point), tape_api.transforms

    def twice(x: Any) -> Any:
        with tape_api.GradientTape() as outer:
            outer.watch(x)
            slope = gradient_in(x, lambda: fn(tape_api, x))
        return slope, outer.jacobian(slope, x)

    tape, y = watching(x, lambda: fn(tape_api, x))
    again = tape_api.function(twice)
    slopes = []
    for unit in np.eye(len(point)):
        with tape_api.autodiff.ForwardAccumulator(x, tape_api.constant(unit)) as accumulator:
            one = fn(tape_api, x)
        slopes.append(accumulator.jvp(one))
    found = [twice(x), again(x), again(x), (np.stack(slopes), tape.hessian(y, x))]
    firsts, seconds = (tr.grad, tr.jacrev, tr.jacfwd), (tr.jacrev, tr.jacfwd)
    found += [
        (first(lambda x: fn(tape_api, x))(point), second(first(lambda x: fn(tape_api, x)))(point))
        for first in firsts
        for second in seconds
    ]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        source = graph_api.placeholder(np.float64, point.shape)
        (slope,) = graph_api.gradients(fn(graph_api, source), source)
        found.append(session.run((slope, graph_api.jacobian(slope, source)), {source: point}))
    return found


@pytest.mark.parametrize("even", EVEN)
@pytest.mark.parametrize("length", LENGTHS)
def test_second_derivatives_of_even_functions_of_a_norm_of_zero(length: str, even: str) -> None:
    of, slope_of_slope = EVEN[even]
    block = np.array([[1, -1], [-1, 1]]) / 4 if length == "reduce_std" else np.eye(2)
    want = slope_of_slope * np.block([[block, -block], [-block, block]])
    for slope, matrix in twice_by_every_way(
        lambda tf, x: of(tf, LENGTHS[length](tf, x[:2] - x[2:])), np.array([0.3, 0.3, 0.3, 0.3])
    ):
        np.testing.assert_array_equal(np.asarray(slope), np.zeros(4))
        np.testing.assert_array_equal(np.asarray(matrix), want)


MODULI: dict[str, Callable[..., Any]] = {
    "abs": lambda tf, d: tf.abs(d),
    "np.abs, each": lambda tf, d: np.abs(d + np.zeros(1)),
    "1-norm of one number": lambda tf, d: tf.norm(tf.stack([d]), ord=1),
    "largest of one number": lambda tf, d: np.linalg.norm(tf.stack([d]), ord=np.inf),
}


@pytest.mark.parametrize("even", EVEN)
@pytest.mark.parametrize("length", MODULI)
def test_second_derivatives_of_even_functions_of_a_modulus_of_zero(length: str, even: str) -> None:
    of, slope_of_slope = EVEN[even]

    def fn(tf: Any, x: Any) -> Any:
        return tf.reduce_sum(of(tf, MODULI[length](tf, x[0] - x[1])))

    for slope, matrix in twice_by_every_way(fn, np.array([0.3, 0.3])):
        np.testing.assert_array_equal(np.asarray(slope), np.zeros(2))
        np.testing.assert_array_equal(np.asarray(matrix), slope_of_slope * np.array([[1, -1], [-1, 1]]))


NEVER_ZERO: dict[str, Callable[..., Any]] = {
    "sum of moduli": lambda tf, x: tf.exp(-(tf.reduce_sum(tf.abs(x)) ** 2)),
    "largest modulus": lambda tf, x: tf.exp(-tf.square(tf.norm(x, ord=np.inf))),
    "3-norm": lambda tf, x: tf.exp(-(tf.norm(x, ord=3) ** 2)),
    "1.5-norm": lambda tf, x: tf.cosh(np.linalg.norm(x, ord=1.5)),
    "moduli found twice": lambda tf, x: tf.reduce_sum(tf.abs(1.0 * x) * tf.abs(1.0 * x)),
}


@pytest.mark.parametrize("name", NEVER_ZERO)
def test_what_is_not_smooth_at_zero_has_no_second_derivative_of_zero(name: str) -> None:
    for slope, matrix in twice_by_every_way(lambda tf, x: NEVER_ZERO[name](tf, x), np.zeros(2)):
        np.testing.assert_array_equal(np.asarray(slope), np.zeros(2))
        assert np.isnan(np.diag(np.asarray(matrix))).all()


KINKS: dict[str, tuple[Callable[..., Any], list[list[float]]]] = {
    "sum": (lambda tf, x: tf.reduce_sum(tf.abs(x)), [[0, 0], [0, 0]]),
    "times a mask": (lambda tf, x: tf.reduce_sum(tf.abs(x) * np.array([0.0, 1.0])), [[0, 0], [0, 0]]),
    "drag": (lambda tf, x: tf.reduce_sum(x * tf.abs(x)), [[0, 0], [0, 2]]),
    "cube": (lambda tf, x: tf.reduce_sum(tf.abs(x) ** 3), [[0, 0], [0, 12]]),
    "one of two nodes": (lambda tf, x: tf.reduce_sum(tf.abs(x) * tf.abs(x)), [[2, 0], [0, 2]]),
    "shrunk": (lambda tf, x: tf.reduce_sum(tf.nn.relu(tf.abs(x) - 1.0) ** 2), [[0, 0], [0, 2]]),
    "meeting": (lambda tf, x: tf.reduce_sum(tf.matmul([[1.0, 2.0]], tf.abs(x)[:, None]) ** 3), [[0, 0], [0, 96]]),
}


@pytest.mark.parametrize("name", KINKS)
def test_second_derivatives_of_moduli_of_zero_beside_others(name: str) -> None:
    """At a kink the second derivative is taken to be 0, as that of what was not chosen; else it is the mean."""
    fn, want = KINKS[name]
    for _, matrix in twice_by_every_way(lambda tf, x: fn(tf, x), np.array([0.0, 2.0])):
        np.testing.assert_array_equal(np.asarray(matrix), want)


NOT_SMOOTH: dict[str, Callable[..., Any]] = {
    "itself": lambda tf, x: tf.norm(x) + tf.reduce_sum(x * x),
    "sine": lambda tf, x: tf.sin(tf.norm(x)),
    "times an element": lambda tf, x: tf.norm(x) * x[0],
    "times another norm": lambda tf, x: tf.norm(x) * tf.norm(2.0 * x),
    "norms that meet": lambda tf, x: tf.reduce_prod(1.0 + tf.norm(tf.stack([x, 1.0 * x]), axis=1)),
}


@pytest.mark.parametrize("name", NOT_SMOOTH)
def test_other_functions_of_a_norm_of_zero_have_no_second_derivative(name: str) -> None:
    x = tape_api.constant(np.zeros(3))
    with tape_api.GradientTape() as outer:
        outer.watch(x)
        slope = gradient_in(x, lambda: NOT_SMOOTH[name](tape_api, x))
    assert np.isnan(np.diag(outer.jacobian(slope, x))).all()


def test_derivatives_of_second_derivatives_of_a_kernel_by_its_scale() -> None:
    x, scale = tape_api.constant(np.zeros(2)), tape_api.constant(np.float64(0.7))
    with tape_api.GradientTape() as third:
        third.watch(scale)
        with tape_api.GradientTape() as second:
            second.watch(x)
            with tape_api.GradientTape() as first:
                first.watch(x)
                r = scale * tape_api.norm(x)
                y = (1.0 + r) * tape_api.exp(-r)
            slope = first.gradient(y, x)
        trace = tape_api.linalg.trace(second.jacobian(slope, x))
    np.testing.assert_allclose(trace, -2 * 0.7**2)
    np.testing.assert_allclose(third.gradient(trace, scale), -4 * 0.7)


def test_norms_of_rows_times_a_mask_have_second_derivatives_of_zero() -> None:
    x = tape_api.constant([[1.0, 1.0], [3.0, 4.0]], tape_api.float64)
    hessian = tape_api.transforms.hessian(
        lambda x: tape_api.reduce_sum(np.array([0.0, 1.0]) * tape_api.norm(x - [[1.0, 1.0], [0.0, 0.0]], axis=1))
    )
    matrix = hessian(x).numpy().reshape(4, 4)
    assert not matrix[:2].any() and np.isfinite(matrix).all() and matrix[2:, 2:].any()


@pytest.mark.parametrize("length", ["norm", "reduce_std"])
def test_norms_of_rows_that_are_not_chosen_have_second_derivatives_of_zero(length: str) -> None:
    lengths = {"norm": lambda x: tape_api.norm(x, axis=1), "reduce_std": lambda x: tape_api.math.reduce_std(x, 1)}
    x = tape_api.constant([[1.0, 1.0], [3.0, 4.0]], tape_api.float64)
    for y_of in (
        lambda r: tape_api.reduce_sum(tape_api.where([False, True], tape_api.exp(-r), tape_api.zeros_like(r))),
        lambda r: tape_api.exp(-r)[1],
        lambda r: tape_api.reduce_max(r) ** 3,
    ):
        with tape_api.GradientTape() as outer:
            outer.watch(x)
            with tape_api.GradientTape() as inner:
                inner.watch(x)
                y = y_of(lengths[length](x - [[1.0, 1.0], [0.0, 0.0]]))
            slope = inner.gradient(y, x)
        matrix = outer.jacobian(slope, x).numpy().reshape(4, 4)
        assert not matrix[:2].any() and np.isfinite(matrix).all() and matrix[2:, 2:].any()


@pytest.mark.parametrize(("exponent", "slopes"), [(1.0, [np.inf, 0.5]), (2.0, [1.0, 1.0]), (3.0, [0.0, 1.5])])
def test_powers_of_roots(exponent: float, slopes: list[float]) -> None:
    x = tape_api.constant([0.0, 1.0])
    np.testing.assert_array_equal(gradient_in(x, lambda: tape_api.sqrt(x) ** exponent), slopes)


@pytest.mark.parametrize(
    ("exponent", "slope"), [(-1.0, np.nan), (0.0, 0.0), (0.5, np.nan), (1.0, 0.0), (1.5, 0.0), (2.0, 0.0), (3.0, 0.0)]
)
def test_first_derivatives_of_powers_of_a_norm_at_zero(exponent: float, slope: float) -> None:
    x = tape_api.constant([0.0, 0.0])
    cost = lambda x: tape_api.norm(x) ** exponent + tape_api.reduce_sum(tape_api.abs(x) ** exponent)  # noqa: E731
    np.testing.assert_array_equal(gradient_in(x, lambda: cost(x)), [slope, slope])
    if np.isnan(slope):
        assert np.isnan(tape_api.transforms.hessian(lambda x: tape_api.norm(x) ** exponent)(x).numpy()).all()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("exponent", [1.0, 1.2, 1.5, 1.9])
def test_powers_of_a_length_of_zero_that_bend_infinitely_are_not_said_to_be_straight(
    length: str, exponent: float
) -> None:
    x = tape_api.constant(np.zeros(2))
    with tape_api.GradientTape() as outer:
        outer.watch(x)
        first = gradient_in(x, lambda: LENGTHS[length](tape_api, x) ** exponent)
    np.testing.assert_array_equal(first.numpy(), 0.0)
    assert not np.isfinite(np.diagonal(outer.jacobian(first, x).numpy())).any()


@pytest.mark.parametrize(("exponent", "scale"), [(-2.0, 1e8), (-1.0, 1e11), (0.5, 1e18), (2.0, 1e-19), (-1.0, 1e-12)])
def test_second_derivatives_of_powers_of_long_and_short_vectors(exponent: float, scale: float) -> None:
    """A factor by itself is out of range in float32, or has few digits."""
    x = np.array([1.5, 0.2, -0.3], np.float32) * np.float32(scale)
    unit = x / scale / np.linalg.norm(x / scale)
    steep = exponent * float(np.linalg.norm(x / scale)) ** (exponent - 2) * scale ** (exponent - 2)
    wanted = steep * (np.eye(3) + (exponent - 2) * np.outer(unit, unit))
    found = tape_api.transforms.hessian(lambda x: tape_api.norm(x) ** np.float32(exponent))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * abs(steep))
