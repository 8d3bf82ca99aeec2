"""`tf.function` while tapes record: they see the ops that Python would apply, so all derivatives have the same bits."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tape_api.test_function import count, numbers
from tests.tapes import gradient_in, watching

WEIGHTS, CAPTURED = numbers(3, 3), tf.constant(numbers(3, 3))
BODIES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "loss": lambda w: lambda x: tf.reduce_sum(tf.tanh(x @ w) ** 2),
    "arguments and reads": lambda w: (
        lambda x: ((x, w.read_value(), tf.reduce_sum(x @ w.read_value()) + tf.reduce_sum(w * w)))
    ),
    "draws": lambda w: (
        lambda x: tf.reduce_sum(tf.random.normal([3], seed=3) * (x @ w)) + tf.reduce_sum(tf.nn.dropout(x, 0.5))
    ),
    "a gradient": lambda w: lambda x: tf.reduce_sum(gradient_in(x, lambda: tf.reduce_sum(tf.sin(x @ w))) ** 2),
    "what is around": lambda w: lambda x: tf.reduce_sum(x * CAPTURED) * tf.reduce_sum(w),
    "what is made of it": lambda w: lambda x: tf.reduce_sum(x * tf.sin(CAPTURED)) * tf.reduce_sum(w),
    "recomputed": lambda w: lambda x: tf.reduce_sum(tf.recompute_grad(lambda y: tf.sin(y @ w))(x)),
    "a stop": lambda w: lambda x: tf.reduce_sum(tf.stop_gradient(x @ w) * tf.sin(x)),
    "a loop": lambda w: lambda x: tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(h @ w)), [0, x])[1],
}


def body(make: Callable[[Any], Callable[[Any], Any]]) -> Callable[[Any], Callable[[Any], Any]]:
    """A function of a variable that makes a function to be recorded."""
    BODIES[make.__name__] = make
    return make


@body
def several_results(w: Any) -> Any:
    def compute(x: Any) -> Any:
        a, b, c = tf.unstack(x @ w, axis=1)
        chosen = tf.cast(tf.argmax(x, 0), tf.float32)
        return tf.reduce_sum(a * b) + tf.reduce_max(c) + tf.reduce_sum(tf.linalg.svd(x, compute_uv=False)[:1] * chosen)

    return compute


@body
def a_rule(w: Any) -> Any:
    @tf.custom_gradient
    def doubled(x: Any) -> Any:
        y = tf.exp(x)
        return y, lambda d: d * y * 2

    return lambda x: tf.reduce_sum(doubled(x) @ w)


@body
def each_other(w: Any) -> Any:
    inner = tf.function(lambda x: tf.tanh(x @ w))
    return lambda x: tf.reduce_sum(inner(inner(x)))


@body
def averages(w: Any) -> Any:
    mean = tf.Variable(tf.zeros([3]), trainable=False)

    def compute(x: Any) -> Any:
        mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(x, 0))
        return tf.reduce_sum((x - mean) @ w), mean.read_value()

    return compute


@body
def an_update(w: Any) -> Any:
    other = tf.Variable(tf.ones([3]))

    def compute(x: Any) -> Any:
        y = tf.reduce_sum((x - other) @ w)
        other.assign(0.9 * other)
        return y

    return compute


@body
def rows(w: Any) -> Any:
    def compute(x: Any) -> Any:
        found = tf.nn.embedding_lookup(w, tf.cast(x[0] > 0, tf.int32)) * x
        return tf.reduce_sum(found) + tf.reduce_sum(tf.vectorized_map(lambda row: row * row, x))

    return compute


def _gradient(f: Any, x: Any, w: Any) -> Any:
    tape, y = watching(x, lambda: f(x))
    return y, tape.gradient(y, [x, w])


def _of_variables(f: Any, x: Any, w: Any) -> Any:
    tape, y = watching((), lambda: f(x))
    return y, tape.gradient(y, [x, w])


def _twice(f: Any, x: Any, w: Any) -> Any:
    tape, (y, z) = watching([x, CAPTURED], lambda: (f(x), f(tf.sin(x))), persistent=True)
    return y, z, tape.gradient([y, z], [x, w, CAPTURED]), tape.gradient(z, [w, x])


def _jacobian(f: Any, x: Any, w: Any) -> Any:
    tape, ys = watching(x, lambda: tf.nest.flatten(f(x)), persistent=True)
    return [tape.jacobian(y, [x, w]) for y in ys], tape.hessian(tf.reduce_sum(ys[-1]), x)


def _second(f: Any, x: Any, w: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        tape, y = watching(x, lambda: f(x))
        found = tape.gradient(y, [x, w])
        total = sum(tf.reduce_sum(tf.convert_to_tensor(g) ** 2) for g in found if g is not None)
    return found, outer.gradient(total, [x, w])


def _forward(f: Any, x: Any, w: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    return y, [accumulator.jvp(part) for part in tf.nest.flatten(y)]


def _stopped(f: Any, x: Any, w: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        f(x)
        with tape.stop_recording():
            factor = tf.nest.flatten(f(x))[-1]
        y = tf.nest.flatten(f(tf.cos(x)))[-1] * factor
    return y, tape.gradient(y, [x, w])


def _explained(f: Any, x: Any, w: Any) -> Any:
    tape, y = watching(x, lambda: f(x), explain=True)
    return y, tape.gradient(y, x), str(tape.explain(tf.nest.flatten(y)[-1], x))


WAYS = {
    "gradient": [_gradient],
    "variables": [_of_variables],
    "twice": [_twice],
    "jacobian": [_jacobian],
    "second": [_second],
    "forward": [_forward],
    "stopped": [_stopped],
    "explained": [_explained],
    "in turn": [lambda f, x, w: f(x), _gradient, _second],
}


def bits(found: Any) -> list[Any]:
    leaves = [x if x is None or isinstance(x, str) else tf.convert_to_tensor(x) for x in tf.nest.flatten(found)]
    return [x if x is None or isinstance(x, str) else (x.shape, x.dtype, x.numpy().tobytes()) for x in leaves]


def same_but_for_rounding(found: Any, expected: Any) -> bool:
    """Whether results are equal up to rounding, signs of zero included."""
    if not isinstance(found, tuple):
        return all(map(same_but_for_rounding, found, expected)) if isinstance(found, list) else found == expected
    if not isinstance(expected, tuple) or found[:2] != expected[:2]:
        return False
    a, b = [np.frombuffer(x[2], x[1].as_numpy_dtype) for x in (found, expected)]
    return np.allclose(a, b, 1e-5, 1e-5) and np.array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BODIES)
def test_derivatives_are_those_of_python(name: str, way: str) -> None:
    xs = [numbers(3, 3) for _ in range(5)]
    found = []
    for eagerly in (True, False):
        tf.random.set_seed(1)
        w = tf.Variable(WEIGHTS)
        # not the bare function: its draws are those of eager calls
        f = tf.function(BODIES[name](w))
        results = []
        tf.config.run_functions_eagerly(eagerly)
        try:
            for k, x in enumerate(xs):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    results.append(bits(WAYS[way][k % len(WAYS[way])](f, tf.constant(x), w)))
                results.append([str(each.message).partition("(")[0] for each in caught])
                w.assign(w * 0.9)
        finally:
            tf.config.run_functions_eagerly(False)
        found.append(results)
    if name in ("a loop", "rows") and way in ("second", "jacobian", "in turn"):
        # a loop of a function is one node, as in a graph: the second derivative is one sum, where a tape has several
        assert same_but_for_rounding(found[0], found[1])
    else:
        assert found[0] == found[1]
    if way != "explained":
        told = "while a tape records" not in f.explain()
        assert told == (name not in ("a_rule", "recomputed")), f.explain()


def gradient_of(f: Any, x: Any) -> float:
    return float(gradient_in(x, lambda: f(x)))


@pytest.mark.parametrize("outside_first", [True, False])
def test_python_runs_once(outside_first: bool) -> None:
    f, ran = count(lambda x: x * x)
    if outside_first:
        f(tf.constant(1.0))
    assert [gradient_of(f, tf.constant(k)) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert float(f(tf.constant(5.0))) == 25.0 and len(ran) == 1


def test_an_argument_that_is_around_the_function_too() -> None:
    fixed = tf.constant(2.0)
    f, ran = count(lambda x: x * fixed)
    assert [gradient_of(f, x) for x in (fixed, tf.constant(5.0), fixed)] == [4.0, 2.0, 4.0] and len(ran) == 1


def test_a_tape_from_around_it() -> None:
    """What the function asks of it is no op."""
    with tf.GradientTape(persistent=True) as tape:

        def watching(x: Any) -> Any:
            tape.watch(x)
            return x * x

        f = tf.function(watching)
        for k in (1.0, 2.0, 3.0):
            x = tf.constant(k)
            assert float(tape.gradient(f(x), x)) == 2 * k
    assert "it uses a tape from around it" in f.explain()


def test_a_tensor_that_is_kept() -> None:
    kept: list[Any] = []
    f, ran = count(lambda x: [kept.append(x * 3), x * x][1])
    assert [gradient_of(f, tf.constant(k)) for k in (1.0, 2.0)] == [2.0, 4.0]
    assert [float(x) for x in kept] == [3.0, 6.0] and len(ran) == 2 and "keeps a tensor" in f.explain()


def test_an_argument_that_is_kept() -> None:
    kept: list[Any] = []
    f = tf.function(lambda x: [kept.append(x), x * x][1])
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        f(x)
        y = kept[0] * 2
    assert float(tape.gradient(y, x)) == 2.0


def test_an_error_is_that_of_python() -> None:
    f, _ = count(lambda x, i: tf.gather(x, i) * 2)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        ys = [f(x, tf.constant(i)) for i in (0, 1)]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 7"):
            f(x, tf.constant(7))
    assert tf.convert_to_tensor(tape.gradient(ys, x)).numpy().tolist() == [2.0, 2.0]
