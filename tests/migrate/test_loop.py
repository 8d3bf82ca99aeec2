"""``dualgrad convert`` keeps the program around the graph where that is sure, and says why where it is not."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dualgrad.files.events import summary_iterator
from dualgrad.files.tensors import array_of
from dualgrad.migrate.convert import host_program
from tests.migrate import in_process
from tests.processes import printed
from tests.programs.catalogue import HERE

pytest.importorskip("libcst")

WHOLE = "linear_regression gan_scopes"
"""Programs with a plain loop; with initial values drawn between other draws; with a dict of feeds."""

X = """\
import numpy as np
import tensorflow as tf
# what it learns from
data = np.arange(6.0).reshape(3, 2)  # three rows
x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.Variable([[1.0], [2.0]], name="w")
y = tf.matmul(x, w)
"""
TAIL = """\
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
"""
REFUSED = {
    "a saver that a function uses": (
        X + "saver = tf.train.Saver([w])\n"
        "def own_save(sess):\n    return saver.export_meta_graph('m')\n"
        + TAIL
        + "    print(sess.run(y, {x: data}))\n    p = own_save(sess)\n",
        "'Saver' object has no attribute 'export_meta_graph'",
    ),
    "a graph that is written": (
        X + TAIL + "    print(sess.run(y, {x: data}))\ntf.train.write_graph(tf.get_default_graph(), '.', 'g')\n",
        "line 11: it does something with the graph itself",
    ),
    "summaries by hand that are no scalars": (
        X + TAIL + "    writer = tf.summary.FileWriter('logs')\n    print(sess.run(y, {x: data}))\n"
        "    made = tf.Summary.Value(tag='h', histo=tf.HistogramProto())\n"
        "    writer.add_summary(tf.Summary(value=[made]), 1)\n    writer.close()\n",
        "line 13: it makes summaries of its own that are no scalars",
    ),
    "initialized twice": (
        X + "with tf.Session() as sess:\n    for i in range(2):\n"
        "        sess.run(tf.global_variables_initializer())\n        print(sess.run(y, {x: data}))\n",
        "initialized more than once",
    ),
}
CHANGING = (
    X + "asked = [y]\n" + TAIL + "    for i in range(2):\n        print(len(sess.run([asked, w], {x: data})[0]))\n"
    "        asked = [y, w]\n"
)  # fmt: skip
KEPT = (
    X
    + """\
step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(y))
print(y.name, [v.name for v in tf.trainable_variables()])

def values(sess):
    # used twice
    return sess.run([y, w], feed_dict={x: data})

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        _, now = sess.run([step, y], {x: data[:2]})
        step.run({x: data})  # again
        if i == 1:
            print("now", now.mean(), w.eval()[0])
    print(values(sess), sess.run(y, {x: data[:1]}))
"""
)

LISTS = (
    X
    + """\
count = tf.Variable(0, name="count", trainable=False)
losses = [tf.reduce_sum(y)]
losses = losses + [tf.reduce_mean(y)]
step = tf.train.GradientDescentOptimizer(0.1).minimize(losses[1], global_step=count)
print(*[(v.name, int(np.prod(v.get_shape().as_list()))) for v in tf.trainable_variables()], sep="; ")
session = tf.Session()
with session as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        now, (total, mean), _ = sess.run([y, losses, step], {x: data})
        print(now[0], total, mean, sess.run(losses, {x: data[:1]}))
        if tf.train.global_step(sess, count) == 2:
            print("two", type(sess.run([losses, w], {x: data})[0]).__name__)
"""
)
HANDED = """
import numpy as np
import tensorflow as tf
class Line:
    def __init__(self, sess, size=2):
        self.sess = sess
        self.x = tf.placeholder(tf.float32, [None, size])
        self.y = tf.matmul(self.x, tf.ones([size, 1]))
    def predict(self, x):
        return self.sess.run(self.y, {self.x: x})
sess = tf.Session()
line = Line(sess)
scale = tf.placeholder(tf.float32, [])
scaled = scale * tf.reduce_sum(line.y)
data = np.arange(6.0).reshape(3, 2)
sess.run(tf.global_variables_initializer())
feed = {line.x: data, scale: 1.0}
print(line.predict(data).ravel(), sess.run(scaled, feed))
for factor in (2.0, 3.0):
    print(sess.run(scaled, {**feed, scale: factor}))
    print(sess.run(scaled, {**feed, line.x: line.predict(data) * [[1.0, 2.0]]}))
