"""Functions to functions: against differences, one another, and closed forms, in any nesting, in both front ends."""

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest

import graph_api as tf1
import tape_api as tf
from engine.core.batching import Batched, batch_level
from engine.runtime.errors import DetachWarning, DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tests.tapes import watching

t = tf.transforms
X = np.array([0.7, 1.9, 0.4])
A = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2]])

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def f(x: Any) -> Any:
    return np.sin(A @ x) * x[0] ** 2


def cost(x: Any) -> Any:
    return np.sum(f(x) ** 2) + x.prod()


def differences(function: Any, x: np.ndarray) -> np.ndarray:
    unit = np.eye(x.size).reshape(-1, *x.shape) * 1e-6
    return np.stack([(np.asarray(function(x + e)) - np.asarray(function(x - e))) / 2e-6 for e in unit], axis=-1)


def numeric_cost(x: np.ndarray) -> Any:
    return np.sum((np.sin(A @ x) * x[0] ** 2) ** 2) + x.prod()


def test_gradients_and_hessians() -> None:
    first = t.grad(cost)(X)
    np.testing.assert_allclose(first, differences(numeric_cost, X), rtol=1e-7)
    value, again = t.value_and_grad(cost)(X)
    assert float(value) == pytest.approx(numeric_cost(X))
    np.testing.assert_array_equal(again, first)
    second = differences(lambda x: t.grad(cost)(x).numpy(), X)
    for found in (
        t.hessian(cost)(X),
        t.jacrev(t.grad(cost))(X),
        t.jacfwd(t.jacfwd(cost))(X),
        t.jacrev(t.jacfwd(cost))(X),
    ):
        np.testing.assert_allclose(found, second, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(t.hvp(cost, (X,), (X,))[0], second @ X, rtol=1e-6)
    np.testing.assert_allclose(t.grad(lambda x: np.sum(t.grad(cost)(x) * X))(X), second @ X, rtol=1e-6)


def test_structures() -> None:
    params = {"net": [Layer(A, 0.5), Pair(X, 2.0)], "none": None}

    def loss(p: Any, scale: float) -> Any:
        (layer, pair) = p["net"]
        return scale * ((layer.w @ pair.left).sum() * pair.right + layer.b)

    found = t.grad(loss)(params, 3.0)
    assert found["none"] is None
    layer, pair = found["net"]
    assert isinstance(layer, Layer)
    assert isinstance(pair, Pair)
    np.testing.assert_allclose(layer.w, 6.0 * np.broadcast_to(X, (2, 3)))
    assert float(layer.b) == 3.0
    np.testing.assert_allclose(pair.left, 6.0 * A.sum(0))
    _, second = t.grad(loss, argnums=(0, 1))(params, 3.0)
    assert float(second) == pytest.approx((A @ X).sum() * 2.0 + 0.5)
    blocks = t.jacrev(lambda p: {"y": p["a"] * p["b"], "z": p["a"]})({"a": X, "b": 2.0})
    for found in (blocks, t.jacfwd(lambda p: {"y": p["a"] * p["b"], "z": p["a"]})({"a": X, "b": 2.0})):
        np.testing.assert_array_equal(found["y"]["a"], 2.0 * np.eye(3))
        np.testing.assert_array_equal(found["y"]["b"], X)
        np.testing.assert_array_equal(found["z"]["b"], np.zeros(3))


def test_what_goes_beside_the_value() -> None:
    gradient, aux = t.grad(lambda x: (np.sum(x**2), {"norm": np.sum(x)}), has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    assert float(aux["norm"]) == X.sum()
    (value, aux), _ = t.value_and_grad(lambda x: (np.sum(x), 5), has_aux=True)(X)
    assert aux == 5
    assert float(value) == X.sum()
    square = lambda x: (x**2 * x[0], {"sum": np.sum(x)})  # noqa: E731
    for transform in (t.jacrev, t.jacfwd, t.hessian):
        found, aux = transform(square, has_aux=True)(X)
        np.testing.assert_array_equal(found, transform(lambda x: square(x)[0])(X))
        assert float(aux["sum"]) == X.sum()
    out, tangent, aux = t.jvp(square, (X,), (X,), has_aux=True)
    np.testing.assert_array_equal(tangent, t.jvp(lambda x: square(x)[0], (X,), (X,))[1])
    assert float(aux["sum"]) == X.sum()
    value, push, aux = t.linearize(square, X, has_aux=True)
    np.testing.assert_array_equal(push(X), tangent)
    np.testing.assert_array_equal(value, out)
    assert float(aux["sum"]) == X.sum()
    for transform in (t.grad, t.jacrev, t.jacfwd, t.hessian, lambda f, has_aux: t.linearize(f, X, has_aux=has_aux)):
        with pytest.raises(TypeError, match="must return a pair"):
            transform(np.sum, has_aux=True)(X)


def test_products() -> None:
    for transform in (t.jacrev, t.jacfwd, t.jacobian):
        jacobian = transform(f)(X).numpy()
        np.testing.assert_allclose(jacobian, differences(lambda x: np.sin(A @ x) * x[0] ** 2, X), rtol=1e-7, atol=1e-9)
    out, push = t.linearize(f, X)
    np.testing.assert_allclose(push(X), jacobian @ X)
    np.testing.assert_allclose(t.jvp(f, (X,), (X,))[1], jacobian @ X)
    out, pull = t.vjp(f, X)
    np.testing.assert_allclose(pull(out)[0], out.numpy() @ jacobian)
    with pytest.raises(ShapeError, match=r"expected the shape \(2,\), got \(3,\)"):
        pull(X)
    with pytest.raises(ValueError, match="expected 1 arrays"):
        push(X, X)


def test_batches() -> None:
    batch = np.stack([X, 2 * X, -X])
    np.testing.assert_allclose(t.vmap(f)(batch), np.stack([f(x) for x in batch]))
    np.testing.assert_allclose(t.vmap(f, in_axes=1, out_axes=1)(batch.T), np.stack([f(x) for x in batch], axis=1))
    np.testing.assert_allclose(t.vmap(t.grad(cost))(batch), np.stack([t.grad(cost)(x) for x in batch]))
    np.testing.assert_allclose(t.vmap(t.hessian(cost))(batch)[1], t.hessian(cost)(2 * X), rtol=1e-12)
    found = t.vmap(lambda p, s: p["x"] * s, in_axes=(0, None))({"x": batch}, 3.0)
    np.testing.assert_array_equal(found, 3 * batch)
    found = t.vmap(lambda p, x: p["w"] @ x + p["b"], in_axes=({"w": 0, "b": None}, None))({"w": batch, "b": 1.0}, X)
    np.testing.assert_allclose(found, batch @ X + 1.0)
    outer = t.vmap(t.vmap(lambda x, y: x * y, (None, 0)), (0, None))(X, X)
    np.testing.assert_array_equal(outer, np.outer(X, X))
    shared = t.vmap(t.grad(lambda p, x: np.sum(p * x**2)), in_axes=(None, 0))(X, batch)
    np.testing.assert_allclose(shared, batch**2)
    captured = t.vmap(lambda x: t.grad(lambda p: np.sum(p * x**2))(X))(batch)
    np.testing.assert_allclose(captured, batch**2)
    twice = t.vmap(t.vmap(t.jacrev(f), in_axes=0), in_axes=0)(np.stack([batch, batch + 1]))
    np.testing.assert_allclose(twice[1, 2], t.jacrev(f)(1 - X), rtol=1e-12)
    for transform in (t.jacfwd, t.jacrev, t.jacobian):
        np.testing.assert_allclose(t.vmap(transform(f))(batch)[2], t.jacrev(f)(-X), rtol=1e-12)
    mixed = t.vmap(lambda x: t.vmap(t.grad(lambda y: np.sum(np.sin(x * y))))(batch))(batch)
    np.testing.assert_allclose(mixed[1, 2], 2 * X * np.cos(2 * X * -X))
    found = tf.vectorized_map(t.grad(cost), tf.constant(batch))
    np.testing.assert_allclose(found, np.stack([t.grad(cost)(x) for x in batch]))
    found = tf.vectorized_map(lambda x: t.grad(lambda p: np.sum(p * x))(X), tf.constant(batch))
    np.testing.assert_allclose(found, batch)
    with batch_level() as level:
        x = Batched(tf.constant(batch), level)
        with pytest.raises(UnimplementedError, match="no argument of it"):
            t.grad(lambda p: np.sum(p * x))(X)
    for numbers in ([1.0, 2.0], (1, 2), {"a": 1.0}, 3.0, [np.float64(1.0), np.ones(2)]):
        with pytest.raises(ShapeError, match=r"vmap: each argument.* needs the axis of `in_axes`; got a number"):
            t.vmap(lambda x: x)(numbers)
    with pytest.raises(ShapeError, match="one static number of elements; got 2, 3"):
        t.vmap(np.add)(X, X[:2])


def test_the_same_in_a_graph() -> None:
    expected = t.grad(cost)(X).numpy(), t.hessian(cost)(X).numpy(), t.jacfwd(f)(X).numpy(), t.jacobian(f)(X).numpy()
    assert tf1.transforms is t
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float64, [3])
        nodes = [t.grad(cost)(x), t.hessian(cost)(x), t.jacfwd(f)(x), t.jacobian(f)(x)]
        for found, wanted in zip(session.run(nodes, {x: X}), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)
        with pytest.raises(ValueError, match=r"'format'.*graph_api\.jacobian"):
            t.jacobian(f, format="csr")(x)


def test_under_a_tape_and_in_a_function() -> None:
    x = tf.constant(X)
    tape, y = watching(x, lambda: tf.reduce_sum(t.grad(cost)(x) ** 2))
    expected = 2 * t.hessian(cost)(X).numpy() @ t.grad(cost)(X).numpy()
    np.testing.assert_allclose(tape.gradient(y, x), expected)
    np.testing.assert_allclose(tf.function(t.grad(cost))(x), t.grad(cost)(X))


def test_complex_functions_and_refusals() -> None:
    z = np.array([1.0 + 2.0j])
    np.testing.assert_allclose(t.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    with pytest.raises(ShapeError, match=r"one number; got shapes .*See jacobian"):
        t.grad(f)(X)
    with pytest.raises(DTypeError, match="real number; got complex128"):
        t.grad(lambda z: np.sum(z))(z)
    with pytest.raises(DTypeError, match=r"got int64; choose other arguments by `argnums`"):
        t.grad(np.sum)(np.array([1, 2]))
    with pytest.raises(ValueError, match="`argnums` is 1, and the function got 1 arguments"):
        t.grad(np.sum, argnums=1)(X)
    same = t.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(tf.constant(X), tf.constant(X))
    np.testing.assert_array_equal(same[0], X)
    both = tf.constant(X)
    np.testing.assert_array_equal(t.grad(lambda x, y: np.sum(x * y**2), argnums=(0, 1))(both, both)[1], 2 * X**2)


Z = np.array([1 + 2j, 3 - 1j])


@pytest.mark.parametrize("name", ["jacobian", "jacrev", "jacfwd"])
def test_jacobians_of_complex_results(name: str) -> None:
    jacobian = getattr(t, name)
    np.testing.assert_allclose(jacobian(lambda x: x**2 * (1 + 1j))(X).numpy(), np.diag(2 * X) * (1 + 1j))
    for block, want in zip(
        jacobian(lambda x: (x**2, tf.exp(tf.complex(0 * x, x))))(X), (2 * X, 1j * np.exp(1j * X)), strict=False
    ):
        np.testing.assert_allclose(block.numpy(), np.diag(want), 1e-15)
    # of complex arguments the gradient: the conjugate of the derivative
    np.testing.assert_allclose(jacobian(lambda z: z**3)(Z).numpy(), np.diag(np.conj(3 * Z**2)))
    for partly in (tf.math.conj, lambda z: z * tf.math.conj(z), lambda z: tf.cast(tf.abs(z), tf.complex128)):
        with pytest.raises(InvalidArgumentError, match="not a holomorphic function"):
            jacobian(partly)(Z)
    if name == "jacfwd":
        with pytest.raises(DTypeError, match="jacfwd: a result is real and an argument complex"):
            jacobian(lambda z: tf.math.real(z * tf.math.conj(z)))(Z)
    else:
        np.testing.assert_allclose(jacobian(lambda z: tf.math.real(z * tf.math.conj(z)))(Z).numpy(), np.diag(2 * Z))
    many = t.vmap(jacobian(lambda x: x**2 * (2 - 1j)))(A).numpy()
    np.testing.assert_allclose(many, np.stack([np.diag(2 * row) * (2 - 1j) for row in A]))
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, [3])
        found = session.run(getattr(tf1.transforms, name)(lambda x: tf1.complex(x * x, x))(p), {p: X})
    np.testing.assert_allclose(found, np.diag(2 * X + 1j))


def test_hessians_of_complex_results() -> None:
    np.testing.assert_allclose(t.hessian(lambda x: tf.reduce_sum(x**3) * 1j)(X).numpy(), np.diag(6j * X))
    np.testing.assert_allclose(t.hessian(lambda z: tf.reduce_sum(z**3))(Z).numpy(), np.diag(np.conj(6 * Z)))
    with pytest.raises(InvalidArgumentError, match="not a holomorphic function"):
        t.hessian(lambda z: tf.reduce_sum(tf.math.real(z * tf.math.conj(z))))(Z)


# ---- functions of a graph, and of structures, in every transform -----------------------------------------------------


def of_layer(module: Any) -> Any:
    def function(p: Layer, x: Any) -> Any:
        return {"y": module.tanh(p.w) * x + p.b, "z": module.reduce_sum(p.w**2)}

    return function


def leaves(tree: Any) -> list[np.ndarray]:
    """The numbers in a structure of eager tensors, or of tensors of a graph."""
    found = t.opened(tree)[0]
    if all(isinstance(x, tf.Tensor) for x in found):
        return [x.numpy() for x in found]
    with tf1.Session() as session:
        return session.run([tf1.convert_to_tensor(x) for x in found])


@pytest.mark.parametrize("module", [tf, tf1])
@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "jacobian", "vjp", "jvp", "linearize", "grad", "hessian", "hvp"])
def test_arrays_reach_the_functions_of_either_front_end(module: Any, name: str) -> None:
    # functions of a graph make constants of arrays: the path goes on there
    p, x = Layer(np.array([0.3, -0.2]), 2.0), np.array([1.0, 3.0])
    f, slope = of_layer(module), 1 - np.tanh(np.array([0.3, -0.2])) ** 2
    with tf1.Graph().as_default():
        if name.startswith("jac"):
            w_of_y, b_of_y, w_of_z, b_of_z = leaves(getattr(t, name)(f)(p, x))
            np.testing.assert_allclose(w_of_y, np.diag(slope * x))
            np.testing.assert_allclose(b_of_y, [1.0, 1.0])
            np.testing.assert_allclose(w_of_z, [0.6, -0.4])
            assert b_of_z == 0.0
        elif name == "vjp":
            w, b, at_x = leaves(t.vjp(f, p, x)[1]({"y": np.ones(2), "z": 1.0}))
            np.testing.assert_allclose(w, slope * x + [0.6, -0.4])
            assert b == 2.0
            np.testing.assert_allclose(at_x, np.tanh(p.w))
        elif name in ("jvp", "linearize"):
            along = Layer(np.ones(2), 1.0), np.zeros(2)
            tangents = t.jvp(f, (p, x), along)[1] if name == "jvp" else t.linearize(f, p, x)[1](*along)
            y, z = leaves(tangents)
            np.testing.assert_allclose(y, slope * x + 1.0)
            assert z == pytest.approx(0.2)
        else:
            cost = lambda q: module.reduce_sum(q["a"] ** 3) * q["b"]  # noqa: E731
            point, ones = {"a": np.array([1.0, 2.0]), "b": 2.0}, {"a": np.ones(2), "b": 0.0}
            if name == "grad":
                a, b = leaves(t.grad(cost)(point))
                np.testing.assert_allclose(a, [6.0, 24.0])
                assert b == 9.0
            elif name == "hvp":
                np.testing.assert_allclose(leaves(t.hvp(cost, (point,), (ones,)))[0], [12.0, 24.0])
            else:
                np.testing.assert_allclose(leaves(t.hessian(cost)(point))[0], [[12.0, 0.0], [0.0, 24.0]])


