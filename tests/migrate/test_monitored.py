"""Monitored sessions become plain loops, with checkpoints; metrics are started anew where the program does so."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from dualgrad.files.checkpoints import load_checkpoint
from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

HOOKS = """
import shutil, tempfile
import numpy as np
import tensorflow as tf

X = np.linspace(0, 1, 50).reshape(-1, 1).astype(np.float32)
Y = 2.0 * X - 0.5
logdir = tempfile.mkdtemp()
x = tf.placeholder(tf.float32, [None, 1])
y = tf.placeholder(tf.float32, [None, 1])
w = tf.Variable(tf.zeros([1, 1]), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y), name="loss")
global_step = tf.train.get_or_create_global_step()
train_op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=global_step)
tf.summary.scalar("loss", loss)
hooks = [
    tf.train.StopAtStepHook(num_steps=30),
    tf.train.LoggingTensorHook({"step": global_step, "loss": loss}, every_n_iter=10),
    tf.train.NanTensorHook(loss),
    tf.train.CheckpointSaverHook(logdir, save_steps=10),
]
with tf.train.MonitoredTrainingSession(hooks=hooks, save_summaries_steps=None) as sess:
    while not sess.should_stop():
        sess.run(train_op, {x: X, y: Y})
print(sorted(tf.train.latest_checkpoint(logdir).split("/")[-1:]))
reader = tf.train.load_checkpoint(logdir)
print("%.4f" % reader.get_tensor("w")[0, 0], reader.get_tensor("global_step"))
shutil.rmtree(logdir)
"""
ENDING = """
# a data set that ends, num_steps after a restore
import os, shutil
import numpy as np
import tensorflow as tf
folder = "ckpts"
shutil.rmtree(folder, ignore_errors=True)
steps = 3
numbers = np.arange(24, dtype=np.float32).reshape(12, 2)
def input_fn(size):
    return tf.data.Dataset.from_tensor_slices(numbers).batch(size).repeat(2).make_one_shot_iterator().get_next()
rows = input_fn(3)
w = tf.Variable(tf.ones([2, 1]), name="w")
loss = tf.reduce_mean(tf.matmul(rows, w))
gs = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.001).minimize(loss, global_step=gs)
with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=2, save_summaries_steps=0) as sess:
    while not sess.should_stop():
        print("%.4f" % sess.run([loss, train])[0])
