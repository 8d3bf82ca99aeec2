"""``train.Checkpoint``: what is restored, when, by whom; and what is refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api

X = np.linspace(-1, 1, 8).reshape(4, 2).astype(np.float32)


class Program:
    """A program in the style of tutorials, on either TensorFlow."""

    def __init__(self, tf: Any, seed: int, built: bool = True) -> None:
        class Parts(tf.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = tf.Variable([1.0, 2.0], name="w")
                self.several = [tf.Variable(float(seed)), {"a": tf.Variable(2.0 * seed)}]

        class Net(tf.keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)

            def call(self, x: Any) -> Any:
                return self.second(self.first(x))

        self.tf, layers = tf, tf.keras.layers
        self.stack = tf.keras.Sequential(
            [layers.Dense(3, input_shape=(2,)), layers.BatchNormalization(), layers.Dense(1)]
        )
        self.net, self.parts = Net(), Parts()
        self.optimizer = tf.keras.optimizers.Adam(0.01 * seed)
        self.epoch = tf.Variable(seed, dtype=tf.int64)
        if built:
            self.net(X)
        self.checkpoint = tf.train.Checkpoint(
            epoch=self.epoch, optimizer=self.optimizer, stack=self.stack, net=self.net, parts=self.parts
        )

    def step(self) -> float:
        tf = self.tf
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self.stack(X, training=True) ** 2) + tf.reduce_sum(self.net(X) ** 2)
        variables = [*self.stack.trainable_variables, *self.net.trainable_variables]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return float(loss)


def check(source: Any, target: Any, folder: Path, built: bool) -> None:
    """What one saves after three steps, the other goes on with."""
    first = Program(source, 1)
    for _ in range(3):
        first.step()
    folder.mkdir(exist_ok=True)
    path = first.checkpoint.save(str(folder / "m"))
    second = Program(target, 2, built)
    assert target.train.latest_checkpoint(str(folder)) == path
    status = second.checkpoint.restore(path)
    for _ in range(2):
        np.testing.assert_allclose(second.step(), first.step(), rtol=1e-4)
    status.assert_existing_objects_matched()
    status.assert_consumed()
    assert int(second.epoch) == 1
    assert float(second.parts.several[1]["a"]) == 2.0
    assert int(second.optimizer.iterations) == 5
    assert abs(float(second.optimizer.learning_rate) - 0.01) < 1e-6


@pytest.mark.parametrize("built", [True, False])
def test_training_goes_on(tmp_path: Path, built: bool) -> None:
    check(tape_api, tape_api, tmp_path, built)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_training_goes_on_across_both(tmp_path: Path) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    check(tape_api, tensorflow, tmp_path / "there", True)
    check(tensorflow, tape_api, tmp_path / "here", True)


def test_what_is_left_over_or_missing_is_said(tmp_path: Path) -> None:
    tf = tape_api
    one, two = tf.Variable(1.0, name="one"), tf.Variable(2.0, name="two")
    path = tf.train.Checkpoint(one=one, two=two).write(str(tmp_path / "m"))
    other = tf.Variable(0.0)
    status = tf.train.Checkpoint(one=other).restore(path)
    assert other.numpy() == 1.0
    status.assert_existing_objects_matched().assert_nontrivial_match().expect_partial()
    with pytest.raises(AssertionError, match=r"two/\.ATTRIBUTES"):
        status.assert_consumed()
    status = tf.train.Checkpoint(one=other, three=tf.Variable(3.0)).restore(path)
    with pytest.raises(AssertionError, match="three"):
        status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Nothing"):
        tf.train.Checkpoint(four=tf.Variable(3.0)).restore(path).assert_nontrivial_match()
    nothing = tf.train.Checkpoint(one=other).restore(None)
    nothing.expect_partial()
    with pytest.raises(AssertionError, match="save_path=None"):
        nothing.assert_consumed()


def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    tf = tape_api
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1.0, 2.0])).write(str(tmp_path / "m"))
    a, b = tf.Variable(5.0), tf.Variable([5.0])
    with pytest.raises(ValueError, match=r"shape \(2,\) when attempting to restore variable with shape \(1,\)"):
        tf.train.Checkpoint(a=a, b=b).restore(path)
    with pytest.raises(TypeError, match="dtype float32"):
        tf.train.Checkpoint(a=tf.Variable(np.float64(1))).restore(path)
    assert (a.numpy(), b.numpy().tolist()) == (5.0, [5.0])
    with pytest.raises(tf.errors.NotFoundError, match="nothing"):
        tf.train.Checkpoint(a=a).restore(str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="trackable"):
        tf.train.Checkpoint(a=3)


def test_a_manager_keeps_the_newest(tmp_path: Path) -> None:
    tf = tape_api
    v = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=2)
    assert manager.latest_checkpoint is None
    assert manager.restore_or_initialize() is None
    for i in range(4):
        v.assign(float(i))
        manager.save()
    assert [os.path.basename(p) for p in manager.checkpoints] == ["ckpt-3", "ckpt-4"]
    assert sum(name.endswith(".index") for name in os.listdir(tmp_path)) == 2
    w = tf.Variable(9.0)
    again = tf.train.CheckpointManager(tf.train.Checkpoint(v=w), str(tmp_path), max_to_keep=1)
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-4")
    assert w.numpy() == 3.0
    assert os.path.basename(again.save()) == "ckpt-5"
    assert [os.path.basename(p) for p in again.checkpoints] == ["ckpt-5"]
    with pytest.raises(ValueError, match="max_to_keep"):
        tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=0)


def test_a_manager_saves_at_intervals(tmp_path: Path) -> None:
    tf = tape_api
    step = tf.Variable(0, dtype=tf.int64)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step), str(tmp_path), None, step_counter=step, checkpoint_interval=2
    )
    saved = []
    for _ in range(5):
        saved.append(manager.save() is not None)
        step.assign_add(1)
    assert saved == [True, False, True, False, True]


def test_one_mode_reads_what_the_other_saved(tmp_path: Path) -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as sess:
        graph_api.Variable([1.0, 2.0], name="w")
        sess.run(graph_api.global_variables_initializer())
        path = graph_api.train.Saver().save(sess, str(tmp_path / "m"))
    v = tape_api.Variable([0.0, 0.0], name="w")
    tape_api.train.Checkpoint(v=v).restore(path)
    assert v.numpy().tolist() == [1.0, 2.0]
    path = tape_api.train.Checkpoint(v=tape_api.Variable([3.0, 4.0], name="w")).save(str(tmp_path / "n"))
    with graph_api.Graph().as_default(), graph_api.Session() as sess:
        w = graph_api.Variable([0.0, 0.0], name="w")
        graph_api.train.Saver().restore(sess, path)
        assert sess.run(w).tolist() == [3.0, 4.0]


def test_weights_of_models(tmp_path: Path) -> None:
    layers = tape_api.keras.layers
    one, other = [tape_api.keras.Sequential([layers.Dense(3, input_shape=(2,)), layers.Dense(1)]) for _ in range(2)]
    one.save_weights(str(tmp_path / "w"))
    other.load_weights(str(tmp_path / "w")).assert_consumed()
    np.testing.assert_equal(one.get_weights(), other.get_weights())
    assert tape_api.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "w")
    with pytest.raises(tape_api.errors.NotFoundError, match="nothing"):
        one.load_weights(str(tmp_path / "nothing"))
