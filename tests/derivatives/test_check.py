"""The numeric checks themselves: they pass what is right and catch every kind of wrong rule."""

import re
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import INEXACT, float32
from engine.core.eager import EagerTensor
from engine.core.kinds import elementwise, elementwise_abstract, elementwise_rule, general
from engine.core.op import FROM_VJP, Op
from engine.ops.arithmetic import add, floor, multiply, square
from engine.ops.compare import cast
from engine.ops.complexes import abs as absolute
from engine.ops.creation import ones_like
from engine.ops.linalg import matmul
from engine.ops.trig import cos, sin
from engine.transforms.check import check_grads, compute_gradient, max_error, numeric_jvp
from engine.transforms.vjp import jvp, vjp
from tests.support import array

X = np.array([0.3, -1.1, 0.7])


def sine(vjp: Any = None, jvp: Any = None) -> Op:
    """The sine, with one of its rules replaced by a given one."""
    return general(
        "sine",
        np.sin,
        elementwise_abstract("sine", ("x",), INEXACT, None),
        vjp=(vjp or (lambda ct, out, x: ct * cos(x)),),
        jvp=(jvp or (lambda t, out, x: t * cos(x)),),
        batch=elementwise_rule,
    )


# ---- vjp and jvp -----------------------------------------------------------------------------------------------------


def test_vjp_and_jvp_of_structures() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"product": x * y, "rest": (sin(x), floor(y))}

    x, y = np.array([1.0, 2.0]), np.array(3.0)
    out, pull = vjp(function, x, y)
    cts = {"product": np.array([1.0, 10.0]), "rest": (np.zeros(2), np.array(1.0))}
    assert array(out["product"]).tolist() == [3.0, 6.0]
    assert [array(ct).tolist() for ct in pull(cts)] == [[3.0, 30.0], 21.0]
    _, tangent = jvp(function, [x, y], [np.array([1.0, 0.0]), None])
    assert array(tangent["product"]).tolist() == [3.0, 0.0]
    assert array(tangent["rest"][0]).tolist() == [np.cos(1.0), 0.0]
    assert array(tangent["rest"][1]).tolist() == 0.0


def test_vjp_gives_zeros_where_nothing_is_connected() -> None:
    _, pull = vjp(lambda x, n: sin(x), X, np.arange(3))
    assert [array(ct).dtype.kind for ct in pull(X)] == ["f", "i"]
    assert not array(pull(X)[1]).any()


def test_vjp_refuses_one_value_in_two_places() -> None:
    x = EagerTensor(X)
    with pytest.raises(ValueError, match="same value was given for two arguments"):
        vjp(add, x, x)


def test_nested_vjp_is_the_second_derivative() -> None:
    def slope(x: Any) -> Any:
        _, pull = vjp(lambda v: v * v * v, x)
        return pull(np.ones(3))[0]

    np.testing.assert_allclose(array(vjp(slope, X)[1](np.ones(3))[0]), 6 * X)


# ---- numeric_jvp -----------------------------------------------------------------------------------------------------


def test_numeric_jvp() -> None:
    t = np.array([1.0, 0.5, -2.0])
    np.testing.assert_allclose(numeric_jvp(sin, [X], [t]), np.cos(X) * t, rtol=1e-9)
    np.testing.assert_allclose(numeric_jvp(multiply, [X, X], [t, None]), X * t, rtol=1e-9)
    np.testing.assert_allclose(numeric_jvp(square, [X], [t], eps=0.5), 2 * X * t, rtol=1e-12)


def test_numeric_jvp_of_complex_values() -> None:
    z, t = np.array([0.5 + 1j]), np.array([2.0 - 1j])
    np.testing.assert_allclose(numeric_jvp(sin, [z], [t]), np.cos(z) * t, rtol=1e-9)
    # not holomorphic: the derivative along a direction exists all the same
    np.testing.assert_allclose(numeric_jvp(absolute, [z], [t]), (z.conj() * t).real / abs(z), rtol=1e-9)


def test_numeric_jvp_takes_the_least_precise_value_for_its_step() -> None:
    t = np.ones(3)
    got = numeric_jvp(lambda x: cast(sin(x), float32), [X], [t])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, np.cos(X), rtol=1e-4)


def test_numeric_jvp_of_integers_is_zero() -> None:
    got = numeric_jvp(lambda x: (sin(x), cast(x, "int32")), [X], [np.ones(3)])
    assert got[1].dtype == np.int32
    assert not got[1].any()


# ---- check_grads -----------------------------------------------------------------------------------------------------


