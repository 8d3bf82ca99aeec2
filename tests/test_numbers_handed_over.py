"""Points as solvers, files and other libraries hand them over: any dtype, byte order, number of dimensions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import differentiate, integrate
from scipy.optimize import elementwise, minimize

import graph_api
import tape_api as tf
from engine.runtime.errors import InvalidArgumentError

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
    at = np.array([[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_allclose(differentiate.derivative(bell.fun, at).df, -2 * at * np.exp(-at * at), rtol=1e-10)
    decides = tf.for_scipy(lambda x: x if x > 0 else -x, 0.0)
    assert decides.fun(np.array([1.0, -2.0])).tolist() == [1.0, 2.0]
    assert abs(minimize(bell.like().fun_and_jac, 0.3, jac=True, method="BFGS").fun) < 1e-3
