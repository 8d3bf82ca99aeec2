"""``dualgrad compare`` runs the new program by itself: a loop, a dispatch or a feed that is wrong is found out."""

import json
import shutil
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept

pytest.importorskip("libcst")

_HEAD = "import numpy as np\nimport tensorflow as tf\ntf.set_random_seed(1)\n"
STATE = (
    _HEAD
    + """
x = tf.placeholder(tf.float32, [None, 3, 1])
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3) for _ in range(2)])
start = cell.zero_state(1, tf.float32)
outputs, final = tf.nn.dynamic_rnn(cell, x, initial_state=start)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(4):
        feed = {x: np.full([1, 3, 1], 0.5 + step)}
        if step:
            feed[start] = state
        seen, state = sess.run([outputs, final], feed)
print("done")
"""
)
PARTS = (
    _HEAD
    + """
s = tf.sparse_placeholder(tf.float32, [3, 4])
w = tf.Variable(tf.random_normal([4, 2]), name="w")
k = tf.constant(3.0)
h = tf.identity(tf.sparse_tensor_dense_matmul(s, w), name="h")
y = tf.reduce_sum(tf.tanh(h) * k, name="y")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(5):
        feed = {s: tf.SparseTensorValue([[0, i % 4], [2, 1]], [1.0, 2.0 + i], [3, 4])}
        if i == 1:
            feed[k] = 5.0
        elif i == 2:
            feed["h:0"] = np.ones([3, 2])
        elif i == 3:
            feed[w] = np.ones([4, 2])
        print(sess.run(y, feed))
    print(sess.run("y:0", {h: np.zeros([3, 2])}))
"""
)
SAVED = (
    _HEAD
    + """
import os, tempfile
x = tf.placeholder(tf.float32, [None, 2])
k = tf.placeholder_with_default(np.float32(1.0), [])
w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
rate = tf.Variable(0.1, trainable=False)
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 3.0)) * k
train = tf.train.MomentumOptimizer(rate, 0.5).minimize(loss)
saver = tf.train.Saver()
rows = tf.data.Dataset.from_tensor_slices(np.arange(6.0)).make_one_shot_iterator().get_next()
data = np.array([[1.0, 2.0], [3.0, 1.0]])
folder = tempfile.mkdtemp()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(6):
        sess.run(tf.assign(rate, 0.1 * 0.5 ** (i // 2)))
        feed = {x: data + sess.run(rows)}
        if i > 2:
            feed[k] = 0.5
        _, value = sess.run([train, loss], feed)
    path = saver.save(sess, os.path.join(folder, "m"))
    sess.run(train, {x: data})
    print(sess.run(w).ravel())
    saver.restore(sess, path)
    print(sess.run(w).ravel(), sess.run(loss, {x: data}))
"""
)
UNSEEDED = (
    _HEAD
    + """
x = tf.placeholder(tf.float32, [None, 2])
y = tf.reduce_sum(tf.square(x))
with tf.Session() as sess:
    for i in range(3):
        print(sess.run(y, {x: np.random.randn(4, 2)}))
"""
)


def _broken(folder: Path, text: str, old: str, new: str, *record: str) -> dict[str, object]:
    """What a comparison finds of a converted program in which one place is broken."""
    assert text.count(old) == 1, text
    (folder / "broken.py").write_text(text.replace(old, new))
    shutil.copy(folder / "new.map.json", folder / "broken.map.json")
    dualgrad(folder, "compare", "--json", "found.json", "record", "broken.py")
    found: dict[str, object] = json.loads((folder / "found.json").read_text())
    return found


