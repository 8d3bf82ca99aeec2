"""`dualgrad.numpy`: NumPy itself, but lists that hold tensors are tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualgrad
import tape_api as tf
from dualgrad.extras import arrays as dnp
from engine.numpy_api import manners
from engine.numpy_api.manners import as_arrays

X = np.array([0.3, -1.2, 0.8])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: dnp.array([x[0] ** 2, 2.0, x[1] * x[2]]),
    "array of arrays": lambda x: dnp.array([[x[0], 1.0], [x[1], x[2]]]) @ dnp.array([1.0, 2.0]),
    "array of rows": lambda x: dnp.array([x, np.ones(3), [1.0, 2.0, x[0]]]),
    "array of rank": lambda x: dnp.array([x, 2 * x], ndmin=3),
    "array of complex": lambda x: dnp.abs(dnp.array([x[0], 1j, x[1] * x[2]])),
    "array of a tensor": lambda x: dnp.array(x) * dnp.asarray(x),
    "asarray": lambda x: dnp.asarray((x[0], x[1] ** 2)),
    "r_": lambda x: dnp.r_[x, 1.0, x[:2] ** 2, 0:2, [x[0], 3.0]],
    "r_ of one": lambda x: dnp.r_[x[0]],
    "c_": lambda x: dnp.c_[x, np.ones(3), x**2],
    "c_ of matrices": lambda x: dnp.c_[dnp.outer(x, x), x, 0:3],
    "a list for an array": lambda x: dnp.mean([x[0], x[1] * x[2]]) + dnp.linalg.norm([x[0], x[2]]) + dnp.sum(a=[x, x]),
    "a list of arrays": lambda x: dnp.concatenate([x, [x[0], 1.0]]) ** 2,
    "a ufunc": lambda x: dnp.sin(x) + dnp.add.reduce(x),
    "fft": lambda x: dnp.abs(dnp.fft.fft([x[0], x[1], 1.0])),
    "sums of squares": lambda x: dnp.append([x[0], x[1]], [[x[2]]]) ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_numpys_and_slopes_are_differences(name: str) -> None:
    f = FUNCTIONS[name]

    def total(x: Any) -> Any:
        y = f(x)
        return dnp.sum(y * np.cos(np.arange(dnp.size(y)).reshape(dnp.shape(y))))

    with as_arrays():
        np.testing.assert_allclose(f(tf.constant(X)), f(X), rtol=1e-13)
    slope = tf.transforms.grad(total)(X)
    moved = [(total(X + e) - total(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-8)


def test_all_else_is_numpys() -> None:
    assert isinstance(dnp.zeros(3), np.ndarray)
    assert isinstance(dnp.array([1.0, 2.0]), np.ndarray)
    assert dnp.pi == np.pi
    assert dnp.sin is np.sin
    assert dnp.random is np.random
    assert dnp.r_[1, 2].tolist() == [1, 2]
    assert "linspace" in dir(dnp)
    with pytest.raises(AttributeError, match=r"dualgrad.numpy.*no_such_function"):
        assert dnp.no_such_function
    with pytest.raises(TypeError, match="directions"):
        dnp.r_["r", tf.constant(1.0)]


def test_who_imports_it_gets_tensors_with_manners() -> None:
    assert not manners.enabled()
    vars(dualgrad).pop("numpy", None)
    try:
        assert dualgrad.numpy is dnp
        assert tf.constant([[1.0, 2.0]]).T.shape == (2, 1)
    finally:
        manners.enable(False)
        vars(dualgrad).pop("numpy", None)
