"""The summaries and checkpoints that hooks write."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf


def counting() -> tuple[Any, Any]:
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
    tf.summary.scalar("steps", step)
    return step, train


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    found = []
    for path in sorted(folder.glob("events*")):
        for event in tf.train.summary_iterator(str(path)):
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
    return found


def test_summaries_of_a_monitored_session(tmp_path: Path) -> None:
    _, train = counting()
    options = {"save_summaries_steps": 2, "log_step_count_steps": None, "save_checkpoint_secs": None}
    hooks = [tf.train.StopAtStepHook(5)]
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=hooks, **options) as session:
        while not session.should_stop():
            session.run(train)
    tf.summary.FileWriterCache.clear()
    assert [(tag, step) for tag, step, _ in scalars(tmp_path)] == [("steps", 1), ("steps", 3), ("steps", 5)]
    # another session of the same, final graph
    with tf.train.MonitoredSession() as session:
        assert session.run(train) == 1


def test_listeners_of_checkpoints(tmp_path: Path) -> None:
    class Noting(tf.train.CheckpointSaverListener):
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def begin(self) -> None:
            self.seen.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            self.seen.append(("before", global_step_value))

        def after_save(self, session: Any, global_step_value: int) -> bool:
            self.seen.append(("after", global_step_value))
            return global_step_value == 4

        def end(self, session: Any, global_step_value: int) -> None:
            self.seen.append(("end", global_step_value))

    _, train = counting()
    listener = Noting()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[listener])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(train)
    saves = [(when, step) for step in (0, 2, 4) for when in ("before", "after")]
    assert listener.seen == ["begin", *saves, ("end", 4)]
    with pytest.raises(ValueError, match="exactly one"):
        tf.train.SummarySaverHook(save_steps=1)


def test_moving_averages_of_internals() -> None:
    from graph_api.legacy.moving_averages import assign_moving_average, weighted_moving_average

    plain, debiased = tf.Variable(1.0), tf.Variable(5.0)
    x = tf.placeholder(tf.float32, [])
    steps = [
        assign_moving_average(plain, x, 0.75, zero_debias=False),
        assign_moving_average(debiased, x, 0.75),
        weighted_moving_average(x, 0.75, x),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, two = session.run(steps, {x: 3.0}), session.run(steps, {x: 7.0})
    np.testing.assert_allclose(one, [1.5, 3.0, 3.0])
    biased, known = 0.75 * 0.75 + 0.25 * 7, 1 - 0.75**2
    np.testing.assert_allclose(two, [2.875, biased / known, (0.75 * 2.25 + 0.25 * 49) / (0.75 * 0.75 + 0.25 * 7)])
