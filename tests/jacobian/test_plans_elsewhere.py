"""Plans called where they were not made: what has no derivative is computed anew, in both front ends."""

from typing import Any

import numpy as np
import pytest

import tape_api
from tests.jacobian.both import Function
from tests.tapes import gradient_in, watching

HERE = np.array([0.3, -1.2, 2.5, 0.9])
THERE = np.array([-2.7, 1.6, -0.4, 3.1])


def choice(tf: Any, x: Any) -> Any:
    return tf.where(x > 0.0, x * x, tf.sin(x))


def mask(tf: Any, x: Any) -> Any:
    return tf.cast(x > 0.5, tf.float64) * x * x


def _recorded(fn: Function, at: np.ndarray) -> tuple[Any, Any, Any]:
    x = tape_api.constant(at)
    tape, y = watching(x, lambda: fn(tape_api, x), persistent=True)
    return tape, y, x


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
    ("bad", "said"),
    [(HERE + 1j, "Cannot"), (["a"] * 4, "Cannot"), (None, "None"), (tape_api.cast(HERE, "float32"), "expected")],
)
def test_a_plan_refuses_what_its_source_cannot_hold(bad: Any, said: str) -> None:
    tape, y, x = _recorded(choice, HERE)
    with pytest.raises(ValueError, match=f"JacobianPlan: source 0: {said}"):
        tape.jacobian_plan(y, x)(bad)