def test_a_state_is_fed_again_where_only_the_running_program_knows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = kept(tmp_path, STATE, capsys)  # prints nothing that tells
    found = _broken(tmp_path, text, "        if step:\n", "        if step > 1:\n")
    assert found["verdict"] == "DIFFERENT"
    assert [(d["what"], d["step"]) for d in found["differences"]] == [("path", 2)]  # type: ignore[attr-defined]
    found = _broken(tmp_path, text, "0.5 + step", "0.5 + (step % 3)")
    assert [(d["what"], d["name"]) for d in found["differences"]] == [("fed", "Placeholder:0")]  # type: ignore[attr-defined]


def test_parts_of_the_graph_are_fed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, PARTS, capsys)
    found = _broken(tmp_path, text, "        elif i == 3:\n", "        elif i == 4:\n")
    assert found["verdict"] == "DIFFERENT"


def test_what_else_a_session_does_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, SAVED, capsys)
    for old, new in (("0.5 ** (i // 2)", "0.5 ** (i // 3)"), ("i > 2", "i > 3"), ("    saver.restore(", "    str(")):
        assert _broken(tmp_path, text, old, new)["verdict"] == "DIFFERENT", old


def test_runs_that_are_not_kept_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kept(tmp_path, STATE, capsys)
    old = next(p.name for p in tmp_path.glob("*.py") if p.name not in ("new.py", "broken.py"))
    assert dualgrad(tmp_path, "record", "--limit", "1", "-o", "record", old) == 0
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 0
    assert "of 5 (3 were kept)" in (said := capsys.readouterr().out) and "and 4 runs of the program by itself" in said
    found = _broken(tmp_path, text, "0.5 + step", "0.5 + (step % 3)")
    assert [(d["what"], d["step"]) for d in found["differences"]] == [("fed", 4)]  # type: ignore[attr-defined]


def test_what_nobody_looked_at_is_no_equality(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "drawn.py").write_text(UNSEEDED)
    assert dualgrad(tmp_path, "record", "-o", "record", "drawn.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "drawn.py") == 0
    capsys.readouterr()
    dualgrad(tmp_path, "compare", "record", "new.py")
    verdict = capsys.readouterr().out.splitlines()[1]
    assert verdict.startswith("NOT ALL COMPARED.") and verdict.endswith("it draws from np.random without a seed.")
    assert dualgrad(tmp_path, "convert", "--functions", "-o", "alone.py", "drawn.py") == 0
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "alone.py") == 0
    assert "It holds functions alone, and only these were compared." in capsys.readouterr().out.splitlines()[1]


ELEMENTS = (
    _HEAD
    + """
rows = tf.data.Dataset.range(6).map(lambda i: tf.cast(i, tf.float32) + tf.random_uniform([], seed=5))
x = rows.batch(2).make_one_shot_iterator().get_next()
with tf.Session() as sess:
    for i in range(3):
        seen = sess.run(x)
print("done")
"""
)
WRITTEN = (
    _HEAD
    + """
import tempfile
x = tf.placeholder(tf.float32, [2])
both = tf.summary.merge([tf.summary.scalar("sum", tf.reduce_sum(x)), tf.summary.histogram("all", x)])
with tf.Session() as sess:
    writer = tf.summary.FileWriter(tempfile.mkdtemp())
    for i in range(3):
        writer.add_summary(sess.run(both, {x: [i, 1.0]}), i)
print("done")
"""
)


@pytest.mark.parametrize(
    ("program", "right", "wrong"),
    [
        (ELEMENTS, "seed=5", "seed=6"),
        (ELEMENTS, "batch(2)", "batch(3)"),
        (WRITTEN, "numpy(), i)", "numpy(), i + 1)"),
        (WRITTEN, "        add_summary(writer", "        i < 2 and add_summary(writer"),
    ],
    ids=["seed", "batch", "step", "left out"],
)
def test_what_is_taken_and_what_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, right: str, wrong: str
) -> None:
    text = kept(tmp_path, program, capsys)
    assert right in text
    (tmp_path / "new.py").write_text(text.replace(right, wrong))
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 1
    assert "when the new program runs by itself" in (said := capsys.readouterr().out) or "event files" in said
