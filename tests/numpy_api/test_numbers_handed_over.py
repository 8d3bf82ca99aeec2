"""Points as solvers, files and other libraries hand them over: any dtype, byte order, number of dimensions."""

import dataclasses
import decimal
import fractions
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import differentiate, integrate, optimize, sparse
from scipy.optimize import elementwise, minimize

import graph_api
import tape_api as tf
from engine.runtime.errors import DetachError, DetachWarning, InvalidArgumentError, SymbolicArrayError

NUMBERS = np.arange(1.0, 4.0)
KINDS = (">f8", "<f8", ">f4", "f2", "g", ">i4", "i8", "u1", "O")


def square(x: Any) -> Any:
    return tf.reduce_sum(x**2)


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.dtype(k) for k in (">f8", "f8", ">f4", "f4", "f2", "g", ">i4", "i8", "u1")]),
        hnp.array_shapes(max_dims=3, max_side=3),
        elements=st.integers(0, 9),
    )
)
def test_points_of_any_dtype(x: np.ndarray) -> None:
    expected = 2.0 * np.asarray(x, np.float64).ravel()
    p = tf.for_scipy(square, x)
    np.testing.assert_array_equal(p.jac(x.ravel()), expected)
    np.testing.assert_array_equal(tf.for_scipy(square, np.ones(x.shape)).jac(x.ravel()), expected)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(tf.transforms.grad(square)(x).numpy().ravel(), expected)
    np.testing.assert_array_equal(tf.transforms.vmap(lambda v: v * v)(x).numpy(), np.asarray(x, np.float64) ** 2)


@pytest.mark.parametrize("kind", KINDS)
def test_all_entrances_take_them(kind: str) -> None:
    x = NUMBERS.astype(kind)
    wide = np.ones(3)
    assert tf.for_scipy(lambda v, a: tf.reduce_sum(v * tf.cast(a, tf.float64)), wide).jac(wide, x).tolist() == [1, 2, 3]
    assert tf.for_scipy(lambda v: tf.reduce_sum(v * x), wide).jac(wide).tolist() == [1, 2, 3]
    assert tf.for_ode(lambda t, y: -y, x).jac(0.0, x).tolist() == (-np.eye(3)).tolist()
    if kind not in ("O", ">i4", "i8", "u1"):
        rows = tf.transforms.jacrev(lambda v: v**2)(x).numpy()
        assert rows.tolist() == np.diag([2.0, 4.0, 6.0]).tolist() and rows.dtype.isnative
        assert tf.transforms.jvp(square, (wide,), (x,))[1].numpy() == 12.0


def test_complex_ones_of_another_byte_order_and_length() -> None:
    for kind in (">c16", "G"):
        z = NUMBERS.astype(kind)
        slope = tf.for_scipy(lambda v: tf.reduce_sum(tf.abs(v) ** 2), z).jac(np.asarray(z, complex).view(float))
        assert slope.tolist() == [2, 0, 4, 0, 6, 0]


ENTRANCES = {
    "constant": tf.constant,
    "constant of a dtype": lambda x: tf.constant(x, tf.float32),
    "operator": lambda x: tf.ones([3], tf.float64) * x,
    "function": tf.sin,
    "for_scipy": lambda x: tf.for_scipy(square, x),
    "point": lambda x: tf.for_scipy(square, NUMBERS).fun(x),
    "argument": lambda x: tf.for_scipy(lambda v, a: tf.reduce_sum(v * a), NUMBERS).fun(NUMBERS, x),
    "grad": lambda x: tf.transforms.grad(square)(x),
    "vmap": lambda x: tf.transforms.vmap(lambda v: v)(x),
    "Variable": tf.Variable,
    "graph": lambda x: graph_api.constant(x),
}


@pytest.mark.parametrize("name", ENTRANCES)
def test_a_mask_that_hides_something_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the mask of the array hides 1 of 3 elements"):
        ENTRANCES[name](np.ma.masked_array(NUMBERS, [0, 1, 0]))
    ENTRANCES[name](np.ma.masked_array(NUMBERS, [0, 0, 0]))


def test_what_is_an_array_is_no_structure() -> None:
    @dataclasses.dataclass
    class Stored:
        path: str
        order: str = "C"

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return NUMBERS.astype(">f8")

    assert tf.transforms.grad(square)(Stored("a")).numpy().tolist() == [2, 4, 6]


