"""Sweeps in chunks: any number of seeds, sizes that do not divide it, and derivatives of what they give."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import graph_api as g
import tape_api as t
from engine.jacobian.execution.chunks import starts
from tests.jacobian.both import dense, in_graph, least_memory, on_tape
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(3)
W = RNG.normal(size=(7, 7)) / 2


def function(tf: Any, x: Any) -> Any:
    y = tf.linalg.matvec(W, tf.sin(x)) * tf.reduce_sum(x)
    return tf.reshape(y, (7, 1)) * tf.cos(x[:3])


@pytest.mark.parametrize(("count", "chunk"), [(1, 1), (7, 1), (7, 2), (7, 3), (7, 4), (7, 6), (21, 20), (300, 29)])
def test_chunks_are_alike_and_cover_all_seeds(count: int, chunk: int) -> None:
    size, firsts = starts(count, chunk)
    assert size <= chunk
    seeds = [seed for first in firsts for seed in range(first, first + size)]
    assert sorted(set(seeds)) == list(range(count))
    # what is computed twice is less than a seed for each chunk
    assert len(seeds) - count < len(firsts)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("taken", [on_tape, in_graph])
def test_any_number_of_chunks_gives_the_jacobian(mode: str, taken: Any) -> None:
    x = RNG.normal(size=7)
    whole = np.asarray(on_tape(function, x)[0])
    plan = on_tape(function, x, method="jacobian_plan", mode=mode)
    for count in range(2, 8):
        chunked = plan.in_chunks(count)
        assert chunked.plan.chunks[0] < chunked.plan.sweeps[0].count
        np.testing.assert_allclose(chunked(x), whole, rtol=1e-12, atol=1e-14)
    found = taken(function, x, mode=mode, max_bytes=least_memory(function, x, mode=mode))
    np.testing.assert_allclose(np.asarray(found[0]), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_an_executor_gets_the_same_chunks(mode: str) -> None:
    x = RNG.normal(size=7)
    plan = on_tape(function, x, method="jacobian_plan", mode=mode)
    with ThreadPoolExecutor(2) as pool:
        for count in range(2, 8):
            chunked = plan.in_chunks(count)
            np.testing.assert_array_equal(chunked(x, executor=pool), chunked(x))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_chunks_can_be_differentiated(mode: str) -> None:
    x = RNG.normal(size=7)
    limit = least_memory(function, x, mode=mode)
    weights = RNG.normal(size=(7, 3, 7))

    def gradient_on_tape(**options: Any) -> np.ndarray:
        c = t.constant(x)
        with t.GradientTape() as outer:
            outer.watch(c)
            loss = t.reduce_sum(weights * gradient_in(c, lambda: function(t, c), method="jacobian", **options))
        return outer.gradient(loss, c).numpy()

    def gradient_in_graph(**options: Any) -> np.ndarray:
        with g.Graph().as_default(), g.Session() as session:
            given = g.placeholder(x.dtype, x.shape)
            loss = g.reduce_sum(weights * g.jacobian(function(g, given), given, **options))
            return session.run(g.gradients(loss, given)[0], {given: x})

    whole = gradient_on_tape()
    for taken in (gradient_on_tape, gradient_in_graph):
        np.testing.assert_allclose(taken(mode=mode, max_bytes=limit), whole, rtol=1e-10)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_chunks_can_be_pushed_forward_and_batched(mode: str) -> None:
    x, tangent = RNG.normal(size=(2, 7))
    limit = least_memory(function, x, mode=mode)

    def in_session(**options: Any) -> list[np.ndarray]:
        with g.Graph().as_default(), g.Session() as session:
            given = g.placeholder(x.dtype, x.shape)
            first = g.jacobian(function(g, given), given, **options)
            again = g.jacobian(first, given, mode="forward")
            return session.run([g.jvp(first, given, tangent), again], {given: x})

    for found, whole in zip(in_session(mode=mode, max_bytes=limit), in_session(), strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-10, atol=1e-12)


def test_variables_and_custom_gradients_in_chunks() -> None:
    def squared(tf: Any) -> Any:
        @tf.custom_gradient
        def fn(x: Any) -> Any:
            return x * x, lambda d: 3.0 * d * x

        return fn

    w = RNG.normal(size=(9, 9))
    with g.Graph().as_default(), g.Session() as session:
        v = g.Variable(np.arange(9.0))
        scale = g.Variable(2.0, dtype=g.float64)
        y = g.linalg.matvec(w, squared(g)(v * scale))
        found = [g.jacobian(y, v, max_bytes=b, mode=m) for b in (None, 3000) for m in ("reverse",)]
        session.run(g.global_variables_initializer())
        whole, chunked = session.run(found)
    v = t.Variable(np.arange(9.0))
    tape, y = watching((), lambda: t.linalg.matvec(w, squared(t)(v * 2.0)))
    on_a_tape = tape.jacobian(y, v, max_bytes=3000, mode="reverse")
    for one in (whole, chunked, on_a_tape):
        np.testing.assert_allclose(one, w * 12 * np.arange(9.0), rtol=1e-12)


@pytest.mark.parametrize("rows", [0, 4])
def test_no_seeds(rows: int) -> None:
    found = on_tape(lambda tf, x: tf.sin(x[:rows]), np.ones(4), max_bytes=10_000)
    assert np.asarray(found[0]).shape == (rows, 4)


@pytest.mark.parametrize("size", [4, 9, 16])
@pytest.mark.parametrize("taken", [on_tape, in_graph])
def test_seeds_of_chunks_may_look_like_anything(taken: Any, size: int) -> None:
    """Colored seeds can be ones, rows of an identity, or a flat identity: they are seeds all the same."""
    ring = lambda tf, x: x * tf.sin(tf.roll(x, 1, 0))  # noqa: E731
    x = np.arange(1.0, size + 1)
    plain = np.diag(np.sin(np.roll(x, 1))) + np.roll(np.diag(np.roll(x * np.cos(np.roll(x, 1)), -1)), 1, 0)
    with ThreadPoolExecutor(2) as pool:
        for options in (
            {"format": "csr"},
            {"max_bytes": least_memory(ring, x)},
            {"executor": pool},
            {"mode": "reverse"},
        ):
            found = taken(ring, x, **options)[0]
            np.testing.assert_allclose(dense(found), plain, rtol=1e-14, err_msg=str(options))


def test_chunks_keep_the_dtypes_of_numbers_beside_complex_operands() -> None:
    """A recorded sweep takes its constants as operands, also plain numbers, such as the least length of a vector."""
    x = t.constant(np.array([[1.0 + 1j, 2.0], [0.5, 1.0 - 2j]]))

    def jacobian(**options: Any) -> Any:
        return gradient_in(x, lambda: t.math.l2_normalize(t.abs(x) * t.math.real(x), -1), method="jacobian", **options)

    expected = jacobian()
    with t.GradientTape() as outer:
        outer.watch(x)
        with pytest.raises(t.errors.InvalidArgumentError, match="at least") as info:
            jacobian(max_bytes=1)
        least = int(str(info.value).split("at least ")[1].split(",")[0])
        found = jacobian(max_bytes=least)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_chunks_of_custom_rules_in_functions_are_not_those_of_the_first_call() -> None:
    """A rule that is a Python function knows the tensors of its own call: such a function is no program."""

    @t.custom_gradient
    def square(a: Any) -> Any:
        return a * a, lambda d: 2.0 * a * d

    def jacobian(x: Any) -> Any:
        return gradient_in(x, lambda: square(x), method="jacobian", max_bytes=400)

    function = t.function(jacobian)
    for k in range(4):
        x = t.constant(np.array([1.0, -2.0, 3.0]) + k)
        np.testing.assert_array_equal(function(x), np.diag(2.0 * x.numpy()))