print(tf.train.latest_checkpoint(folder))
shutil.rmtree(folder)
"""
METRICS = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 2])
labels = tf.placeholder(tf.int64, [None])
w = tf.Variable(tf.zeros([2, 2]))
logits = tf.matmul(x, w)
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
acc, acc_op = tf.metrics.accuracy(labels=labels, predictions=tf.argmax(logits, 1))
mean, mean_op = tf.metrics.mean(loss)
rng = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        sess.run(tf.local_variables_initializer())
        for i in range(4):
            d = rng.randn(8, 2); t = (d[:, 0] > 0).astype(int)
            sess.run([train, acc_op, mean_op], {x: d, labels: t})
        print("epoch", epoch, "accuracy %.4f loss %.4f" % tuple(sess.run([acc, mean])))
"""
OWN_HOOK = """
# SingularMonitoredSession, with a hook of one's own
import numpy as np
import tensorflow as tf

class PrintHook(tf.train.SessionRunHook):
    def begin(self):
        self._step = -1
    def before_run(self, run_context):
        self._step += 1
        return tf.train.SessionRunArgs(loss)
    def after_run(self, run_context, run_values):
        if self._step % 2 == 0:
            print("step %d, loss = %.4f" % (self._step, run_values.results))

x = tf.placeholder(tf.float32, [None])
v = tf.Variable(2.0)
loss = tf.reduce_mean(tf.square(v * x))
gs = tf.train.create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=gs)
with tf.train.SingularMonitoredSession(hooks=[PrintHook(), tf.train.StopAtStepHook(last_step=6)]) as sess:
    while not sess.should_stop():
        sess.run(train, feed_dict={x: np.arange(4.0)})
"""
STOPPING = OWN_HOOK.replace(
    "    def after_run(self, run_context, run_values):\n",
    "    def after_run(self, run_context, run_values):\n"
    "        if run_values.results < 0.1:\n            run_context.request_stop()\n",
)
TUTORIAL = """
# as the CIFAR-10 tutorial has it
from datetime import datetime
import time
import numpy as np
import tensorflow as tf
MAX_STEPS, TRAIN_DIR = 12, "cifar_train"

def inference(images):
    with tf.variable_scope("softmax_linear"):
        w = tf.get_variable("weights", [4, 3], initializer=tf.truncated_normal_initializer(stddev=0.1, seed=1))
        b = tf.get_variable("biases", [3], initializer=tf.constant_initializer(0.0))
        return tf.add(tf.matmul(images, w), b)

def train():
    with tf.Graph().as_default():
        global_step = tf.train.get_or_create_global_step()
        rows = np.random.RandomState(0).randn(16, 4).astype(np.float32)
        dataset = tf.data.Dataset.from_tensor_slices((rows, np.arange(16) % 3)).repeat().batch(4)
        iterator = dataset.make_one_shot_iterator()
        images, labels = iterator.get_next()
        loss = tf.losses.sparse_softmax_cross_entropy(labels, inference(images))
        lr = tf.train.exponential_decay(0.1, global_step, 4, 0.5, staircase=True)
        train_op = tf.train.GradientDescentOptimizer(lr).minimize(loss, global_step=global_step)

        class _LoggerHook(tf.train.SessionRunHook):
            def begin(self):
                self._step = -1
                self._start_time = time.time()

            def before_run(self, run_context):
                self._step += 1
                return tf.train.SessionRunArgs(loss)  # Asks for loss value.

            def after_run(self, run_context, run_values):
                if self._step % 5 == 0:
                    loss_value = run_values.results
                    duration = time.time() - self._start_time
                    print("%s: step %d, loss = %.2f (%.3f sec)" % (datetime.now(), self._step, loss_value, duration))

        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=TRAIN_DIR,
            hooks=[tf.train.StopAtStepHook(last_step=MAX_STEPS), tf.train.NanTensorHook(loss), _LoggerHook()],
            config=tf.ConfigProto(log_device_placement=False)) as mon_sess:
            while not mon_sess.should_stop():
                mon_sess.run(train_op)

def main(argv=None):
    if tf.gfile.Exists(TRAIN_DIR):
        tf.gfile.DeleteRecursively(TRAIN_DIR)
    tf.gfile.MakeDirs(TRAIN_DIR)
    train()

if __name__ == "__main__":
    main()
"""
PROGRAMS = {
    "hooks": HOOKS,
    "ending": ENDING,
    "metrics": METRICS,
    "own_hook": OWN_HOOK,
    "stopping": STOPPING,
    "tutorial": TUTORIAL,
}
KEPT = {
    "hooks": [
        "logdir, global_step,",
        "every_steps=10)",
        "# A LoggingTensorHook is left out: print what the function gives.",
        "while global_step.numpy() < 30:",
        "        train_op(X, Y)\n        checkpoints.save_if_due()\n    checkpoints.close()",
    ],
    "ending": [
        "with contextlib.suppress(tf.errors.OutOfRangeError):\n        while True:",
        "folder, gs, every_steps=2",
    ],
    "stopping": [
        "stops = tf.train.Coordinator()",
        "while gs.numpy() < 6 and not stops.should_stop():",
        "hook.after_run(stops, ",
    ],
    "own_hook": [
        "class PrintHook(object):",
        "    hook.begin()\n    while gs.numpy() < 6:\n        hook.before_run(None)\n        values = train(",
        "hook.after_run(None, types.SimpleNamespace(results=values.numpy()))",
    ],
    "tutorial": [
        "while global_step.numpy() < MAX_STEPS:",
        "values = train_step(*iterator.get_next())",
        "every_secs=600, restore=True)",
    ],
    "metrics": ["    for epoch in range(3):\n        run_init_"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loop_is_plain(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, PROGRAMS[name], capsys)
    assert [line for line in KEPT[name] if line not in text] == []
    assert "sess.should_stop" not in text and "StopAtStepHook(" not in text


OLD = """
import tensorflow as tf
v = tf.get_variable("scope/v", [], initializer=tf.zeros_initializer())
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.1).minimize(tf.square(v - 3.0), global_step=step)
hooks = [tf.train.StopAtStepHook(num_steps=4)]
with tf.train.MonitoredTrainingSession(checkpoint_dir="saved", hooks=hooks, save_summaries_steps=0) as session:
    while not session.should_stop():
        session.run(train)
"""


def test_checkpoints_of_the_old_program_load_into_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "resumed.py").write_text(OLD)
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "resumed.py") == 0
    assert "restore=True" in (tmp_path / "new.py").read_text()
    shutil.rmtree(tmp_path / "saved")
    assert dualgrad(tmp_path, "run", "resumed.py") == 0
    shutil.copytree(tmp_path / "saved", tmp_path / "four")
    found = []
    for program, api in (("new.py", "2"), ("resumed.py", "1")):
        # four steps more, by the new program or by the old one, from what the old one left
        shutil.rmtree(tmp_path / "saved")
        shutil.copytree(tmp_path / "four", tmp_path / "saved")
        assert dualgrad(tmp_path, "run", "--api", api, program) == 0
        reader = load_checkpoint(f"{tmp_path}/saved/model.ckpt-8")
        found.append([reader.get_tensor(n) for n in ("scope/v", "scope/v/Adam_1", "global_step")])
    np.testing.assert_array_equal(*found)


