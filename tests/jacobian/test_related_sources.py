"""Sources that are computed from one another, given twice, or that are targets: every way leads through all of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.jacobian.both import dense

X = np.array([0.3, -1.2, 0.8, 1.9])
Function = Callable[[Any, Any], tuple[Sequence[Any], Any]]


def reversed_(tf: Any, x: Any) -> Any:
    v = x[::-1]
    return [x, v], tf.concat([v, v * 2.0], 0)


def the_other_way_round(tf: Any, x: Any) -> Any:
    v = tf.gather(x, [2, 0, 2])
    return [v, x], v * 2.0


def moved_behind_an_op(tf: Any, x: Any) -> Any:
    """The middle source is moved to the last one, and is no move of the first one."""
    v = tf.sin(x)
    w = v[::-1]
    return [x, v, w], w


def a_chain(tf: Any, x: Any) -> Any:
    v = tf.reshape(x, [2, 2])
    w = tf.transpose(v)
    return [x, w, v], [tf.reduce_sum(w * w, 1), w[0], v[1, 0]]


def differences(tf: Any, x: Any) -> Any:
    """What looking through sums takes off."""
    v = x - tf.roll(x, 1, 0)
    return [x, v], tf.reduce_sum(tf.sin(v) ** 2.0)


def pairs(tf: Any, x: Any) -> Any:
    v = x[:, None] - x[None, :]
    return [v, x], tf.reduce_sum(v**4.0)


def twice(tf: Any, x: Any) -> Any:
    return [x, x], x[::-1] * 3.0


def twice_and_moved(tf: Any, x: Any) -> Any:
    v = tf.roll(x, 1, 0)
    return [v, x, v, x], tf.concat([v * v, x], 0)


def through_a_bottleneck(tf: Any, x: Any) -> Any:
    v = tf.tile(tf.reshape(tf.reduce_sum(tf.sin(x)), [1]), [30])
    return [x, v], v * tf.constant(np.arange(30.0))


FUNCTIONS: Sequence[Function] = (
    reversed_, the_other_way_round, moved_behind_an_op, a_chain, differences, pairs, twice, twice_and_moved,
    through_a_bottleneck,
)  # fmt: skip


def recorded(function: Function, after: Callable[[Any], Any] = lambda ys: ys) -> tuple[Any, Sequence[Any], Any]:
    """A tape that has recorded `function` and what is done `after`, with its sources and the result."""
    x = tape_api.constant(X)
    with tape_api.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sources, ys = function(tape_api, x)
        result = after(ys)
    return tape, sources, result


def row_by_row(tape: Any, y: Any, sources: Sequence[Any]) -> list[np.ndarray]:
    """A Jacobian made of gradients."""
    rows = []
    for seed in np.eye(int(np.prod(y.shape))):
        found = tape.gradient(y, sources, tape_api.constant(seed.reshape(y.shape)), unconnected_gradients="zero")
        rows.append([np.ravel(tape_api.convert_to_tensor(g)) for g in found])
    return [np.stack(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("options", [{}, {"format": "csr"}, {"mode": "forward"}, {"mode": "reverse"}], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_blocks_are_what_gradients_are(function: Function, options: dict[str, Any]) -> None:
    tape, sources, ys = recorded(function)
    targets = ys if isinstance(ys, list) else [ys]
    expected = [row_by_row(tape, y, sources) for y in targets]
    got = tape.jacobian(targets, sources, unconnected_gradients="zero", **options)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder("float64", [4])
        graph_sources, ys = function(graph_api, p)
        targets = ys if isinstance(ys, list) else [ys]
        in_graph = session.run(
            graph_api.jacobian(targets, graph_sources, unconnected_gradients="zero", **options), {p: X}
        )
    for rows, blocks, others in zip(expected, got, in_graph, strict=True):
        for e, block, other in zip(rows, blocks, others, strict=True):
            np.testing.assert_allclose(dense(block).reshape(e.shape), e, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(dense(other), dense(block))


@pytest.mark.parametrize("function", [reversed_, moved_behind_an_op, differences, pairs, twice_and_moved])
def test_hessians_by_related_sources(function: Function) -> None:
    x = tape_api.constant(X)
    with tape_api.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tape_api.GradientTape(persistent=True) as tape:
            tape.watch(x)
            sources, ys = function(tape_api, x)
            y = tape_api.reduce_sum(ys**3.0) if ys.shape.rank else ys
        gradients = [tape_api.convert_to_tensor(g) for g in tape.gradient(y, sources)]
    blocks = tape.hessian(y, sources)
    for row, gradient in zip(blocks, gradients, strict=True):
        for block, expected in zip(row, row_by_row(outer, gradient, sources), strict=True):
            np.testing.assert_allclose(np.reshape(block, expected.shape), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_product_with_tangents_is_that_of_the_blocks(function: Function) -> None:
    """Each source has a tangent of its own, beside what comes from those that it is computed from."""
    rng = np.random.default_rng(0)
    tape, sources, ys = recorded(function)
    targets = ys if isinstance(ys, list) else [ys]
    tangents = [rng.standard_normal(s.shape) for s in sources]
    expected = [
        sum(np.asarray(rows) @ t.ravel() for rows, t in zip(row_by_row(tape, y, sources), tangents, strict=True))
        for y in targets
    ]
    got = tape.jvp(targets, sources, tangents)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        p = graph_api.placeholder("float64", [4])
        graph_sources, ys = function(graph_api, p)
        targets = ys if isinstance(ys, list) else [ys]
        in_graph = session.run(graph_api.jvp(targets, graph_sources, tangents), {p: X})
    for e, product, other in zip(expected, got, in_graph, strict=True):
        np.testing.assert_allclose(np.ravel(product), e, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(other, product)


@pytest.mark.parametrize("function", [reversed_, moved_behind_an_op, differences, pairs, twice_and_moved])
def test_a_product_with_the_hessian_is_that_of_its_blocks(function: Function) -> None:
    rng = np.random.default_rng(0)
    tape, sources, y = recorded(function, lambda ys: tape_api.reduce_sum(ys**3.0))
    tangents = [rng.standard_normal(s.shape) for s in sources]
    blocks = tape.hessian(y, sources)
    for row, product, source in zip(blocks, tape.hvp(y, sources, tangents), sources, strict=True):
        parts = [np.asarray(b).reshape(-1, t.size) @ t.ravel() for b, t in zip(row, tangents, strict=True)]
        np.testing.assert_allclose(product, np.reshape(sum(parts), source.shape), rtol=1e-9, atol=1e-9)