def test_check_grads_passes_what_is_right() -> None:
    check_grads(sin, [X], order=3)
    check_grads(sin, [X + 1j], order=2)
    check_grads(sin, [X.astype(np.float32)], order=1)
    check_grads(absolute, [X + 1j], order=2)
    check_grads(lambda x, n, y: {"a": x * y, "n": n, "b": [sin(x)]}, [X, np.arange(3), X[:1]], order=2)
    check_grads(matmul, [np.ones((0, 3)), np.ones((3, 2))], order=2)
    check_grads(sine(), [X], order=2)


@pytest.mark.parametrize(
    ("op", "order", "message"),
    [
        (sine(vjp=lambda ct, out, x: ct * sin(x)), 1, "order 1, reverse mode"),
        (sine(jvp=lambda t, out, x: t * sin(x)), 1, "order 1, forward mode"),
        (sine(vjp=lambda ct, out, x: ct * EagerTensor(np.cos(array(x)))), 2, "order 2, forward of reverse mode"),
        (sine(jvp=lambda t, out, x: t * EagerTensor(np.cos(array(x)))), 2, "order 2, forward of forward mode"),
        (sine(vjp=lambda ct, out, x: cast(ct * cos(x), float32)), 1, r"sine for operand 0 returned float32\(3,\)"),
        (sine(jvp=lambda t, out, x: matmul(t[None], x[:, None])), 1, r"jvp rule of sine returned float64\(1, 1\)"),
    ],
    ids=["vjp", "jvp", "NumPy in vjp", "NumPy in jvp", "dtype", "shape"],
)
def test_check_grads_catches(op: Op, order: int, message: str) -> None:
    if order == 2:
        check_grads(op, [X], order=1)
    with pytest.raises(AssertionError, match=message):
        check_grads(op, [X], order=order)


def test_check_grads_shows_both_numbers() -> None:
    double = elementwise("double", lambda x: x + x, (lambda out, x: 3 * ones_like(x),))
    with pytest.raises(AssertionError) as caught:
        check_grads(double, [np.array(1.0)])
    found = re.search(r"is (\S+) by the rules and (\S+) by central differences", str(caught.value))
    assert found is not None
    assert float(found[1]) / float(found[2]) == pytest.approx(3 / 2)


def test_check_grads_checks_only_the_modes_asked_for() -> None:
    check_grads(sine(vjp=lambda ct, out, x: ct), [X], order=1, modes=["forward"])
    check_grads(sine(jvp=lambda t, out, x: t), [X], order=1, modes=["reverse"])
    check_grads(general_from_vjp(), [X], order=2)


def general_from_vjp() -> Op:
    return general(
        "sine",
        np.sin,
        elementwise_abstract("sine", ("x",), INEXACT, None),
        vjp=(lambda ct, out, x: ct * cos(x),),
        jvp=FROM_VJP,
        batch=elementwise_rule,
    )


def test_check_grads_refuses_to_check_nothing() -> None:
    with pytest.raises(ValueError, match="nothing to differentiate"):
        check_grads(square, [np.arange(3)])
    with pytest.raises(ValueError, match="nothing to differentiate"):
        check_grads(lambda x: cast(x, "int32"), [X])
    with pytest.raises(ValueError, match="'forward' and 'reverse', got \\['backward'\\]"):
        check_grads(sin, [X], modes=["backward"])


# ---- compute_gradient ------------------------------------------------------------------------------------------------


def test_compute_gradient() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.array([[1.0], [2.0], [-1.0]])
    theoretical, numerical = compute_gradient(matmul, [a, b])
    assert [j.shape for j in theoretical] == [j.shape for j in numerical] == [(2, 6), (2, 3)]
    np.testing.assert_allclose(theoretical[0], np.kron(np.eye(2), b.T))
    np.testing.assert_allclose(theoretical[1], a)
    assert max_error(theoretical, numerical) < 1e-8
    assert max_error(theoretical, compute_gradient(matmul, [a, b], delta=1 / 1024)[1]) < 1e-8


def test_compute_gradient_of_complex_values() -> None:
    """A complex number counts as two reals; multiplication by c is a rotation and a stretch."""
    theoretical, numerical = compute_gradient(lambda z: z * (3 + 4j), [np.array([1 + 2j, 0.5j])])
    rotation = np.array([[3.0, -4.0], [4.0, 3.0]])
    # the rows of the gradient are those of the real Jacobian
    np.testing.assert_allclose(theoretical[0], np.kron(np.eye(2), rotation))
    assert max_error(theoretical, numerical) < 1e-8
    theoretical, numerical = compute_gradient(absolute, [np.array([3 + 4j])])
    np.testing.assert_allclose(theoretical[0], [[0.6, 0.8]])
    assert max_error(theoretical, numerical) < 1e-8


def test_compute_gradient_wants_a_list() -> None:
    with pytest.raises(ValueError, match="must be a list or tuple of arguments, got ndarray"):
        compute_gradient(sin, X)
