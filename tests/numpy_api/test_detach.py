"""Tensors that become plain arrays: recorded, or reported where it happens, never silent (see docs/leaving.md)."""

import linecache
import math
import statistics
import warnings
from collections.abc import Callable
from math import sin
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.special

import graph_api as tf1
import tape_api as tf
from engine.runtime.errors import DetachError, DetachWarning, SymbolicArrayError

Function = Callable[[Any], Any]

X = np.array([0.7, 1.9, 0.4])
SQUARE = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.2, 3.0]])
SPARSE = scipy.sparse.csr_array(np.where(SQUARE > 0, SQUARE, 0.0))


def theirs(function: Any) -> Any:
    """SciPy's own function, as a program has it that took it from SciPy before we were imported."""
    return function.__wrapped__


def assigned(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i]
    return out


def assigned_slice(x: Any) -> Any:
    out = np.zeros(3)
    out[:2] = x[:2]
    return out


def filled(x: Any) -> Any:
    out = np.zeros(3)
    out.fill(x[0])
    return out


# What only takes arrays. Where it happens there is a warning that names the function and what to use; in a function for
# `for_scipy`, an error.
REPORTED: dict[str, tuple[Function, str]] = {
    "np.array of parts": (lambda x: np.array([x[0], x[1]]), "np.array .*np.stack"),
    "np.array": (lambda x: np.array(x), "np.array "),
    "np.r_": (lambda x: np.r_[x, 1.0], "np.lib.AxisConcatenator .*np.concatenate"),
    "np.asarray": (lambda x: np.asarray(x), "np.asarray .*the tensor itself"),
    "np.ascontiguousarray": (lambda x: np.ascontiguousarray(x), "np.ascontiguousarray "),
    "np.float64": (lambda x: np.float64(x[0]), "np.float64 "),
    "np.fromiter": (lambda x: np.fromiter(list(x), float), "np.fromiter .*np.stack"),
    "a list comprehension": (lambda x: np.array([v**2 for v in x]), "np.array .*np.stack"),
    "out[i] =": (assigned, "an assignment .*stack"),
    "out[:] =": (assigned_slice, "an assignment .*stack"),
    "fill": (filled, "plain array"),
    "np.full": (lambda x: np.full(3, x[0]), "np.full .*tf.fill"),
    "np.vectorize": (lambda x: np.vectorize(lambda v: v * 2)(x), "np.vectorize .*map_fn"),
    "np.mean of a list": (lambda x: np.mean([x[0], x[1]]), "np.mean "),
    "math.sin": (lambda x: math.sin(x[0]), "math.sin .*np.sin"),
    "sin": (lambda x: sin(x[0]), "math.sin .*np.sin"),
    "math.fsum": (lambda x: math.fsum(list(x)), "math.fsum "),
    "statistics.fmean": (lambda x: statistics.fmean(list(x)), "statistics.fmean "),
    "scipy.linalg.solve": (lambda x: theirs(scipy.linalg.solve)(SQUARE, x), "scipy.linalg.solve .*tf.linalg.solve"),
    "scipy.linalg.expm": (
        lambda x: theirs(scipy.linalg.expm)(x[:, None] * SQUARE),
        "scipy.linalg.expm .*tf.linalg.expm",
    ),
    "scipy.linalg.schur": (lambda x: scipy.linalg.schur(x[:, None] * SQUARE)[0], "scipy.linalg.schur "),
    "scipy.linalg.norm": (lambda x: theirs(scipy.linalg.norm)(x), "scipy.linalg.norm .*tf.norm"),
    "scipy.special.logsumexp": (lambda x: theirs(scipy.special.logsumexp)(x), "logsumexp .*tf.reduce_logsumexp"),
    "scipy.special.softmax": (lambda x: theirs(scipy.special.softmax)(x), "softmax .*tf.nn.softmax"),
    "csr_array": (lambda x: scipy.sparse.csr_array(x[:, None]).toarray(), "csr_array "),
    "spsolve": (lambda x: theirs(scipy.sparse.linalg.spsolve)(SPARSE.tocsc(), x), "spsolve "),
    "cg": (lambda x: theirs(scipy.sparse.linalg.cg)(SPARSE, x)[0], "cg "),
    "aslinearoperator": (lambda x: scipy.sparse.linalg.aslinearoperator(SQUARE) @ x, "LinearOperator "),
    "trapezoid": (lambda x: theirs(scipy.integrate.trapezoid)(x), "trapezoid "),
    "CubicSpline": (lambda x: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)(0.5), "CubicSpline "),
    "median_filter": (lambda x: scipy.ndimage.median_filter(x, 2), "median_filter "),
    "lfilter": (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x), "lfilter "),
    "dctn": (lambda x: scipy.fft.dctn(x), "dctn "),
}