sess.close()
"""
LOOKED_AT = (
    X
    + """\
step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(y))
count, found = 0, []
for v in tf.trainable_variables():
    size = int(np.prod(v.get_shape().as_list()))
    print(v.op.name, size)
    count += size
    found.append(v.name)
def described(prefix):
    for v in tf.global_variables():
        print(prefix, v.name)
described("all")
try:
    tf.matmul(x, tf.ones([3, 3]))
except ValueError as e:
    print("ValueError", str(e)[:9])
print("count", count, found)
assert y.get_shape().ndims == 2
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(y.name, sess.run(y, {x: data}), len(tf.trainable_variables()), "{} of {}".format(y, w.name))
    for i in range(2):
        sess.run(step, {x: data})
        print("%s: %s" % (y.op.name, sess.run(w).ravel()), f"{y.shape.as_list()}")
"""
)
SAVED = """
import os
import numpy as np
from tensorflow import flags
from tensorflow.python.platform import gfile
import tensorflow as tf
flags.DEFINE_integer("steps", 3, "How many.")
flags.DEFINE_string("folder", "kept", "Where.")
FLAGS = flags.FLAGS

def save(saver, sess, at):
    return saver.save(sess, os.path.join(FLAGS.folder, "m"), global_step=at)

def main(_):
    gfile.MakeDirs(FLAGS.folder)
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.Variable([[1.0], [2.0]], name="w")
    count = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    step = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            print(sess.run([loss, step], {x: np.ones([3, 2])})[0])
            path = save(saver, sess, i)
        print(path, sorted(n for n in gfile.ListDirectory(FLAGS.folder) if not n.endswith("meta")))
        before = sess.run(w)
        sess.run(step, {x: np.ones([3, 2])})
        saver.restore(sess, tf.train.latest_checkpoint(FLAGS.folder))
        print((sess.run(w) == before).all())
        sess.run(step, {x: np.ones([3, 2])})
        print(sess.run(w), sorted(tf.train.list_variables(path)))

if __name__ == "__main__":
    tf.app.run()
"""
NAMED = """
import collections
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
kept = tf.placeholder_with_default(1.0, [], name="kept")
w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
y = tf.matmul(x, w) * kept
all_of, most = tf.reduce_sum(y), tf.reduce_max(y)

def fed(data, keep=None):
    feed = {x: data}
    if keep is not None:
        feed[kept] = keep
    return feed

def value(sess, t, feed):
    return sess.run(t, feed)

Pair = collections.namedtuple("Pair", "least most")
data = np.arange(6.0).reshape(3, 2)
step = tf.train.GradientDescentOptimizer(0.1).minimize(all_of)
copies = [tf.Variable(i, name="copy_%d" % i, dtype=tf.float32) for i in range(2)]
reset = tf.global_variables_initializer()
with tf.Session() as sess:
    for fold in range(2):
        sess.run(reset); w.load(0.5 * np.ones([2, 1]), sess)
        for keep in (None, 0.5):
            _, total = sess.run([step, all_of], feed_dict=fed(data, keep))
            print(fold, keep, total, sess.run({"y": y, "both": Pair(all_of, (most,))}, fed(data)))
    for copy, by in zip(copies, (2.0, 3.0)):
        sess.run(copy.assign_add(by))
    print(sess.run(copies))
    for name, t in [("sum", all_of), ("most", most)]:
        print(name, sess.run(t, {**{x: data}}), value(sess, t, {x: data}))
    print(sess.run(Pair(all_of, most), {x: data}))
"""
UNROLLED = """
import numpy as np
import tensorflow as tf
steps, again = 3, None
x = tf.placeholder(tf.float32, [2, 4], name="x")
base = tf.Variable(tf.zeros([4]))
scale = tf.Variable(tf.ones([4]))
both = [base, scale]

def write(state):
    with tf.variable_scope("write", reuse=again):
        return tf.matmul(state, tf.get_variable("w", [4, 4], initializer=tf.ones_initializer()))

canvas = [0] * steps
for t in range(steps):
    before = base * scale if t == 0 else canvas[t - 1]
    canvas[t] = before + write(tf.tanh(x - before))
    again = True