@pytest.mark.parametrize("make", [fractions.Fraction, decimal.Decimal])
def test_objects_that_are_numbers(make: Any) -> None:
    x = np.array([make(1), make(2), make(3)], object)
    assert tf.for_scipy(square, NUMBERS).jac(x).tolist() == [2, 4, 6]
    assert tf.transforms.grad(square)(x).numpy().tolist() == [2, 4, 6]
    np.testing.assert_array_equal(tf.sin(x), np.sin(NUMBERS))


@pytest.mark.parametrize("other", [None, "2", "NA"])
def test_objects_that_are_none_are_refused(other: Any) -> None:
    other = pytest.importorskip("pandas").NA if other == "NA" else other
    with pytest.raises((InvalidArgumentError, TypeError)):
        tf.for_scipy(square, NUMBERS).jac(np.array([1.0, other, 3.0], object))


def test_masks_are_refused_wherever_numbers_enter() -> None:
    rows, labels = np.ma.masked_array(np.ones((4, 3)), np.eye(4, 3)), np.ones((4, 1))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = graph_api.placeholder(graph_api.float64, [4, 3])
        doubled = 2.0 * fed
        for enter in (
            lambda: model.predict(rows, verbose=0),
            lambda: model.fit(rows, labels, verbose=0),
            lambda: model.fit(rows.data, labels, sample_weight=rows[:, 0], verbose=0),
            lambda: model.train_on_batch(rows, labels),
            lambda: model.set_weights([np.ma.masked_array(np.ones((3, 1)), [[1], [0], [0]]), np.zeros(1)]),
            lambda: tf.constant([rows[0], rows[1]]),
            lambda: tf.primitive(lambda x: rows[0], lambda ct, out, x: ct)(tf.constant(NUMBERS)),
            lambda: session.run(doubled, {fed: rows}),
            lambda: session.make_callable(doubled, [fed])(rows),
        ):
            with pytest.raises(InvalidArgumentError, match=r"the mask of the array hides"):
                enter()


class OnlyShared:
    """An array of another library that has nothing but DLPack."""

    def __dlpack__(self, **asked: Any) -> Any:
        return NUMBERS.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return NUMBERS.__dlpack_device__()


def test_dlpack() -> None:
    shared = OnlyShared()
    assert tf.transforms.grad(square)(shared).numpy().tolist() == [2, 4, 6]
    assert tf.for_scipy(square, NUMBERS).jac(shared).tolist() == [2, 4, 6]
    assert (tf.constant(NUMBERS) * shared).numpy().tolist() == [1, 4, 9]
    assert tf.reduce_sum(shared).numpy() == 6.0
    x = tf.constant(NUMBERS)
    given = np.from_dlpack(x)
    given[0] = 7.0
    assert x.numpy()[0] == 1.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.warns(DetachWarning, match="from_dlpack"):
            np.from_dlpack(x)


def test_arrays_of_xarray_may_hold_tensors() -> None:
    xarray = pytest.importorskip("xarray")
    grad = tf.transforms.grad
    inside = lambda x: xarray.DataArray(x, dims="a")  # noqa: E731
    assert grad(square)(inside(NUMBERS)).numpy().tolist() == [2, 4, 6]
    for f in (lambda x: tf.reduce_sum(inside(x) ** 2), lambda x: (inside(x) ** 2).sum()):
        assert grad(f)(NUMBERS).numpy().tolist() == [2, 4, 6]
        assert tf.for_scipy(f, NUMBERS).jac(NUMBERS).tolist() == [2, 4, 6]


def test_arrays_of_zarr_and_pandas() -> None:
    zarr, pandas = pytest.importorskip("zarr"), pytest.importorskip("pandas")
    stored = zarr.array(NUMBERS)
    assert tf.transforms.grad(square)(stored).numpy().tolist() == [2, 4, 6]
    assert tf.for_scipy(square, stored).jac(stored).tolist() == [2, 4, 6]
    series = pandas.Series([1.0, None, 3.0], dtype="Float64")
    np.testing.assert_array_equal(tf.transforms.grad(square)(series), [2.0, np.nan, 6.0])


# ---- arrays of objects that hold tensors -----------------------------------------------------------------------------


def filled(x: Any, n: int = 3) -> np.ndarray:
    out = np.zeros(4, dtype=object)
    for i in range(n):
        out[i] = (i + 1) * x[i] ** 2
    return out


SLOPES = [2.0, 8.0, 18.0]


