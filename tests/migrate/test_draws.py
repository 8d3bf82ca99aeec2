"""Programs that draw random numbers: each operation of a graph has a stream of its own, and `compare` gives it none."""

import json
import shutil
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad
from tests.migrate.kept_and_compared import kept
from tests.migrate.test_record_compare import MAP, TAPE, compared, elsewhere, recorded  # noqa: F401
from tests.processes import printed

HEAD = "import numpy as np\nimport tensorflow as tf\n\ntf.set_random_seed(3)\n"
RUNS = """
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3):
        print(sess.run({}))
"""
PROGRAMS = {
    "dropouts of one seed": """
x = tf.placeholder(tf.float32, [None])
y = tf.nn.dropout(x, 0.5, seed=1) + 10.0 * tf.nn.dropout(x, 0.5, seed=1)
with tf.Session() as sess:
    for size in (4, 3, 5):
        print(sess.run(y, {x: np.ones(size)}))
""",
    "all kinds twice": """
def drawn():
    return [
        tf.random_uniform([2], seed=1), tf.truncated_normal([2], seed=1),
        tf.random_uniform([2], 0, 9, tf.int32, seed=1), tf.random_gamma([2], [1.0, 2.0], seed=1),
        tf.random_poisson([3.0], [2], seed=1), tf.multinomial(tf.log([[0.2, 0.3, 0.5]]), 4, seed=1),
        tf.random_shuffle(tf.range(5), seed=1),
    ]
both = drawn() + drawn()
"""
    + RUNS.format("both"),
    "initializers of the same seed": """
v, w = [tf.Variable(tf.random_normal([n], seed=1)) for n in (2, 3)]
noise = tf.random_normal([2], seed=1)
init = tf.global_variables_initializer()
with tf.Session() as sess:
    for step in range(3):
        sess.run(init)
        print(sess.run(v), sess.run(w), sess.run(noise))
""",
    "first values of one seed": """
first = tf.get_variable("first", [3, 2], initializer=tf.orthogonal_initializer(seed=1))
second = tf.get_variable("second", [2, 2], initializer=tf.orthogonal_initializer(seed=1))
both = tf.Variable(tf.random_uniform([2], seed=1) + 2.0 * tf.random_uniform([2], seed=1))
listed = [tf.Variable(tf.random_normal([2], seed=1)) for _ in range(3)]
y = [first, second, both, listed, tf.random_normal([2], seed=1)]
"""
    + RUNS.format("y"),
    "several sessions": """
w = tf.Variable(tf.random_normal([2], seed=1))
loss = tf.reduce_sum(tf.square(w + tf.random_normal([2], seed=1)))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
init = tf.global_variables_initializer()
for size in (1, 2):
    with tf.Session() as sess:
        for again in range(size):
            sess.run(init)
            for step in range(2):
                print(sess.run([train, loss])[1])
sess = tf.Session()
sess.run(init)
print(sess.run(loss))
""",
    "a data set shuffled by the seed of the graph": """
rows = tf.data.Dataset.range(6).shuffle(6).map(lambda i: tf.cast(i, tf.float32) + tf.random_uniform([], seed=5))
x = rows.repeat(2).batch(4).make_one_shot_iterator().get_next()
w = tf.Variable(tf.random_normal([], seed=1))
y = x * w
"""
    + RUNS.format("y"),
    "two layers of one seed": """
x = tf.placeholder(tf.float32, [2, 3, 2])
def layer():
    return tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), output_keep_prob=0.5, seed=1)
y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell([layer(), layer()]), x, dtype=tf.float32)
"""
    + RUNS.format("y, {x: np.ones((2, 3, 2))}"),
    "a loop, and beside it": """
n = tf.placeholder(tf.int32, [])
y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, 2 * a + tf.random_normal([2], seed=4)), [0, tf.zeros([2])])
z = tf.random_normal([2], seed=4)
with tf.Session() as sess:
    for turns in (2, 0, 3):
        print(sess.run([y[1], z], {n: turns}))
""",
    "branches in a scan": """
x = tf.placeholder(tf.float32, [5])
def step(c, r):
    return tf.cond(r > 0, lambda: c + tf.random_normal([], seed=2), lambda: c - tf.random_normal([], seed=2))
y = tf.scan(step, x, 0.0)
"""
    + RUNS.format("y, {x: np.array([1, -1, 1, 1, -1])}"),
    "a branch": """
p = tf.placeholder(tf.bool, [])
y = tf.cond(p, lambda: tf.random_normal([2], seed=1), lambda: -tf.random_normal([2], seed=1))
with tf.Session() as sess:
    for chosen in (True, False, True):
        print(sess.run(y, {p: chosen}))
""",
    "another seed of the graph": """
a = tf.random_normal([2], seed=5)
tf.set_random_seed(4)
b = tf.random_normal([2], seed=5)
"""
    + RUNS.format("[a, b]"),
    "one operation in two runs": """
v = tf.Variable([1.0, 2.0])
noise = tf.random_normal([2])
loss = tf.reduce_sum(v * noise)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3):
        sess.run(train)
        print(sess.run(loss), sess.run(noise))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_operation_has_a_stream_of_its_own(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(tmp_path, HEAD + PROGRAMS[name], capsys, "EQUAL ONLY FOR THIS RUN" if "all kinds" in name else None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed=1)", "seed=2)"),  # another seed
        ("tf.random.set_seed(3)", "tf.random.set_seed(4)"),
        ("dropout_1(x)", "tf.nn.dropout(x, 0.5, seed=1)"),  # one stream for both
        ("    x = tf.conv", "    tf.nn.dropout(tf.ones([4]), 0.5, seed=1)\n    x = tf.conv"),  # one draw too many
        ("10.0 * dropout_1(x)", "10.0 * x"),  # one too few
        ("tf.nn.dropout(x, 0.5, seed=1) +", "tf.nn.dropout(x, 0.5, seed=1) * 1.0 + 0.0 * x +"),  # harmless
    ],
)
def test_a_wrong_draw_is_found_out(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(HEAD + PROGRAMS["dropouts of one seed"])
    assert dualgrad(tmp_path, "record", "-o", "R", "old.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "old.py") == 0
    text = (tmp_path / "new.py").read_text()
    head, found, tail = text.rpartition(old)
    assert found, text
    (tmp_path / "new.py").write_text(head + new + tail)
    found = compared(tmp_path, "R", "new.py")
    assert (found["verdict"] == "EQUAL TO THE BIT") is ("+ 0.0 * x" in new)


def test_draws_without_a_seed_are_given_and_the_verdict_says_so(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(
        "import tensorflow as tf\na, b = tf.random_normal([2]), tf.random_normal([2], seed=2)\n"
        "with tf.Session() as sess:\n    for step in range(3):\n        print(sess.run([a, b]))\n"
    )
    assert dualgrad(tmp_path, "record", "-o", "R", "old.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "old.py") == 0
    found = compared(tmp_path, "R", "new.py")
    assert (found["verdict"], found["supplied"]) == ("NOT ALL COMPARED", 3)
    text = (tmp_path / "new.py").read_text()
    known = json.loads((tmp_path / "new.map.json").read_text())
    (tmp_path / "alone.py").write_text(text.partition("if __name__")[0])
    (tmp_path / "alone.map.json").write_text(json.dumps({**known, "whole": False, "varies": []}))
    found = compared(tmp_path, "R", "alone.py")
    assert (found["verdict"], found["supplied"]) == ("THE SAME WITH GIVEN DRAWS", 3)
    (tmp_path / "new.py").write_text(text.replace("seed=2", "seed=3"))
    assert compared(tmp_path, "R", "new.py")["verdict"] == "DIFFERENT"


def test_a_migrated_program_has_the_same_budgets_elsewhere(recorded: Path, tmp_path: Path) -> None:  # noqa: F811
    record = elsewhere(recorded / "R", tmp_path, numpy="1.0")
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    for old, verdict in (("0.1, 0.9", "EQUAL WITHIN ROUNDING"), ("0.1, 0.8", "DIFFERENT")):
        (tmp_path / "tapes.py").write_text(TAPE.replace("0.1, 0.9", old))
        assert compared(tmp_path, str(record), "tapes.py")["verdict"] == verdict


@pytest.mark.parametrize("core", ["Haswell", "Prescott"])
def test_another_kernel_is_no_other_program(core: str, recorded: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "tapes.py").write_text(TAPE)
    (tmp_path / "tapes.map.json").write_text(json.dumps(MAP))
    shutil.copytree(recorded / "R", tmp_path / "R")
    for program in ([], ["tapes.py"]):
        said = printed("-m", "dualgrad", "compare", "R", *program, cwd=tmp_path, OPENBLAS_CORETYPE=core)
        assert said.splitlines()[1].startswith(("EQUAL WITHIN ROUNDING", "EQUAL TO THE BIT"))


def test_first_values_that_are_drawn_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = HEAD + PROGRAMS["several sessions"].partition("for size")[0] + RUNS.format("loss")
    (tmp_path / "old.py").write_text(program)
    assert dualgrad(tmp_path, "record", "-o", "record", "old.py") == 0
    assert dualgrad(tmp_path, "convert", "--functions", "-o", "new.py", "old.py") == 0
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 0
    text = (tmp_path / "new.py").read_text()
    (tmp_path / "new.py").write_text(
        text.replace("w = tf.Variable(tf.random.normal([2], seed=1))", "w = tf.Variable([1.0, 2.0])")
    )
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 1
    assert "variable Variable:0 differs" in capsys.readouterr().out


def test_a_data_set_without_any_seed_is_another_one_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = HEAD.replace("tf.set_random_seed(3)", "") + PROGRAMS["a data set shuffled by the seed of the graph"]
    (tmp_path / "old.py").write_text(program)
    assert dualgrad(tmp_path, "record", "-o", "record", "old.py") == 0
    assert dualgrad(tmp_path, "convert", "-o", "new.py", "old.py") == 0
    assert json.loads((tmp_path / "new.map.json").read_text())["whole"] is True
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "new.py") == 0
    assert "NOT ALL COMPARED" in (said := capsys.readouterr().out) and "shuffled without a seed" in said
