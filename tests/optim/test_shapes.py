"""A gradient that has not its variable's shape is refused, also where only the run of a graph knows the shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import optim
import tape_api
from engine.runtime.errors import IndexOutOfRangeError
from optim import transforms
from tests.optim.cases import CASES, Case
from tests.support import noted

START = np.array([[1.0, -2.0], [0.5, 0.25], [-0.75, 1.5]], np.float32)
SHAPES = [(1,), (), (2,), (3, 1), (1, 2), (1, 3, 2)]
ROWS: dict[str, tuple[Any, list[int]]] = {
    "narrow": (np.ones((2, 1), np.float32), [0, 2]),
    "wide": (np.ones((2, 3), np.float32), [0, 2]),
    "flat": (np.ones(2, np.float32), [0, 2]),
    "fewer": (np.ones((1, 2), np.float32), [0, 2]),
    "more": (np.ones((4, 2), np.float32), [0, 2]),
    "outside": (np.ones((2, 2), np.float32), [0, 3]),
    "negative": (np.ones((2, 2), np.float32), [0, -1]),
}
OWN = [case for case in CASES if "float32" in case.dtypes]
every = pytest.mark.parametrize("case", OWN, ids=[case.id for case in OWN])


def refused_in_graph(make: Callable[[Any, Any], Any], fed: list[tuple[Any, ...]]) -> list[Exception]:
    """What a training step raises that is fed what does not fit; it changes nothing."""
    tf = graph_api
    raised: list[Exception] = []
    with tf.Graph().as_default(), tf.Session() as session:
        other, table = tf.Variable([1.0, 2.0], name="other"), tf.Variable(START, name="table")
        train, places = make(other, table)
        session.run(tf.global_variables_initializer())
        before = session.run(tf.global_variables())
        for values in fed:
            with pytest.raises((ValueError, IndexOutOfRangeError)) as found:
                session.run(train, dict(zip(places, values, strict=True)))
            raised.append(found.value)
            np.testing.assert_equal(session.run(tf.global_variables()), before)
    return raised


@every
def test_a_shape_that_only_the_run_knows(case: Case) -> None:
    def make(other: Any, table: Any) -> Any:
        gradient = graph_api.placeholder(graph_api.float32)
        return case.ours().apply_gradients([(graph_api.ones([2]), other), (gradient, table)]), [gradient]

    for error, shape in zip(refused_in_graph(make, [(np.ones(s, np.float32),) for s in SHAPES]), SHAPES, strict=True):
        assert f"the gradient of variable 'table:0' must have the variable's shape (3, 2), got {shape}" in str(error)


@every
def test_rows_that_only_the_run_knows(case: Case) -> None:
    def make(other: Any, table: Any) -> Any:
        values, indices = graph_api.placeholder(graph_api.float32), graph_api.placeholder(graph_api.int32)
        rows = graph_api.IndexedSlices(values, indices, [3, 2])
        return case.ours().apply_gradients([(graph_api.ones([2]), other), (rows, table)]), [values, indices]

    narrow, wide, *_ = refused_in_graph(make, list(ROWS.values()))
    for error, width in ((narrow, 1), (wide, 3)):
        assert f"the gradient of variable 'table:0' must have the variable's shape (?, 2), got (2, {width})" in str(
            error
        )


@every
def test_on_a_tape(case: Case) -> None:
    for bad in (*SHAPES, *ROWS):
        with noted(bad):
            assert_refused_on_a_tape(case, bad)


def assert_refused_on_a_tape(case: Case, bad: Any) -> None:
    tf = tape_api
    other, table, optimizer = tf.Variable([1.0, 2.0]), tf.Variable(START, name="table"), case.ours()
    gradient = tf.ones(bad) if isinstance(bad, tuple) else tf.IndexedSlices(*map(tf.constant, ROWS[bad]), [3, 2])
    for _ in range(2):
        with pytest.raises((ValueError, IndexOutOfRangeError)) as found:
            optimizer.apply_gradients([(tf.ones([2]), other), (gradient, table)])
    assert "'table:0'" in str(found.value) or bad in ("outside", "negative")
    np.testing.assert_array_equal(table.numpy(), START)
    np.testing.assert_array_equal(other.numpy(), [1.0, 2.0])
    slots = [v for v in optimizer.variables() if v.name.startswith("table") and not v.name.endswith("average:0")]
    assert all(np.unique(v.numpy()).size == 1 for v in slots)


@pytest.mark.parametrize(
    "transform",
    [
        transforms.accumulate(2),
        transforms.weight_decay(0.1),
        transforms.scale(2.0),
        transforms.clip_by_global_norm(1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("tf", [graph_api, tape_api], ids=["graph", "tape"])
def test_transforms_do_not_spread_gradients_out(tf: Any, transform: Any) -> None:
    """A gradient of shape (1,) is not added to a sum, or to a variable, of shape (2,)."""
    optimizer = optim.GradientDescentOptimizer(1.0)
    if tf is tape_api:
        with pytest.raises(ValueError, match="the gradient of variable"):
            optimizer.apply_gradients(transform([(tf.ones([1]), tf.Variable([1.0, 2.0]))]))
        return

    def make(other: Any, table: Any) -> Any:
        gradient = tf.placeholder(tf.float32)
        return optimizer.apply_gradients(transform([(gradient, other)])), [gradient]

    (error,) = refused_in_graph(make, [(np.ones(1, np.float32),)])
    assert "the gradient of variable 'other:0' must have the variable's shape (2,), got (1,)" in str(error)
