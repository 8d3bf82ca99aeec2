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


FUNCTIONS: dict[str, Function] = {
    "choice": lambda tf, x: tf.where(x > 0.0, x * x, tf.sin(x)),
    "mask": lambda tf, x: tf.cast(x > 0.5, tf.float64) * x * x,
    "stopped": lambda tf, x: tf.stop_gradient(tf.sin(x) * x) * x,
    "truncated": lambda tf, x: tf.cast(tf.cast(3.0 * x, tf.int32), tf.float64) * x,
    "rounded": lambda tf, x: tf.floor(x) * tf.exp(x) + tf.math.round(x) * x + tf.sign(x) * x,
    "ordered": lambda tf, x: tf.gather(x, tf.argsort(x)) * tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64),
    "best": lambda tf, x: (
        tf.math.top_k(x, 2)[0] * tf.gather(x, tf.math.top_k(x, 2)[1]) + tf.gather(tf.exp(x), tf.argmax(x))
    ),
    "one of many": lambda tf, x: tf.one_hot(tf.argmin(x), 4, dtype=tf.float64) * x * x,
    "counted": lambda tf, x: (
        x
        * x
        / tf.cast(tf.reduce_sum(tf.cast(tf.logical_and(x > 0.0, tf.logical_not(x > 3.0)), tf.int32)) + 1, tf.float64)
    ),
    # differentiable ops between two that are not
    "weighted": lambda tf, x: (
        tf.stop_gradient(tf.reduce_sum(tf.stop_gradient(x) * tf.exp(x)) + tf.floor(x)) * tf.sin(x)
    ),
    "target beside": lambda tf, x: tf.concat([x * x, tf.stop_gradient(x)], 0),
}


def _recorded(fn: Function, at: np.ndarray) -> tuple[Any, Any, Any]:
    x = tape_api.constant(at)
    tape, y = watching(x, lambda: fn(tape_api, x), persistent=True)
    return tape, y, x


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
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
    tape, y, x = _recorded(FUNCTIONS["mask"], HERE)
    assert len(list(tape._tape.nodes)) < len(tape._tape.everything())
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.where(HERE > 0.5, 2 * HERE, 0.0))


@pytest.mark.parametrize(
    ("bad", "said"), [(HERE + 1j, "Cannot convert"), (["a"] * 4, "Cannot convert"), (None, "None")]
)
def test_a_plan_refuses_what_its_source_cannot_hold(bad: Any, said: str) -> None:
    tape, y, x = _recorded(FUNCTIONS["choice"], HERE)
    with pytest.raises(ValueError, match=f"JacobianPlan: source 0: {said}"):
        tape.jacobian_plan(y, x)(bad)