def test_a_tape_follows_a_tensor_into_a_graph() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session, tf.GradientTape() as tape:
        x = tf.constant([1.0, 2.0])
        tape.watch(x)
        y = tf1.reduce_sum(tf1.square(x))
        np.testing.assert_array_equal(session.run(tape.gradient(y, x)), [2.0, 4.0])


def test_check_grads() -> None:
    point = [{"a": np.array([0.3, 0.7]), "n": 3}, 2.0]
    t.check_grads(lambda p, s: {"y": np.sin(p["a"]) ** p["n"] * s}, point, order=3)
    for modes in ("fwd", ("rev",), ("forward", "reverse")):
        t.check_grads(cost, [X], 2, modes)
    wrong = tf.primitive(np.sin, lambda ct, out, x: ct * 0.9)
    with pytest.raises(AssertionError, match="reverse"):
        t.check_grads(wrong, [X], 1, ["rev"])
    with pytest.raises(ValueError, match="nothing to differentiate"):
        t.check_grads(lambda n: n, [3])


def test_jets() -> None:
    # sin(t) + t**2 along x(t) = 0.5 + t + t**2 / 2
    value, found = t.jet(np.sin, (0.5,), ([1.0, 1.0, 0.0, 0.0],))
    h = lambda s: 0.5 + s + s**2 / 2  # noqa: E731
    grid = 1e-2 * np.arange(-6, 7)
    fitted = np.polynomial.polynomial.polyfit(grid, np.sin(h(grid)), 9)
    wanted = fitted[1:5] * [1, 2, 6, 24]
    assert float(value) == pytest.approx(np.sin(0.5))
    np.testing.assert_allclose([float(d) for d in found], wanted, rtol=1e-5)
    value, (first, second) = t.jet(lambda p, y: p["a"] * y, ({"a": X}, X), ([{"a": X}, {"a": 0 * X}], [X, 0 * X]))
    np.testing.assert_allclose(first, 2 * X**2)
    np.testing.assert_allclose(second, 2 * X**2)
    with pytest.raises(ValueError, match="of one length"):
        t.jet(np.sin, (0.5,), ([1.0], [1.0]))


def test_numbers_that_python_made_of_tensors_are_reported():
    x = np.array([1.0, 2.0])
    with pytest.warns(DetachWarning, match=r"float\(\) made plain numbers"):
        assert not tf.transforms.grad(lambda x: float((x * x).sum()))(x).numpy().any()
    with pytest.warns(DetachWarning, match=r"numpy\(\) made plain numbers"):
        tf.transforms.vjp(lambda x: x.numpy(), x)
    # so is a factor, whose derivative is lost
    with pytest.warns(DetachWarning, match=r"float\(\) made plain numbers"):
        assert tf.transforms.grad(lambda x: (x * float(x.sum())).sum())(x).numpy().tolist() == [3.0, 3.0]