def recorded(f: Function) -> Any:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        return f(x)


@pytest.mark.parametrize("name", REPORTED)
def test_a_path_that_ends_is_reported_where_it_ends(name: str) -> None:
    f, message = REPORTED[name]
    with pytest.warns(DetachWarning, match=message) as caught:
        found = recorded(f)
    np.testing.assert_array_equal(found, f(X), err_msg="the value is what it would be")
    assert {w.filename for w in caught} == {__file__}
    lines = f.__code__.co_firstlineno, max(line for *_, line in f.__code__.co_lines() if line)
    assert all(lines[0] <= w.lineno <= lines[1] for w in caught)


def test_a_function_that_has_run_often_is_known_as_well() -> None:
    for _ in range(100):
        statistics.fmean([1.0, 2.0])  # Python's instructions adapt
    test_a_path_that_ends_is_reported_where_it_ends("statistics.fmean")


@pytest.mark.parametrize("name", REPORTED)
def test_for_scipy_refuses_it(name: str) -> None:
    f, message = REPORTED[name]
    p = tf.for_scipy(lambda x: x + np.sum(f(x)), X)
    with pytest.raises(DetachError, match=rf"test_detach.py, line \d+: .*{message}"):
        p.jac(X)


@pytest.mark.parametrize("name", REPORTED)
def test_a_graph_has_no_array_to_give(name: str) -> None:
    with tf1.Graph().as_default():
        for x in (tf1.placeholder(tf1.float64, [3]), tf1.Variable(X)):
            with pytest.raises((SymbolicArrayError, ValueError, TypeError)):
                REPORTED[name][0](x)


@pytest.mark.parametrize("name", REPORTED)
def test_what_nobody_follows_may_leave(name: str) -> None:
    constant = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(tf.constant(1.0))
        np.testing.assert_array_equal(REPORTED[name][0](constant), REPORTED[name][0](X))
        np.testing.assert_array_equal(REPORTED[name][0](tf.stop_gradient(constant)), REPORTED[name][0](X))
    np.testing.assert_array_equal(REPORTED[name][0](constant), REPORTED[name][0](X))


def test_it_is_said_once_a_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", DetachWarning)
        for _ in range(3):
            recorded(lambda x: np.asarray(x))
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DetachWarning)
        recorded(lambda x: [np.asarray(x) for _ in range(3)])
    assert len(caught) == 1, "and by one tape"


def test_the_warning_names_the_users_line() -> None:
    with pytest.warns(DetachWarning) as caught:
        recorded(lambda x: theirs(scipy.linalg.solve)(SQUARE, x) + 1.0)  # this one
    assert "this one" in linecache.getline(caught[0].filename, caught[0].lineno)


def test_variables_are_followed_too() -> None:
    v = tf.Variable(X)
    with pytest.warns(DetachWarning, match="np.asarray"), tf.GradientTape():
        np.asarray(v)
    with pytest.warns(DetachWarning, match="math.exp"), tf.GradientTape():
        math.exp(tf.Variable(1.0))
    with tf.GradientTape(watch_accessed_variables=False):
        np.asarray(v)
    with tf.GradientTape():
        np.asarray(tf.Variable(X, trainable=False))


# ---- what is asked for by the user -----------------------------------------------------------------------------------