REFUSED = {
    "a hook of its own": (
        "class Own(tf.train.SessionRunHook):\n    def after_run(self, own, values):\n        own.session.run(v)\n",
        "tf.train.MonitoredSession(hooks=[Own(), tf.train.StopAtStepHook(3)])",
        "Own is a hook of the program's own: fetch what it asks for in the loop, and call there what it does",
    ),
    "summaries": (
        "tf.summary.scalar('v', v)\n",
        "tf.train.MonitoredTrainingSession(checkpoint_dir='saved', hooks=[tf.train.StopAtStepHook(3)])",
        "a SummarySaverHook writes summaries: fetch them in the loop, and give them to add_summary of a FileWriter",
    ),
    "a start of its own": (
        "start = tf.train.Scaffold(init_fn=lambda scaffold, session: print('started'))\n",
        "tf.train.MonitoredTrainingSession(scaffold=start, hooks=[tf.train.StopAtStepHook(3)])",
        "its session starts with an init_fn, or feeds: call before the loop what that does",
    ),
    "a checkpoint that is only restored": (
        "",
        "tf.train.SingularMonitoredSession(checkpoint_dir='none', hooks=[tf.train.StopAtStepHook(3)])",
        "its session restores a checkpoint, and saves none: restore before the loop",
    ),
    "something at the end": (
        "",
        "tf.train.MonitoredSession(hooks=[tf.train.FinalOpsHook(v), tf.train.StopAtStepHook(3)])",
        "FinalOpsHook does what a plain loop does not: call it in the loop",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hooks_that_a_loop_cannot_replace_are_named(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    above, made, said = REFUSED[name]
    (tmp_path / "old.py").write_text(
        "import tensorflow as tf\nv = tf.get_variable('v', [], initializer=tf.zeros_initializer())\n"
        "step = tf.train.get_or_create_global_step()\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(v - 3.0), global_step=step)\n"
        f"{above}with {made} as session:\n    while not session.should_stop():\n        session.run(train)\n"
    )
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "old.py") == 0
    assert said in capsys.readouterr().err
