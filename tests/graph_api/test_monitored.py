"""Sessions with hooks."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from engine.runtime.errors import UnimplementedError


def training() -> tuple[Any, Any, Any]:
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(4.0, name="w")
    loss = tf.square(w, name="loss")
    return w, loss, tf.train.GradientDescentOptimizer(0.25).minimize(loss, step)


class Recording(tf.train.SessionRunHook):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def begin(self) -> None:
        self.loss = tf.get_default_graph().get_tensor_by_name("loss:0")
        self.told.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert session.graph.finalized
        self.told.append("created")

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.told.append(float(run_values.results))

    def end(self, session: Any) -> None:
        self.told.append("end")


def test_hooks_are_told() -> None:
    w, _, train = training()
    hook = Recording()
    with tf.train.MonitoredTrainingSession(hooks=[hook, tf.train.StopAtStepHook(num_steps=3)]) as session:
        while not session.should_stop():
            session.run(train)
        assert session.run(w) == 0.5
    # the loss of the run after the last step is told too
    assert hook.told == ["begin", "created", 16.0, 4.0, 1.0, 0.25, "end"]
    with pytest.raises(RuntimeError, match="should_stop"):
        session.run(w)


def test_checkpoints_are_saved_and_restored(tmp_path: Path) -> None:
    for last in (2, 5):
        tf.reset_default_graph()
        w, _, train = training()
        hooks = [tf.train.StopAtStepHook(last_step=last)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=tmp_path, hooks=hooks, save_checkpoint_steps=1, log_step_count_steps=None
        ) as session:
            if last == 5:
                assert session.run(w) == 1.0
            while not session.should_stop():
                session.run(train)
        assert tf.train.latest_checkpoint(str(tmp_path)).endswith(f"model.ckpt-{last}")
        assert tf.train.load_variable(str(tmp_path), "w") == np.float32(4.0 / 2**last)


def test_logging_tensor_hook(caplog: pytest.LogCaptureFixture) -> None:
    train = training()[-1]
    hooks = [tf.train.LoggingTensorHook({"loss": "loss:0"}, every_n_iter=2, at_end=True), tf.train.StopAtStepHook(3)]
    with caplog.at_level(logging.INFO, "tensorflow"), tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop():
            session.run(train)
    lines = [r.message.partition(" (")[0] for r in caplog.records]
    assert lines == ["loss = 16.0", "loss = 1.0", "loss = 0.25"]


def test_nan_stops_or_fails() -> None:
    x = tf.placeholder(tf.float32)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as session:
        assert session.run(x, {x: 1.0}) == 1 and not session.should_stop()
        with pytest.raises(tf.train.NanLossDuringTrainingError):
            session.run(x, {x: np.nan})
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x, fail_on_nan_loss=False)]) as session:
        session.run(x, {x: np.nan})
        assert session.should_stop()


def test_feeds_final_ops_and_step_functions() -> None:
    x = tf.placeholder(tf.float32)
    y = x * 2
    final = tf.train.FinalOpsHook(y, {x: 7.0})
    with tf.train.SingularMonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 3.0}), final]) as session:
        assert session.run(y) == 6
        assert session.run_step_fn(lambda context: context.session.run(y, {x: 1.0})) == 2
        with pytest.raises(RuntimeError, match="fed already"):
            session.run(y, {x: 1.0})
    assert final.final_ops_values == 14


def test_scaffold_initializes() -> None:
    w = tf.Variable(1.0, name="w")
    fed = tf.placeholder(tf.float32, [])
    scaffold = tf.train.Scaffold(init_op=tf.assign(w, fed), init_feed_dict={fed: 9.0})
    creator = tf.train.ChiefSessionCreator(scaffold)
    with tf.train.MonitoredSession(creator) as session:
        assert session.run(w) == 9
    with pytest.raises(UnimplementedError, match="several machines"):
        tf.train.MonitoredTrainingSession(is_chief=False)
    with pytest.raises(ValueError, match="either"):
        tf.train.StopAtStepHook()
    with pytest.raises(RuntimeError, match="Global step"):
        tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(3)])


def test_queues_are_filled_while_it_runs() -> None:
    class Watch(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            assert not coord.should_stop()
            self.coord = coord

    watch = Watch()
    (number,) = tf.train.slice_input_producer([[1.0, 2.0, 3.0]], num_epochs=2, shuffle=False)
    total = tf.reduce_sum(tf.train.batch([number], batch_size=3))
    found = []
    with tf.train.MonitoredTrainingSession(hooks=[watch], log_step_count_steps=None) as sess:
        while not sess.should_stop():
            found.append(float(sess.run(total)))
    assert found == [6.0, 6.0]
    assert watch.coord.should_stop()
    assert all(not thread.is_alive() for thread in sess._threads)