ASKED: dict[str, tuple[Function, str | None]] = {
    "numpy()": (lambda x: x.numpy(), "numpy"),
    "item()": (lambda x: x[0].item(), "numpy"),
    "tolist()": (lambda x: x.tolist(), "numpy"),
    "float": (lambda x: float(x[0]), "float"),
    "percent": (lambda x: f"{x[0]:.2f} %f" % x[1], "float"),
    "int": (lambda x: int(x[0]), "int"),
    "math.floor": (lambda x: math.floor(x[0]), "int"),
    "math.isfinite": (lambda x: math.isfinite(x[0]), "int"),
    "format": (lambda x: f"{x[0]:.2f} {x}", None),
    "repr": (repr, None),
    "bool": (lambda x: 1 if x[0] > 0.5 else 2, None),
    "argmax": (lambda x: np.argmax(x), None),
    "isnan": (lambda x: np.isnan(x).any(), None),
    "comparison": (lambda x: tf.debugging.assert_greater(x, tf.zeros_like(x)), None),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_the_user_asks_for_is_noted_only(name: str) -> None:
    f, kind = ASKED[name]
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        f(x)
    notes = list(tape._tape.detached.values())
    assert [note.kind for note in notes] == ([] if kind is None else [kind])
    assert all(note.file == __file__ and note.line == f.__code__.co_firstlineno for note in notes)


@pytest.mark.parametrize("name", ASKED)
def test_for_scipy_warns_of_numbers_only(name: str) -> None:
    f, kind = ASKED[name]

    def function(x: Any) -> Any:
        f(x)
        return x * x

    p = tf.for_scipy(function, X)
    if kind in ("numpy", "float"):
        with pytest.warns(DetachWarning, match=rf"{kind}\(\) .*stop_gradient"):
            p.fun(X)
    np.testing.assert_array_equal(tf.for_scipy(lambda x: x * x, X).jac(X), np.diag(2 * X))
    free = tf.for_scipy(lambda x: (f(tf.stop_gradient(x)), x * x)[1], X)
    np.testing.assert_array_equal(free.jac(X), np.diag(2 * X))


def test_for_scipy_refuses_also_what_the_function_catches() -> None:
    def function(x: Any) -> Any:
        try:
            return x + np.asarray(x)
        except TypeError:
            return x

    with pytest.raises(DetachError, match=r"np\.asarray"):
        tf.for_scipy(function, X).jac(X)


def test_a_custom_gradient_may_leave() -> None:
    @tf.custom_gradient
    def solve(b: Any) -> Any:
        return tf.constant(theirs(scipy.linalg.solve)(SQUARE, b)), lambda ct: np.linalg.solve(SQUARE.T, ct)

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = solve(x)
    np.testing.assert_allclose(tape.gradient(y, x), np.linalg.solve(SQUARE.T, np.ones(3)))
    with pytest.warns(DetachWarning, match="np.asarray"):
        recorded(lambda x: (solve(x), np.asarray(x)))


# ---- products with sparse matrices -----------------------------------------------------------------------------------

PRODUCTS: dict[str, tuple[Function, np.ndarray]] = {
    "A @ x": (lambda x: SPARSE @ x, X),
    "x @ A": (lambda x: x @ SPARSE, X),
    "A.dot(x)": (lambda x: SPARSE.dot(x), X),
    "A @ X": (lambda x: SPARSE @ x, SQUARE[:, :2]),
    "X @ A": (lambda x: x @ SPARSE, SQUARE[:2]),
    "matrix * x": (lambda x: scipy.sparse.csc_matrix(SPARSE) * x, X),
    "duplicates": (lambda x: scipy.sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), (2, 3)) @ x, X),
    "rectangle": (lambda x: SPARSE[:2] @ x, X),
    "no entries": (lambda x: scipy.sparse.csr_array((2, 3)) @ x, X),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_sparse_matrices_are_recorded(name: str) -> None:
    f, point = PRODUCTS[name]
    np.testing.assert_allclose(recorded_at(f, point)[0], f(point), rtol=1e-14)
    x = tf.constant(point)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    exact = np.stack([f(e.reshape(point.shape)).ravel() for e in np.eye(point.size)], axis=1)
    np.testing.assert_allclose(tape.jacobian(y, x).numpy().reshape(exact.shape), exact, rtol=1e-14)
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, point.shape)
        v = tf1.Variable(point)
        session.run(v.initializer)
        for source in (p, v):
            value, gradient = session.run([f(source), tf1.gradients(f(source), source)[0]], {p: point})
            assert value.tobytes() == recorded_at(f, point)[0].tobytes()
            assert gradient.tobytes() == recorded_at(f, point)[1].tobytes()


def recorded_at(f: Function, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = tf.constant(point)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y.numpy(), tape.gradient(y, x).numpy()


def test_the_jacobian_of_a_sparse_product_is_as_sparse() -> None:
    laplacian = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(50, 50))
    p = tf.for_scipy(lambda x: laplacian @ x + x**2, np.ones(50), format="csr")
    found = p.jac(np.ones(50))
    assert found.nnz == laplacian.nnz
    np.testing.assert_allclose(found.toarray(), laplacian.toarray() + 2 * np.eye(50))


def test_a_sparse_matrix_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sparse matrix of shape \(3, 3\) .* got shape \(2,\)"):
        SPARSE @ tf.constant(X[:2])


# ---- variables that are assigned to ----------------------------------------------------------------------------------


