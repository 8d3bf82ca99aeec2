"""`primitive`: outside functions with derivative rules, in both modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy import sparse
from scipy.sparse.linalg import spsolve

import graph_api as tf1
import tape_api as tf
from engine.core.batching import Batched, batch_level, unbatch
from engine.runtime.errors import DTypeError, ShapeError, UnimplementedError
from tests.tapes import gradient_in, watching

X = np.array([0.7, 1.9, 0.4])
MATRIX = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.2, 3.0]])
LU = scipy.linalg.lu_factor(MATRIX)

gamma = tf.primitive(scipy.special.gamma, lambda ct, out, x: ct * out * tf.math.digamma(x))
hypot = tf.primitive(
    np.hypot,
    lambda ct, out, x, y: (tf.reduce_sum(ct * x / out), ct * y / out),
    lambda t, out, x, y: (t[0] * x + t[1] * y) / out,
)
fixed = tf.primitive(lambda b: scipy.linalg.lu_solve(LU, b), lambda ct, out, b: fixed_back(ct))
fixed_back = tf.primitive(lambda b: scipy.linalg.lu_solve(LU, b, trans=1), lambda ct, out, b: fixed(ct))


def solve_back(ct: Any, out: Any, a: Any, b: Any) -> Any:
    w = solve(np.transpose(a), ct)
    return -w[:, None] * out[None, :], w


solve = tf.primitive(
    scipy.linalg.solve, solve_back, lambda t, out, a, b: solve(a, t[1] - np.matmul(t[0], out)), shape=lambda a, b: b
)

gamma_forward = tf.primitive(scipy.special.gamma, jvp=lambda t, out, x: t[0] * out * tf.math.digamma(x))
hypot_forward = tf.primitive(np.hypot, jvp=lambda t, out, x, y: (t[0] * x + t[1] * y) / out)

# The function made of a primitive, and the same made of ops.
ROWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "elementwise": (gamma, lambda x: tf.exp(tf.math.lgamma(x))),
    "broadcast": (lambda x: hypot(x[0], x), lambda x: tf.sqrt(x[0] ** 2 + x**2)),
    "linear": (lambda x: fixed(x) ** 2, lambda x: np.linalg.solve(MATRIX, x) ** 2),
    "of two": (lambda x: solve(MATRIX + tf.linalg.diag(x), x), lambda x: np.linalg.solve(MATRIX + np.diag(x), x)),
    "elementwise by its jvp": (gamma_forward, lambda x: tf.exp(tf.math.lgamma(x))),
    "broadcast by its jvp": (lambda x: hypot_forward(x[0], x), lambda x: tf.sqrt(x[0] ** 2 + x**2)),
}


def on_tape(f: Callable[[Any], Any]) -> list[np.ndarray]:
    """Value, gradient, Jacobian and Hessian of the sum."""
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        first = gradient_in(x, lambda: tf.reduce_sum(f(x)))
        y = f(x)
    return [y.numpy(), first.numpy(), outer.jacobian(y, x).numpy(), outer.jacobian(first, x).numpy()]


def in_graph(f: Callable[[Any], Any]) -> list[np.ndarray]:
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float64, [3])
        y = f(x)
        (first,) = tf1.gradients(tf1.reduce_sum(f(x)), x)
        found: list[np.ndarray] = session.run([y, first, tf1.jacobian(y, x), tf1.jacobian(first, x)], {x: X})
    return found


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_those_of_ops(name: str) -> None:
    mine, of_ops = ROWS[name]
    for found, expected in zip(on_tape(mine), on_tape(of_ops), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_both_modes_give_the_same_bits(name: str) -> None:
    for tape, graph in zip(on_tape(ROWS[name][0]), in_graph(ROWS[name][0]), strict=True):
        assert tape.tobytes() == graph.tobytes()


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", ROWS)
def test_forward_and_reverse_agree(name: str, mode: str) -> None:
    mine, of_ops = ROWS[name]
    exact = tf.for_scipy(of_ops, X).jac(X)
    np.testing.assert_allclose(tf.for_scipy(mine, X, mode=mode).jac(X), exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_batch_is_a_loop(name: str, size: int) -> None:
    f = ROWS[name][0]
    batch = X + np.arange(size)[:, None]
    with batch_level() as level:
        found = unbatch(f(Batched(tf.constant(batch), level)), level, size)
    assert np.shape(found) == (size, 3)
    for one, x in zip(found, batch, strict=True):
        np.testing.assert_array_equal(one, f(x))


def test_shapes_that_are_not_known() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float64, [None])
        y = solve(MATRIX + tf1.linalg.diag(x), x)
        assert y.shape.as_list() == [None]
        assert gamma(tf1.placeholder(tf1.float64)).shape.rank is None
        np.testing.assert_allclose(session.run(y, {x: X}), np.linalg.solve(MATRIX + np.diag(X), X))


def test_arguments_are_converted() -> None:
    assert gamma([1.0, 4.0]).numpy().tolist() == [1.0, 6.0]
    assert hypot(tf.constant(3.0, tf.float64), 4.0).dtype == tf.float64
    assert gamma(tf.constant(4.0)).dtype == tf.float32, "the result has the argument's dtype"
    v = tf.Variable(X)
    tape, y = watching((), lambda: gamma(v))
    np.testing.assert_allclose(tape.gradient(y, v), scipy.special.gamma(X) * scipy.special.digamma(X))
    assert gamma.__name__ == "gamma"


def test_what_it_is_given_and_gives_is_its_own() -> None:
    kept: list[np.ndarray] = []
    same = tf.primitive(lambda x: kept.append(x) or x, lambda ct, out, x: ct)
    x = tf.constant(X)
    y = same(x)
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 5.0
    assert not np.shares_memory(y, x)


def test_rules_that_are_missing() -> None:
    bare = tf.primitive(np.cbrt)
    x = tf.constant(X)
    tape, y = watching(x, lambda: bare(x))
    with pytest.raises(UnimplementedError, match=r"cbrt: a derivative .* has no vjp"):
        tape.gradient(y, x)


def test_a_jvp_that_is_not_linear_has_no_transpose() -> None:
    for rule in (lambda t, out, x: tf.clip_by_value(t[0], -1.0, 1.0), lambda t, out, x: t[0] * float(t[0][0])):
        odd = tf.primitive(np.cbrt, jvp=rule)
        with pytest.raises(UnimplementedError, match=r"cbrt: reverse mode .* not seen to be linear in the tangents"):
            tf.for_scipy(lambda x, f=odd: tf.reduce_sum(f(x)), X).jac(X)
    clipped = tf.primitive(np.cbrt, jvp=lambda t, out, x: tf.clip_by_value(t[0], -1.0, 1.0))
    np.testing.assert_allclose(tf.for_scipy(clipped, X, mode="forward").jac(X), np.eye(3))


def test_a_jvp_that_needs_its_own_transpose_says_so() -> None:
    solve_forward = tf.primitive(
        scipy.linalg.solve, jvp=lambda t, out, a, b: solve_forward(a, t[1] - np.matmul(t[0], out)), shape=lambda a, b: b
    )
    with pytest.raises(UnimplementedError, match=r"solve: .*tf\.primitive\(fn, vjp, jvp\)"):
        tf.for_scipy(lambda x: tf.reduce_sum(solve_forward(MATRIX, x)), X).jac(X)
    np.testing.assert_allclose(
        tf.for_scipy(lambda x: solve_forward(MATRIX, x), X, mode="forward").jac(X), np.linalg.inv(MATRIX)
    )


def test_a_jvp_of_which_some_arguments_carry_nothing() -> None:
    scaled = tf.primitive(lambda n, x, y: n * x, jvp=lambda t, out, n, x, y: tf.cast(n, tf.float64) * t[1])
    n, x = tf.constant([2, 3, 4]), tf.constant(X)
    np.testing.assert_array_equal(gradient_in(x, lambda: scaled(n, x, 2.0 * x)), [2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("vjp", "error", "message"),
    [
        (lambda ct, out, x: (ct, ct), ValueError, "tan: its vjp returned 2 cotangents, expected one for each of 1"),
        (lambda ct, out, x: ct[:2], ShapeError, r"for argument 0, returned shape \(2,\), expected \(3,\)"),
        (lambda ct, out, x: tf.cast(ct, tf.float32), DTypeError, "returned dtype float32, expected float64"),
    ],
)
def test_rules_that_are_wrong(vjp: Any, error: type[Exception], message: str) -> None:
    f = tf.primitive(np.tan, vjp)
    x = tf.constant(X)
    tape, y = watching(x, lambda: f(x))
    with pytest.raises(error, match=message):
        tape.gradient(y, x)


def test_results_that_are_wrong() -> None:
    with pytest.raises(ShapeError, match=r"outer: the function returned shape \(3, 3\), expected \(3,\).*`shape`"):
        tf.primitive(np.outer)(X, X)
    with pytest.raises(DTypeError, match="complex128, expected float64"):
        tf.primitive(np.fft.fft)(X)
    assert tf.primitive(np.fft.fft, dtype=tf.complex128)(X).dtype == tf.complex128
    with pytest.raises(TypeError, match="at least one argument"):
        tf.primitive(np.tan)()


def test_no_derivative_of_an_argument_is_a_zero() -> None:
    power = tf.primitive(np.power, lambda ct, out, x, n: (ct * n * x ** (n - 1), None))
    x = tf.constant(X)
    np.testing.assert_allclose(gradient_in(x, lambda: power(x, 3.0)), 3 * X**2)


# ---- rules that apply the primitive itself ---------------------------------------------------------------------------

PLACES = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 2, 1, 2])


def packed_solvers():
    """A solver of sparse systems whose one argument holds matrix and right-hand side, and that of the transposed."""

    def matrix(z):
        return sparse.csc_array((z[:7], PLACES), shape=(3, 3))

    def pull(ct, u, z):
        w = transposed(tf.concat([z[:7], ct], 0))
        return tf.concat([-tf.gather(w, PLACES[0]) * tf.gather(u, PLACES[1]), w], 0)

    def pull_transposed(ct, u, z):
        w = solve(tf.concat([z[:7], ct], 0))
        return tf.concat([-tf.gather(u, PLACES[0]) * tf.gather(w, PLACES[1]), w], 0)

    solve = tf.primitive(lambda z: spsolve(matrix(z), z[7:]), pull, shape=lambda s: (3,))
    transposed = tf.primitive(lambda z: spsolve(matrix(z).T.tocsc(), z[7:]), pull_transposed, shape=lambda s: (3,))
    return solve


def test_second_derivatives_of_a_solver_whose_rule_solves():
    solve, rng = packed_solvers(), np.random.default_rng(0)

    def loss(v):
        return tf.reduce_sum(solve(tf.concat([v, [1.0, 2.0, 3.0]], 0)) ** 2)

    x = np.where(PLACES[0] == PLACES[1], 4.0, rng.normal(size=7))
    w = rng.normal(size=7)
    p = tf.for_scipy(loss, x)
    expected = (p.jac(x + 1e-5 * w) - p.jac(x - 1e-5 * w)) / 2e-5
    found = [
        p.hessp(x, w),
        p.hess(x) @ w,
        tf.for_scipy(loss, x, format="operator").hess(x) @ w,
        tf.transforms.hvp(loss, (tf.constant(x),), (tf.constant(w),))[0].numpy(),
        tf.transforms.hessian(loss)(tf.constant(x)).numpy() @ w,
    ]
    for one in found:
        np.testing.assert_allclose(one, expected, rtol=1e-7, atol=1e-9)


def test_a_rule_that_clips_has_no_products_with_a_hessian():
    clipped = tf.primitive(np.sin, lambda ct, out, x: tf.clip_by_value(ct * tf.cos(x), -0.1, 0.1))
    with pytest.raises(UnimplementedError, match="not seen to be linear"):
        tf.for_scipy(lambda x: tf.reduce_sum(clipped(x) ** 2), np.ones(3)).hessp(np.ones(3), np.ones(3))
