"""Nothing costs anything unless it is asked for."""

import sys
import weakref

import numpy as np
import pytest

import tape_api as tf
from engine.core.eager import in_c
from engine.core.tape import Tape, active
from tests.executor.test_trips import calls


def test_a_tape_that_does_not_explain_is_the_plain_one() -> None:
    with tf.GradientTape() as tape:
        assert type(tape._tape) is Tape
        assert active.tapes == (tape._tape,)
        assert type(tape._tape.nondifferentiable) is dict
    assert Tape.close is Tape.stop


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are calls of their own there")
def test_an_op_that_is_recorded_runs_through_the_same_functions() -> None:
    x = tf.constant(np.ones(3))
    v = tf.Variable(np.ones(3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        x * x, v * x
        of_op = [name.rpartition(":")[2] for name in calls(lambda: x * x)]
        of_read = [name.rpartition(":")[2] for name in calls(lambda: v * x)]
    # in C there is nothing to be seen of `record`
    assert of_op.count("record") == of_read.count("record") == (not in_c)
    assert of_read.count("record_read") == 1
    assert not [name for name in of_op + of_read if name in ("user_frame", "record_beside")]


def test_a_tape_that_explains_stops_with_the_block_and_keeps_nothing_afterwards() -> None:
    x = tf.constant(np.ones(3))
    with tf.GradientTape(explain=True) as tape:
        tape.watch(x)
        y = x * x
    assert active.tapes == ()
    tape.gradient(y, x)
    kept = weakref.ref(tape._tape)
    del tape
    assert kept() is None


def test_gradients_of_a_tape_that_explains_are_the_same_to_the_bit() -> None:
    x = tf.constant(np.linspace(0.1, 2.0, 7))
    found = []
    for explain in (False, True):
        with tf.GradientTape(explain=explain) as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x) / x * tf.math.log(x)) + tf.reduce_logsumexp(x)
        found.append(tape.gradient(y, x).numpy().tobytes())
    assert found[0] == found[1]


def test_a_reset_forgets_what_was_seen() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape(explain=True) as tape:
        a = x * x
        tape.reset()
        y = a * 2.0
    assert tape.explain(y, x).code == "constant"