def test_a_variable_read_before_and_after_an_assignment() -> None:
    v = tf.Variable(2.0)

    def run() -> Any:
        with tf.GradientTape() as tape:
            y = v * v
            v.assign(5.0)
            z = y + v * 3.0  # again
        return tape.gradient(z, v)

    message = rf"'Variable:0' is read again .* assigned to \({__file__}, line \d+\).* Open a tape for each value"
    with pytest.warns(DetachWarning, match=message) as caught:
        gradient = run()
    assert "# again" in linecache.getline(caught[0].filename, caught[0].lineno)
    assert gradient.numpy() == 2 * 2.0 + 3.0, "as TensorFlow"


def test_a_followed_tensor_that_is_assigned() -> None:
    v, x = tf.Variable(2.0), tf.constant(3.0)

    def run(assign: Callable[[], Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            assign()
            y = v * x
        return tape.gradient(y, v)

    for assign in (lambda: v.assign(3.0 * x), lambda: v.assign_add(x), lambda: v.assign(v * 3.0)):
        with pytest.warns(DetachWarning, match="a gradient tape follows was assigned") as caught:
            assert run(assign) == x
        assert len(caught) == 1


def test_assignments_that_are_in_order() -> None:
    v, average, x = tf.Variable(2.0), tf.Variable(0.0, trainable=False), tf.constant(3.0)
    with tf.GradientTape() as tape:
        v.assign_add(1.0)
        y = v * x  # the new value
        v.assign(7.0)  # which nobody reads
        for _ in range(2):
            average.assign(0.9 * average + 0.1 * y)
    assert tape.gradient(y, v).numpy() == 3.0
    with tf.GradientTape() as tape:
        loss = v * v
        v.assign(tf.stop_gradient(loss))
    with tf.GradientTape():
        tf.identity(v)
    with tf.GradientTape() as tape:
        tape.watch(v)
        v.assign_sub(1.0)
        y = v * v
    assert tape.gradient(y, v).numpy() == 2 * 48.0


def test_a_strict_tape_refuses_it() -> None:
    v, average, x = tf.Variable(2.0), tf.Variable(0.0, trainable=False), tf.constant(X)
    with tf.GradientTape(strict=True):
        y = v * v
        average.assign(y)
        with pytest.raises(DetachError, match="no derivative passes the assignment"):
            tf.identity(average)
        v.assign(5.0)
        with pytest.raises(DetachError, match="read again"):
            tf.identity(v)
    with tf.GradientTape(strict=True) as tape:
        tape.watch(x)
        with pytest.raises(DetachError, match=r"np\.asarray"):
            np.asarray(x)


# ---- gradients that would be sums ------------------------------------------------------------------------------------


def test_strict_gradients_do_not_sum() -> None:
    x = tf.constant(X)

    def recorded_strictly(f: Function) -> Any:
        with tf.GradientTape(strict=True) as tape:
            tape.watch(x)
            y = f(x)
        return tape, y

    for f in (lambda x: x * x, lambda x: [x[0], x[1]], lambda x: {"a": x[:1], "b": x[:1]}, lambda x: x[:0]):
        tape, y = recorded_strictly(f)
        with pytest.raises(ValueError, match=r"gradient: strict: .* Use tape.jacobian"):
            tape.gradient(y, x)
    for f in (lambda x: tf.reduce_sum(x * x), lambda x: tf.reduce_sum(x * x, keepdims=True), lambda x: [x[0]]):
        tape, y = recorded_strictly(f)
        assert tape.gradient(y, x) is not None
    tape, y = recorded_strictly(lambda x: x * x)
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=X), 2 * X * X)
    tape, y = recorded_strictly(lambda x: x * x)
    np.testing.assert_array_equal(tape.jacobian(y, x), np.diag(2 * X))


def test_strict_gradients_of_a_graph() -> None:
    with tf1.Graph().as_default():
        x, some = tf1.placeholder(tf1.float64, [3]), tf1.placeholder(tf1.float64, [None])
        for ys, xs in ((x * x, x), ([x[0], x[1]], x), (some, some), (tf1.placeholder(tf1.float64), x)):
            with pytest.raises(ValueError, match=r"gradients: strict: .* Use tf.jacobian"):
                tf1.gradients(ys, xs, strict=True)
        assert tf1.gradients(tf1.reduce_sum(x), x, strict=True)[0] is not None
        assert tf1.gradients(x * x, x, X, strict=True)[0] is not None


def test_gradients_on_tapes_says_what_to_write() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)tape.watch\(xs\).*tape.gradient\(ys, xs\)"):
        tf.gradients(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"tape.hessian\(ys, xs\)"):
        tf.hessians(1.0, 2.0)