def test_arrays_filled_with_tensors_are_tensors() -> None:
    f = lambda x: tf.reduce_sum(filled(x))  # noqa: E731
    matrix = np.vstack([np.diag(SLOPES), np.zeros(3)])
    assert tf.for_scipy(filled, NUMBERS).jac(NUMBERS).tolist() == matrix.tolist()
    assert tf.transforms.grad(f)(NUMBERS).numpy().tolist() == SLOPES
    for jacobian in (tf.transforms.jacrev, tf.transforms.jacfwd):
        assert jacobian(filled)(NUMBERS).numpy().tolist() == matrix.tolist()
        assert jacobian(lambda x: {"a": filled(x, 1)})(NUMBERS)["a"].numpy()[0].tolist() == [2.0, 0.0, 0.0]
    assert tf.for_ode(lambda t, y: filled(y)[:3], NUMBERS).jac(0.0, NUMBERS).tolist() == np.diag(SLOPES).tolist()
    traced = tf.function(f)
    for call in (f, traced):
        x = tf.constant(NUMBERS)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        assert tape.gradient(y, x).numpy().tolist() == SLOPES
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [3])
        slope = graph_api.gradients(graph_api.reduce_sum(filled(x)), x)
        assert session.run(slope, {x: NUMBERS})[0].tolist() == SLOPES
    x = tf.constant(NUMBERS)
    whole = tf.constant([1.0, 8.0, 27.0, 0.0], tf.float64)
    for made in (tf.convert_to_tensor(filled(x)), tf.stack(filled(x)), tf.concat([filled(x)[:2], filled(x)[2:]], 0)):
        np.testing.assert_array_equal(made, whole)
    np.testing.assert_array_equal(tf.ones([4], tf.float64) * filled(x), whole)
    square_ = np.empty((2, 2), object)
    square_[:] = [[x[0], 0.0], [0.0, x[2]]]
    assert tf.linalg.det(square_).numpy() == 3.0


# ---- words for what goes wrong ---------------------------------------------------------------------------------------


def test_lists_of_tensors_in_asarray_are_told_of_stack() -> None:
    residual = lambda x: np.asarray([x[0] * x[1], x[2]])  # noqa: E731
    with pytest.raises(DetachError, match=r"np\.stack"):
        tf.for_scipy(residual, NUMBERS).jac(NUMBERS)
    with pytest.warns(DetachWarning, match=r"np\.stack"):
        tf.transforms.jacrev(residual)(NUMBERS)
    with graph_api.Graph().as_default(), pytest.raises(SymbolicArrayError, match=r"np\.stack"):
        residual(graph_api.placeholder(graph_api.float64, [3]))


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian", "value_and_grad"])
@pytest.mark.parametrize(
    "f", [lambda x: float(tf.reduce_sum(x)), lambda x: x[0] + float(x[1]), lambda x: x[0] * x.numpy()[1]]
)
def test_plain_numbers_in_transforms_are_reported(name: str, f: Any) -> None:
    with pytest.warns(DetachWarning, match="has no derivative"):
        getattr(tf.transforms, name)(f)(NUMBERS)


def residuals(x: Any) -> Any:
    return tf.stack([x[0] ** 2 + x[1] - 3.0, x[1] * x[2] - 2.0, x[2] - x[0]])


def test_sparse_derivatives_say_so_to_solvers_for_arrays() -> None:
    p = tf.for_scipy(residuals, NUMBERS, format="csr")
    for solve in (
        lambda: optimize.root(p.fun, NUMBERS, jac=p.jac),
        lambda: optimize.root(p.fun, NUMBERS, jac=p.jac, method="lm"),
        lambda: optimize.fsolve(p.fun, NUMBERS, fprime=p.jac),
        lambda: optimize.leastsq(p.fun, NUMBERS, Dfun=p.jac),
        lambda: np.asarray(p.jac(NUMBERS)),
        lambda: np.linalg.inv(p.jac(NUMBERS)),
    ):
        with pytest.raises(TypeError, match=r'derivative is sparse.*format="dense"'):
            solve()
    assert optimize.least_squares(p.fun, NUMBERS, jac=p.jac).success
    assert sparse.issparse(p.jac(NUMBERS)) and isinstance(p.jac(NUMBERS), sparse.csr_array)
    np.testing.assert_array_equal((2 * p.jac(NUMBERS)).toarray(), 2 * p.like(format="dense").jac(NUMBERS))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(p.jac(NUMBERS))).toarray(), p.jac(NUMBERS).toarray())
    assert sparse.vstack([p.jac(NUMBERS), p.jac(NUMBERS)]).shape == (6, 3)