loss = tf.reduce_mean(tf.square(canvas[-1]))
grads = tf.train.AdamOptimizer(0.1).compute_gradients(loss)
for i, (g, v) in enumerate(grads):
    grads[i] = (tf.clip_by_norm(g, 5), v)
step = tf.train.AdamOptimizer(0.1).apply_gradients(grads)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        print(i, sess.run([loss, step], {x: np.ones([2, 4])})[0], sess.run(both)[1])
"""
CONVERT = """
import json, sys
from pathlib import Path
from graph_api import reset_default_graph
from dualgrad.migrate.convert import convert_program
for file in sys.argv[1:]:
    reset_default_graph()
    convert_program(file).write(Path(file).with_suffix(".out.py"))
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: the text and the map of what programs were converted to, all in one process."""
    folder = tmp_path_factory.mktemp("converted")
    texts = {name: (HERE / "graphs" / f"{name}.py").read_text() for name in WHOLE.split()}
    texts |= {name: text for name, (text, _) in REFUSED.items()} | {"kept": KEPT, "lists": LISTS, "handed": HANDED}
    texts |= {"looked at": LOOKED_AT, "saved": SAVED, "named": NAMED, "unrolled": UNROLLED, "changing": CHANGING}
    files = {name: folder / f"p{i}.py" for i, name in enumerate(texts)}
    for name, file in files.items():
        file.write_text(texts[name])
    printed("-c", CONVERT, *files.values(), cwd=folder)
    outs = {name: file.with_suffix(".out.py") for name, file in files.items()}
    return {n: (out.read_text(), json.loads(out.with_suffix(".map.json").read_text())) for n, out in outs.items()}


@pytest.mark.parametrize(
    "name", [*WHOLE.split(), "lists", "handed", "looked at", "saved", "named", "unrolled", "changing"]
)
def test_whole_programs(converted: dict[str, tuple[str, dict[str, Any]]], name: str) -> None:
    """They were run, and printed what they printed before: `host_program.tried`."""
    text, content = converted[name]
    assert content["whole"] is True, content["why"]
    assert 'if __name__ == "__main__":\n' in text
    assert "Session" not in text and "placeholder" not in text and "import tensorflow" not in text


def test_names_are_those_of_the_program(converted: dict[str, tuple[str, dict[str, Any]]]) -> None:
    """A variable keeps its own name where it is also in a list, and a loop of which nothing is left goes."""
    text, _ = converted["unrolled"]
    assert "[base.numpy(), scale.numpy()]" in text
    assert "write_w" in text
    assert "grads_0" not in text and "both[0]" not in text
    assert "in range(steps)" not in text


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_sure_is_left(converted: dict[str, tuple[str, dict[str, Any]]], name: str) -> None:
    text, content = converted[name]
    assert content["whole"] is False
    assert REFUSED[name][1] in content["why"]
    assert "Its functions alone: " + content["why"] in text
    assert "__main__" not in text


SHOWN = """\
import sys
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
data = rng.randn(4, 2).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.Variable([[1.0], [2.0]], name="w")
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    tf.summary.scalar("mean", loss)
tf.summary.histogram("w", w)
tf.summary.text("note", tf.constant("a note"))
shown = tf.image.convert_image_dtype(tf.sigmoid(tf.reshape(x, [1, 2, 4, 1])), tf.uint8)
tf.summary.image("pictures", shown, max_outputs=2, collections=["pictures"])
tf.summary.image("scaled", tf.reshape(x, [1, 2, 4, 1]), max_outputs=2, collections=["pictures"])
tf.summary.image("squares", tf.reshape(tf.square(x), [1, 2, 4, 1]), max_outputs=2, collections=["pictures"])
step = tf.train.AdamOptimizer(0.1).minimize(loss)
merged, pictures = tf.summary.merge_all(), tf.summary.merge_all("pictures")
largest = tf.summary.merge([tf.summary.scalar("largest", tf.reduce_max(w)), merged])

def show(writer, summary, number):
    writer.add_summary(summary, number)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(sys.argv[1], sess.graph, flush_secs=1)
    writer.add_graph(sess.graph)
    for i in range(3):
        summary, _, value = sess.run([merged, step, loss], feed_dict={x: data})
        print(i, value)
        show(writer, summary, i)
    writer.add_summary(sess.run(largest, {x: data}), global_step=10)
    writer.add_summary(sess.run(pictures, {x: data}))
    summary = tf.Summary()
    summary.value.add(tag="by hand", simple_value=2.5)
    writer.add_summary(summary, 11)
    writer.flush()
    writer.close()
