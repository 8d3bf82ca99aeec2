"""Plans called where they were not made: what has no derivative is computed anew, in both front ends."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.jacobian.both import Function
from tests.tapes import gradient_in, watching

HERE = np.array([0.3, -1.2, 2.5, 0.9])
THERE = np.array([-2.7, 1.6, -0.4, 3.1])


def choice(tf: Any, x: Any) -> Any:
    return tf.where(x > 0.0, x * x, tf.sin(x))


def mask(tf: Any, x: Any) -> Any:
    return tf.cast(x > 0.5, tf.float64) * x * x


def stopped(tf: Any, x: Any) -> Any:
    return tf.stop_gradient(tf.sin(x) * x) * x


def truncated(tf: Any, x: Any) -> Any:
    return tf.cast(tf.cast(3.0 * x, tf.int32), tf.float64) * x


def rounded(tf: Any, x: Any) -> Any:
    return tf.floor(x) * tf.exp(x) + tf.math.round(x) * x + tf.sign(x) * x


def ordered(tf: Any, x: Any) -> Any:
    return tf.gather(x, tf.argsort(x)) * tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64)


def best(tf: Any, x: Any) -> Any:
    values, indices = tf.math.top_k(x, 2)
    return values * tf.gather(x, indices) + tf.gather(tf.exp(x), tf.argmax(x))


def one_of_many(tf: Any, x: Any) -> Any:
    return tf.one_hot(tf.argmin(x), 4, dtype=tf.float64) * x * x


def counted(tf: Any, x: Any) -> Any:
    positive = tf.logical_and(x > 0.0, tf.logical_not(x > 3.0))
    return x * x / tf.cast(tf.reduce_sum(tf.cast(positive, tf.int32)) + 1, tf.float64)


def weighted(tf: Any, x: Any) -> Any:
    # differentiable ops between two that are not
    return tf.stop_gradient(tf.reduce_sum(tf.stop_gradient(x) * tf.exp(x)) + tf.floor(x)) * tf.sin(x)


def target_beside(tf: Any, x: Any) -> Any:
    return tf.concat([x * x, tf.stop_gradient(x)], 0)


FUNCTIONS = [choice, mask, stopped, truncated, rounded, ordered, best, one_of_many, counted, weighted, target_beside]


def _recorded(fn: Function, at: np.ndarray) -> tuple[Any, Any, Any]:
    x = tape_api.constant(at)
    tape, y = watching(x, lambda: fn(tape_api, x), persistent=True)
    return tape, y, x


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("options", [{}, {"format": "csr"}, {"mode": "reverse"}], ids=["dense", "csr", "reverse"])
def test_a_plan_of_a_tape_is_right_at_another_point(fn: Function, options: dict[str, Any]) -> None:
    tape, y, x = _recorded(fn, HERE)
    plan = tape.jacobian_plan(y, x, **options)
    with graph_api.Graph().as_default():
        given = graph_api.placeholder(graph_api.float64, (4,))
        in_graph = graph_api.jacobian_plan(fn(graph_api, given), given, **options)
    for at in (HERE, THERE):
        again, z, there = _recorded(fn, at)
        truth = again.jacobian(z, there).numpy()
        for one in (plan, plan.in_chunks(3), pickle.loads(pickle.dumps(plan)), in_graph):
            found = one(at)
            np.testing.assert_allclose(found if "format" not in options else found.toarray(), truth, rtol=1e-14)


def test_a_variable_that_is_no_source_keeps_its_value() -> None:
    v = tape_api.Variable(HERE)
    x = tape_api.constant(HERE)
    plan = gradient_in(x, lambda: tape_api.where(v + x > 0.0, x * v, x), method="jacobian_plan")
    v.assign(-THERE)
    np.testing.assert_array_equal(plan(THERE), np.diag(np.where(HERE + THERE > 0, HERE, 1.0)))


def test_a_variable_that_is_the_source_is_read_anew() -> None:
    v = tape_api.Variable(HERE)
    tape, y = watching((), lambda: tape_api.where(v > 0.0, v * v, v))
    plan = tape.jacobian_plan(y, v)
    np.testing.assert_array_equal(plan(THERE), np.diag(np.where(THERE > 0, 2 * THERE, 1.0)))


def test_gradients_do_not_walk_through_what_is_beside() -> None:
    tape, y, x = _recorded(mask, HERE)
    assert len(list(tape._tape.nodes)) < len(tape._tape.everything())
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.where(HERE > 0.5, 2 * HERE, 0.0))


@pytest.mark.parametrize(
    ("bad", "said"), [(HERE + 1j, "Cannot convert"), (["a"] * 4, "Cannot convert"), (None, "None")]
)
def test_a_plan_refuses_what_its_source_cannot_hold(bad: Any, said: str) -> None:
    tape, y, x = _recorded(FUNCTIONS[0], HERE)
    with pytest.raises(ValueError, match=f"JacobianPlan: source 0: {said}"):
        tape.jacobian_plan(y, x)(bad)