@pytest.mark.parametrize("format", ["csr", "csc", "operator"])
@pytest.mark.parametrize("method", ["dogleg", "trust-exact", "trust-ncg", "trust-krylov"])
def test_hessians_for_methods_that_take_arrays(method: str, format: Any) -> None:
    p = tf.for_scipy(rosenbrock, NUMBERS, format=format)
    with pytest.raises((TypeError, AttributeError), match=r'an array was asked for.*format="dense"'):
        minimize(p.fun, NUMBERS, jac=p.jac, hess=p.hess, method=method)
    for other in ("Newton-CG", "trust-constr"):
        assert minimize(p.fun, NUMBERS, jac=p.jac, hess=p.hess, method=other, options={"maxiter": 3}).nit <= 3


def test_operators_are_no_jacobians_of_constraints() -> None:
    p = tf.for_scipy(rosenbrock, NUMBERS)
    q = tf.for_scipy(lambda x: tf.stack([x[0] * x[1], x[2]]), NUMBERS, format="operator")
    limits = optimize.NonlinearConstraint(q.fun, -np.inf, 1.0, jac=q.jac, hess=optimize.BFGS())
    for method in ("trust-constr", "SLSQP"):
        with pytest.raises(TypeError, match="Jacobian of a constraint must be a matrix"):
            minimize(p.fun, NUMBERS, jac=p.jac, method=method, constraints=limits)


# ---- many points at once ---------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_differences_of_scipy_agree() -> None:
    x = np.array([0.5, 0.2, 0.3])
    p = tf.for_scipy(rosenbrock, np.ones(3))
    np.testing.assert_allclose(differentiate.jacobian(p.fun, x).df, p.jac(x), rtol=1e-9)
    np.testing.assert_allclose(differentiate.hessian(p.fun, x).ddf, p.hess(x), rtol=1e-7, atol=1e-7)
    q = tf.for_scipy(lambda x: tf.stack([x[0] * x[1], tf.sin(x[2])]), np.ones(3))
    np.testing.assert_allclose(differentiate.jacobian(q.fun, x).df, q.jac(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 4), (3, 4, 5), (3, 1, 1), (3, 3)])
def test_columns_of_any_shape(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    p = tf.for_scipy(lambda x: (tf.reduce_sum(x**2), x[:2] * x[1]), np.ones(3))
    at = x.reshape(3, -1)
    expected = np.array([np.r_[(c**2).sum(), c[:2] * c[1]] for c in at.T]).T
    rest = shape[1:] if len(shape) > 2 or x.size > 3 else ()
    np.testing.assert_allclose(p.fun(x), expected.reshape(3, *rest), rtol=1e-14)


def test_a_point_of_several_dimensions_is_one() -> None:
    p = tf.for_scipy(rosenbrock, np.ones((4, 1, 1)))
    assert p.fun(np.ones((4, 1, 1))) == 0.0
    assert p.fun(np.ones((4, 2, 1))).shape == (2, 1)


def test_functions_of_one_number_on_arrays() -> None:
    p = tf.for_scipy(lambda x, a: tf.cos(x) - a * x, 0.0)
    a = np.array([1.0, 2.0, 3.0])
    found = elementwise.find_root(p.fun, (np.zeros((2, 3)), np.full((2, 3), 2.0)), args=(a,))
    assert found.success.all() and found.x.shape == (2, 3)
    np.testing.assert_allclose(np.cos(found.x), a * found.x, rtol=1e-12)
    assert elementwise.find_minimum(tf.for_scipy(lambda x: (x - 1) ** 2, 0.0).fun, (-1.0, 0.0, 3.0)).x == 1.0
    bell = tf.for_scipy(lambda x: tf.exp(-x * x), 0.0)
    assert abs(integrate.tanhsinh(bell.fun, -np.inf, np.inf).integral - np.sqrt(np.pi)) < 1e-14
    decay = tf.for_scipy(lambda x, a: tf.exp(-a * x), 0.0)
    rates = np.array([[1.0, 2.0], [4.0, 8.0]])
    np.testing.assert_allclose(integrate.tanhsinh(decay.fun, 0, np.inf, args=(rates,)).integral, 1 / rates, rtol=1e-9)
    at = np.array([[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_allclose(differentiate.derivative(bell.fun, at).df, -2 * at * np.exp(-at * at), rtol=1e-10)
    decides = tf.for_scipy(lambda x: x if x > 0 else -x, 0.0)
    assert decides.fun(np.array([1.0, -2.0])).tolist() == [1.0, 2.0]
    assert abs(minimize(bell.like().fun_and_jac, 0.3, jac=True, method="BFGS").fun) < 1e-3