"""


def events(folder: Path) -> dict[tuple[str, int], Any]:
    """What event files hold, by tag and step, in the words of both versions."""
    found: dict[tuple[str, int], Any] = {}
    for file in folder.iterdir():
        for event in summary_iterator(file):
            for value in event.summary.value:
                tag, kind = value.tag.removesuffix("/image/0"), value.WhichOneof("value")
                if kind == "tensor":
                    array = array_of(value.tensor)
                    plugin = value.metadata.plugin_data.plugin_name
                    kept = {"histograms": lambda a=array: a[:, 2].sum(), "images": lambda a=array: a[2:].tolist()}
                    found[tag, event.step] = kept.get(plugin, array.tolist)()
                elif kind == "histo":
                    found[tag, event.step] = value.histo.num
                elif kind == "image":
                    found[tag, event.step] = [value.image.encoded_image_string]
                else:
                    found[tag, event.step] = getattr(value, kind)
    return found


def test_summaries_are_written_by_tape_code(tmp_path: Path) -> None:
    """The same values under the same tags, at the same steps; what is left out is said."""
    program, out = tmp_path / "shown.py", tmp_path / "shown_tape.py"
    program.write_text(SHOWN)
    told = printed("-m", "dualgrad", "convert", "-o", out.name, program.name, "tried", cwd=tmp_path)
    content = json.loads(out.with_suffix(".map.json").read_text())
    assert content["whole"] is True, content["why"]
    assert content["not_converted"] == []
    text = out.read_text()
    for number, line in enumerate(SHOWN.splitlines(), 1):
        assert ("sess.graph" in line) is (f"# The graph that line {number} writes " in text)
    for words in (["-m", "dualgrad", "run", "shown.py", "before"], [out.name, "after"]):
        assert printed(*words, cwd=tmp_path) == told
    before, after = events(tmp_path / "before"), events(tmp_path / "after")
    assert len(before) == 3 * 3 + 4 + 4
    assert after == before


def test_what_stays_stays_as_it_was_written(converted: dict[str, tuple[str, dict[str, Any]]]) -> None:
    text, content = converted["kept"]
    assert content["whole"] is True, content["why"]
    above, _, below = text.partition('if __name__ == "__main__":\n')
    main = below.splitlines()
    # what needs nothing when it is defined stands above
    assert "\n\n\ndef values(sess):\n    # used twice\n" in above
    assert "\n# what it learns from\ndata = np.arange(6.0).reshape(3, 2)  # three rows\n" in above
    for line in (
        """print("MatMul:0 ['w:0']")""",
        "for i in range(3):",
        "    now = step(data[:2]).numpy()",
        "    run_step(data)  # again",
        "    if i == 1:",
    ):
        wanted = line.replace("step(data[:2])", next(x for x in main if "now = " in x).partition("= ")[2][:-8])
        wanted = wanted.replace("run_step(data)", next(x for x in main if "# again" in x).strip()[:-9])
        assert f"    {wanted}" in main, line


def test_without_the_library_there_are_the_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    (tmp_path / "p.py").write_text(
        "import tensorflow as tf\n"
        "x = tf.placeholder(tf.float32)\n"
        "y = x * 2.0\n"
        "with tf.Session() as s:\n"
        "    print(s.run(y, {x: 3.0}))\n"
    )
    out = tmp_path / "q.py"
    assert in_process.dualgrad(tmp_path, "convert", "-o", str(out), "p.py") == 0
    assert "1 function alone: libcst" in (said := capsys.readouterr().err) and "dualgrad[migrate]" in said
    assert "pip install 'dualgrad[migrate]'" in " ".join(out.read_text().split())
    assert "def " in out.read_text()


def test_a_program_that_prints_something_else_is_not_whole() -> None:
    class Conversion:
        starts = ()

        def write(self, file: Path) -> None:
            file.write_text("print('a')\n")

    host_program.tried(Conversion(), Path("p.py"), [], "a\n")
    with pytest.raises(host_program.Unsafe, match="it prints 'a', not 'b'"):
        host_program.tried(Conversion(), Path("p.py"), [], "b\n")
