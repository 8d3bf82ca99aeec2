"""A Jacobian is None where a gradient is: where no path leads. Zeros by structure are zeros."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.jacobian.both import dense
from tests.tapes import gradient_in, watching

FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "padding": (lambda tf, x: tf.pad(tf.reduce_sum(x, keepdims=True), [[2, 0]])[0], True),
    "part of a join": (lambda tf, x: tf.concat([tf.ones([2], tf.float64), x], 0)[:2], True),
    "sign": (lambda tf, x: tf.sign(x), True),
    "product with zeros": (lambda tf, x: tf.zeros([3], tf.float64) * x, True),
    "nothing": (lambda tf, x: x[3:], True),
    "stopped": (lambda tf, x: tf.stop_gradient(x), False),
    "floor": (lambda tf, x: tf.floor(x), False),
    "a constant": (lambda tf, x: tf.constant(np.ones(2)), False),
}
POINT = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize("format", ["dense", "csr", "coo", "operator"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_none_only_where_the_gradient_is(name: str, format: str) -> None:
    fn, connected = FUNCTIONS[name]
    x = tape_api.constant(POINT)
    tape, y = watching(x, lambda: fn(tape_api, x), persistent=True)
    assert (tape.gradient(y, x) is not None) == connected
    results = [tape.jacobian(y, x, format=format)]
    for shape in ([3], [None]):
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            s = graph_api.placeholder(graph_api.float64, shape)
            y = fn(graph_api, s)
            assert (graph_api.gradients(y, s)[0] is not None) == connected
            found = graph_api.jacobian(y, s, format=format)
            results.append(None if found is None else session.run(found, {s: POINT}))
    assert [found is not None for found in results] == [connected] * 3
    for found in results if connected else ():
        assert not dense(found).any()


def test_several_targets_and_sources() -> None:
    x, z = tape_api.constant(POINT), tape_api.constant(POINT)
    found = gradient_in([x, z], lambda: [tape_api.sign(x), x * z, tape_api.pad(z, [[3, 0]])[:3]], method="jacobian")
    assert [[block is None for block in row] for row in found] == [[False, True], [False, False], [True, False]]


@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_complex_ends_that_no_path_leads_to_do_not_matter(mode: str) -> None:
    """Neither for what is refused, nor for the last bits, which depend on the direction."""
    values = [POINT, np.array([1j, 2.0])]

    def targets(tf: Any, x: Any, z: Any) -> list[Any]:
        return [tf.cast(tf.sin(x), tf.float32), tf.identity(z)]

    x, z = map(tape_api.constant, values)
    with tape_api.GradientTape(persistent=True) as tape, tape_api.GradientTape(persistent=True) as other:
        tape.watch(x)
        other.watch([x, z])
        ys = targets(tape_api, x, z)
    results = [t.jacobian(ys, x, mode=mode) for t in (tape, other)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        feeds = {graph_api.placeholder(v.dtype, v.shape): v for v in values}
        found = graph_api.jacobian(targets(graph_api, *feeds), next(iter(feeds)), mode=mode)
        results.append([None if f is None else session.run(f, feeds) for f in found])
    for first, second in results:
        assert second is None
        np.testing.assert_array_equal(first, np.asarray(results[0][0]))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_several_targets_of_which_one_source_is_apart(mode: str) -> None:
    x, z = tape_api.constant(POINT), tape_api.constant(POINT)
    tape, ys = watching(
        [x, z], lambda: [tape_api.identity(x), tape_api.identity(tape_api.sin(x)), x[3:]], persistent=True
    )
    blocks = tape.jacobian(ys, [x, z], mode=mode)
    assert [[b is None for b in row] for row in blocks] == [[False, True]] * 3
    assert blocks[2][0].shape == (0, 3)
