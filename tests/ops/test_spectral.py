"""Functions of eigenvalues and singular values where these coincide, nearly coincide or are zero."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import graph_api
import tape_api
from engine.core.value import dtype_of
from tests.tapes import gradient_in, watching

Fn = Callable[[Any, Any], Any]


def symmetric(tf: Any, x: Any) -> Any:
    return (x + tf.linalg.matrix_transpose(x)) / 2


def gram(tf: Any, x: Any) -> Any:
    return tf.matmul(x, x, transpose_a=True)


FUNCTIONS: dict[str, tuple[Fn, Fn]] = {
    "sum of logarithms": (
        lambda tf, x: tf.reduce_sum(tf.math.log(tf.linalg.eigvalsh(symmetric(tf, x)))),
        lambda tf, x: tf.linalg.slogdet(symmetric(tf, x))[1],
    ),
    "product": (
        lambda tf, x: tf.reduce_prod(tf.linalg.eigvalsh(symmetric(tf, x))),
        lambda tf, x: tf.linalg.det(symmetric(tf, x)),
    ),
    "sum of exponentials": (
        lambda tf, x: tf.reduce_sum(tf.exp(tf.linalg.eigh(symmetric(tf, x))[0])),
        lambda tf, x: tf.linalg.trace(tf.linalg.expm(symmetric(tf, x))),
    ),
    "trace": (lambda tf, x: tf.reduce_sum(tf.linalg.eigvalsh(symmetric(tf, x))), lambda tf, x: tf.linalg.trace(x)),
    "squares of singular values": (
        lambda tf, x: tf.reduce_sum(tf.linalg.svd(x, compute_uv=False) ** 2),
        lambda tf, x: tf.reduce_sum(x * x),
    ),
    "fourth powers of singular values": (
        lambda tf, x: tf.reduce_sum(tf.linalg.svd(x)[0] ** 4),
        lambda tf, x: tf.reduce_sum(tf.square(gram(tf, x))),
    ),
    "logarithms of 1 + s ** 2": (
        lambda tf, x: tf.reduce_sum(tf.math.log(1.0 + tf.linalg.svd(x, compute_uv=False) ** 2)),
        lambda tf, x: tf.linalg.slogdet(tf.eye(3, dtype=dtype_of(x)) + gram(tf, x))[1],
    ),
}
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
SQUARE = {
    "0.4 I": 0.4 * np.eye(3),
    "two equal": np.diag([1.0, 1.0, 2.0]),
    "two equal, turned": TURN @ np.diag([1.0, 1.0, 2.0]) @ TURN.T,
    "1e-9 apart": TURN @ np.diag([1.0, 1.0 + 1e-9, 2.0]) @ TURN.T,
    "distinct": TURN @ np.diag([1.0, 1.5, 2.0]) @ TURN.T,
}
OTHERS = {
    "singular": np.diag([1.0, 0.0, 0.0]),
    "tall": np.eye(4)[:, :3],
    "tall zeros": np.zeros((4, 3)),
    "wide": TURN[:2],
    "a stack": np.stack([0.4 * np.eye(3), np.diag([1.0, 1.0, 2.0])]),
}
EVERY = {**SQUARE, **OTHERS}
CASES = [(name, at) for name in FUNCTIONS for at in (EVERY if "singular" in name or "s **" in name else SQUARE)]


def derivatives(fn: Fn, at: np.ndarray, dtype: str = "float64", every: bool = True) -> tuple[Any, dict[str, Any]]:
    """The gradient and the Hessian, found in several ways, or in one."""
    x = tape_api.constant(at, dtype)
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch(x)
        inner, y = watching(x, lambda: tape_api.reduce_sum(fn(tape_api, x)))
        slope = inner.gradient(y, x)
        parts = tape_api.unstack(tape_api.reshape(slope, [-1]))
    if not every:
        return np.asarray(slope), {"hessian": np.reshape(outer.hessian(y, x), (at.size, at.size))}
    found = {
        "jacobian of the gradient": outer.jacobian(slope, x, unconnected_gradients="zero"),
        "gradients of the gradient": np.stack([outer.gradient(p, x, unconnected_gradients="zero") for p in parts]),
        "hessian": outer.hessian(y, x),
        "hvp": np.stack([outer.hvp(y, x, e.reshape(at.shape)) for e in np.eye(at.size, dtype=dtype)]),
    }
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        source = graph_api.placeholder(dtype, at.shape)
        (matrix,) = graph_api.hessians(graph_api.reduce_sum(fn(graph_api, source)), source)
        found["hessians in a graph"] = session.run(matrix, {source: at})
    return np.asarray(slope), {way: np.reshape(m, (at.size, at.size)) for way, m in found.items()}


@pytest.mark.parametrize(("name", "at"), CASES)
def test_second_derivatives_are_right(name: str, at: str) -> None:
    fn, same = FUNCTIONS[name]
    expected_slope, expected = derivatives(same, EVERY[at], every=False)
    slope, found = derivatives(fn, EVERY[at])
    np.testing.assert_allclose(slope, expected_slope, atol=1e-10)
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-7, err_msg=way)


@pytest.mark.parametrize("name", ["sum of logarithms", "squares of singular values"])
def test_in_single_precision_and_again(name: str) -> None:
    """Also by walks that are compiled: they are after some repetitions."""
    fn, same = FUNCTIONS[name]
    for _ in range(4):
        _, expected = derivatives(same, SQUARE["two equal"], "float32", every=False)
        _, found = derivatives(fn, SQUARE["two equal"], "float32")
        for way, matrix in found.items():
            np.testing.assert_allclose(matrix, expected["hessian"], atol=2e-3, err_msg=way)


def test_hermitian_matrices() -> None:
    """Of ``x + i y`` with symmetric x and antisymmetric y, at the identity."""

    def fn(tf: Any, x: Any) -> Any:
        re, im = tf.unstack(x)
        skew = im - tf.linalg.matrix_transpose(im)
        return tf.reduce_sum(tf.math.real(tf.linalg.eigvalsh(tf.complex(symmetric(tf, re), skew))) ** 3)

    def same(tf: Any, x: Any) -> Any:
        re, im = tf.unstack(x)
        whole = tf.complex(symmetric(tf, re), im - tf.linalg.matrix_transpose(im))
        return tf.math.real(tf.linalg.trace(whole @ whole @ whole))

    at = np.stack([np.eye(2), np.zeros((2, 2))])
    _, expected = derivatives(same, at, every=False)
    _, found = derivatives(fn, at)
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-10, err_msg=way)


# ---- functions of matrices, of which nobody sees the vectors ---------------------------------------------------------

WEIGHTS = np.random.default_rng(9).normal(size=(4, 4))


def root(x: Any) -> Any:
    return scipy.linalg.sqrtm(x)


MATRICES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "unitary factor": (lambda x: scipy.linalg.polar(x)[0], lambda x: x @ np.linalg.inv(root(np.transpose(x) @ x))),
    "right factor": (lambda x: scipy.linalg.polar(x)[1], lambda x: root(np.transpose(x) @ x)),
    "left factor": (lambda x: scipy.linalg.polar(np.transpose(x), side="left")[1], lambda x: root(np.transpose(x) @ x)),
    "pinvh": (lambda x: scipy.linalg.pinvh(x + np.transpose(x)), lambda x: np.linalg.inv(x + np.transpose(x))),
    "pinv of hermitian": (
        lambda x: np.linalg.pinv(x + np.transpose(x), hermitian=True),
        lambda x: np.linalg.inv(x + np.transpose(x)),
    ),
    "nuclear norm": (lambda x: np.linalg.norm(x, "nuc"), lambda x: np.trace(root(np.transpose(x) @ x))),
}
TURNS = {"identity": np.eye(3), "turn": TURN, "larger turn": 3.0 * TURN, "two equal": SQUARE["two equal, turned"]}
TALL = {"tall identity": np.eye(4)[:, :2], "turned columns": TURN[:, :2], "tall": WEIGHTS[:, :2]}


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name in MATRICES for at in {**TURNS, **TALL} if at in TURNS or "pinv" not in name]
)
def test_functions_of_matrices_at_equal_values(name: str, at: str) -> None:
    fn, same = MATRICES[name]
    point = {**TURNS, **TALL}[at]

    def weighted(of: Callable[[Any], Any]) -> Fn:
        def whole(tf: Any, x: Any) -> Any:
            y = of(x)
            return tf.reduce_sum(y * WEIGHTS[tuple(slice(n) for n in y.shape)] if len(y.shape) else y)

        return whole

    expected_slope, expected = derivatives(weighted(same), point, every=False)
    slope, found = derivatives(weighted(fn), point)
    np.testing.assert_allclose(slope, expected_slope, atol=1e-12)
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-11, err_msg=way)
    for way in ("jacfwd", "jacrev"):
        tr = tape_api.transforms
        twice = getattr(tr, way)(tr.jacfwd(lambda x: weighted(fn)(tape_api, x)))(point)
        np.testing.assert_allclose(np.reshape(twice, matrix.shape), expected["hessian"], atol=1e-11, err_msg=way)


def test_polar_factors_of_stacks_and_of_complex_matrices() -> None:
    """At a unitary u the unitary factor changes along ``u s`` by u times the skew part of s."""
    rng = np.random.default_rng(3)
    change, weights = (rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3)) for _ in range(2))
    point = scipy.linalg.expm(change - np.conj(np.swapaxes(change, -1, -2)))
    x = tape_api.constant(point)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        unitary, hermitian = scipy.linalg.polar(x)
        y = tape_api.math.real(tape_api.reduce_sum(unitary * np.conj(weights)))
    np.testing.assert_allclose(hermitian, np.stack([np.eye(3)] * 2), atol=1e-14)
    inner = np.conj(np.swapaxes(point, -1, -2)) @ weights
    expected = point @ (inner - np.conj(np.swapaxes(inner, -1, -2))) / 2
    np.testing.assert_allclose(tape.gradient(y, x), expected, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-165, 1e-150, 1.0, 1e165])
def test_polar_factors_at_every_scale(scale: float) -> None:
    x = tape_api.constant(scale * TURN)
    tape, y = watching(x, lambda: tape_api.reduce_sum(scipy.linalg.polar(x)[0] * WEIGHTS[:3, :3]))
    inner = TURN.T @ WEIGHTS[:3, :3]
    np.testing.assert_allclose(tape.gradient(y, x) * scale, TURN @ (inner - inner.T) / 2, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1.0, 1e165])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_singular_vectors_at_every_scale(shape: tuple[int, int], scale: float) -> None:
    """Of functions that do not depend on their signs, times the scale: the polar factor, and a projection."""

    def slopes(scale: float, by_vectors: bool) -> list[np.ndarray]:
        x = tape_api.constant(scale * WEIGHTS[: shape[0], : shape[1]])
        with tape_api.GradientTape(persistent=True) as tape:
            tape.watch(x)
            _, u, v = tape_api.linalg.svd(x)
            first = u[:, :1] @ tape_api.transpose(u[:, :1])
            unitary = u @ tape_api.transpose(v) if by_vectors else scipy.linalg.polar(x)[0]
            found = [tape_api.reduce_sum(y * WEIGHTS.T[: y.shape[0], : y.shape[1]]) for y in (unitary, first)]
        return [scale * np.asarray(tape.gradient(y, x)) for y in found]

    for found, expected in zip(slopes(scale, True), slopes(1.0, False), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("at", [*TURNS, *TALL])
def test_the_unitary_factor_of_singular_vectors_at_equal_values(at: str) -> None:
    found = []
    for of in (lambda x: np.matmul(*np.linalg.svd(x, full_matrices=False)[::2]), lambda x: scipy.linalg.polar(x)[0]):
        x = tape_api.constant({**TURNS, **TALL}[at])
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = of(x)
            z = tape_api.reduce_sum(y * WEIGHTS[: y.shape[0], : y.shape[1]])
        found.append(np.asarray(tape.gradient(z, x)))
    np.testing.assert_allclose(*found, atol=1e-13)


ROTATED = TURN @ np.diag([1.0, 1.0, 2.0]) @ TURN.T


@pytest.mark.parametrize("at", [np.diag([1.0, 1.0, 2.0]), ROTATED], ids=["diagonal", "rotated"])
def test_vectors_of_equal_eigenvalues(at: np.ndarray) -> None:
    """A projection has the right gradient. What shows the values, too, or one vector alone has none."""

    def gradient(of: Callable[[Any, Any], Any], times: int = 1) -> np.ndarray:
        def loss(x: Any) -> Any:
            w, v = tape_api.linalg.eigh((x + tape_api.transpose(x)) / 2)
            return tape_api.reduce_sum(of(w, v) * WEIGHTS[:3, :3])

        transform = tape_api.transforms.grad if times == 1 else tape_api.transforms.hessian
        return np.asarray(transform(loss)(at))

    def projection(w: Any, v: Any) -> Any:
        return v[:, :2] @ tape_api.transpose(v[:, :2])

    # of first order in the change of the matrix, by the projections on both spaces
    vectors = np.linalg.eigh(at)[1]
    within, beyond = vectors[:, :2] @ vectors[:, :2].T, vectors[:, 2:] @ vectors[:, 2:].T
    weights = (WEIGHTS[:3, :3] + WEIGHTS[:3, :3].T) / 2
    expected = -(within @ weights @ beyond + beyond @ weights @ within)
    np.testing.assert_allclose(gradient(projection), expected, atol=1e-13)
    assert np.isnan(gradient(lambda w, v: (v * tape_api.exp(w)) @ tape_api.transpose(v))).any()
    assert np.isnan(gradient(projection, 2)).any()
    mixed = (vectors[:, :1] + vectors[:, 1:2]) @ np.ones((1, 3))
    assert np.isnan(gradient(lambda w, v: v[:, :1] * tape_api.constant(mixed))).any()
    assert np.isfinite(gradient(lambda w, v: tape_api.exp(w))).all()


def test_vectors_of_equal_singular_values() -> None:
    def gradient(of: Callable[..., Any]) -> np.ndarray:
        x = tape_api.constant(TURN)
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = tape_api.reduce_sum(of(*tape_api.linalg.svd(x)) * WEIGHTS[:3, :3])
        return np.asarray(tape.gradient(y, x))

    assert np.isfinite(gradient(lambda s, u, v: u @ tape_api.transpose(v))).all()
    assert np.isnan(gradient(lambda s, u, v: (u * s**3) @ tape_api.transpose(v))).any()
    assert np.isnan(gradient(lambda s, u, v: u[:, :1] @ tape_api.transpose(u[:, :1]))).any()


def test_what_has_no_derivative_at_singular_matrices_is_nan() -> None:
    for fn in (lambda x: scipy.linalg.polar(x)[0], lambda x: scipy.linalg.sqrtm(x)):
        x = tape_api.constant(np.diag([1.0, 0.0]))
        with tape_api.GradientTape() as tape:
            tape.watch(x)
            y = tape_api.reduce_sum(fn(x))
        assert np.isnan(tape.gradient(y, x)).any()


DEFECTIVE = {
    "triangle": np.eye(2) + np.eye(2, k=1),
    "turned": TURN @ np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]) @ TURN.T,
    "block of three": np.eye(3) + np.eye(3, k=1),
}


@pytest.mark.parametrize("at", DEFECTIVE)
@pytest.mark.parametrize("values", [np.linalg.eigvals, lambda x: np.linalg.eig(x)[0]])
def test_eigenvalues_of_defective_matrices_have_no_derivative(values: Callable[[Any], Any], at: str) -> None:
    """Each one's is infinite; of a symmetric function it cannot be made of these."""
    x = tape_api.constant(DEFECTIVE[at])
    assert np.isnan(gradient_in(x, lambda: tape_api.math.real(tape_api.reduce_sum(values(x) ** 2)))).any()
    assert np.isnan(
        tape_api.transforms.jvp(lambda x: values(x), (DEFECTIVE[at],), (np.ones_like(DEFECTIVE[at]),))[1]
    ).any()


def test_second_derivatives_of_equal_eigenvalues_of_any_matrix_are_nan() -> None:
    def fn(tf: Any, x: Any) -> Any:
        return tf.math.real(tf.reduce_sum(tf.exp(tf.linalg.eigvals(x))))

    slope, found = derivatives(fn, np.eye(2))
    np.testing.assert_allclose(slope, np.e * np.eye(2))
    for way, matrix in found.items():
        assert np.isnan(matrix[1, 2]), way
    _, found = derivatives(fn, SQUARE["distinct"])
    _, expected = derivatives(lambda tf, x: tf.linalg.trace(tf.linalg.expm(x)), SQUARE["distinct"])
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected["hessian"], atol=1e-10, err_msg=way)


def test_the_largest_of_equal_eigenvalues_has_no_second_derivative() -> None:
    _, found = derivatives(lambda tf, x: tf.linalg.eigvalsh(symmetric(tf, x))[-1], np.eye(2))
    for way, matrix in found.items():
        assert not np.isfinite(matrix).all(), way
