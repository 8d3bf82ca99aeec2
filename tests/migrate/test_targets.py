"""``dualgrad convert --to``: the same program for other libraries, and the comparison with the record there."""

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualgrad.migrate.compare.converted import Map
from dualgrad.migrate.compare.elsewhere import is_elsewhere
from dualgrad.migrate.convert import convert_program
from dualgrad.migrate.convert.edits import Unsafe
from dualgrad.migrate.convert.targets import TARGETS, renamed
from tests.migrate.in_process import dualgrad, kept
from tests.processes import ran

pytest.importorskip("libcst")
HOME = Path(__file__).resolve().parents[2]
MIGRATIONS = HOME / "docs" / "migrations"
PROGRAM = """
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
points = rng.randn(60, 2)
inside = (np.square(points).sum(1, keepdims=True) < 1.4).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 2], name="x")
label = tf.placeholder(tf.float32, [None, 1], name="label")
w1 = tf.Variable(rng.randn(2, 3).astype(np.float32), name="w1")
b1 = tf.Variable(tf.zeros([3]), name="b1")
w2 = tf.Variable(rng.randn(3, 1).astype(np.float32), name="w2")
logits = tf.matmul(tf.tanh(tf.matmul(x, w1) + b1), w2)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits))
train_step = tf.train.AdamOptimizer(0.1).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(8):
        _, value = sess.run([train_step, loss], {x: points, label: inside})  # all points
    print("loss %.3f" % value)
"""


PICTURES = """
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
digits = rng.randint(0, 3, 30)
images = 0.3 * rng.randn(30, 6, 6)
for image, digit in zip(images, digits):
    image[2 * digit : 2 * digit + 2] += 1.0
y = tf.placeholder(tf.float32, [None, 3], name="y")
x = tf.placeholder(tf.float32, [None, 36], name="x")
kernel = tf.Variable((0.3 * rng.randn(3, 3, 1, 4)).astype(np.float32), name="kernel")
b1 = tf.Variable(tf.constant(0.1, shape=[4]), name="b1")
w2 = tf.Variable((0.3 * rng.randn(36, 3)).astype(np.float32), name="w2")
b2 = tf.Variable(tf.zeros([3]), name="b2")
h = tf.nn.relu(tf.nn.conv2d(tf.reshape(x, [-1, 6, 6, 1]), kernel, strides=[1, 1, 1, 1], padding="SAME") + b1)
h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
logits = tf.matmul(tf.reshape(h, [-1, 36]), w2) + b2
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(cost)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(6):
        _, c = sess.run([train, cost], {y: np.eye(3)[digits], x: images.reshape(30, 36)})
        print("cost %.2f" % c)
"""


def written(folder: Path, to: str, program: str = PROGRAM) -> str:
    """The text of a program for another library, beside a record of it."""
    (folder / "p.py").write_text(program)
    assert dualgrad(folder, "record", "-o", "record", "--ops", "3", "p.py") == 0
    assert dualgrad(folder, "convert", "--to", to, "-o", "out.py", "p.py") == 0
    return (folder / "out.py").read_text()


def elsewhere(folder: Path, code: int = 0) -> dict[str, Any]:
    """What `compare` finds, in a process of its own, for other libraries stay in one."""
    command = ["-m", "dualgrad", "compare", "--json", "found.json", "record", "out.py"]
    done = ran(*command, cwd=folder, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "found.json").read_bytes())
    return found


def test_tensorflow_gets_the_same_text_under_its_own_import(tmp_path: Path) -> None:
    text = written(tmp_path, "tensorflow")
    assert '"""p.py, as TensorFlow 2 code: written by dualgrad convert."""' in text
    assert dualgrad(tmp_path, "convert", "-o", "tape.py", "p.py") == 0
    tape = (tmp_path / "tape.py").read_text()
    assert text.splitlines()[1:] == tape.replace("import tape_api as tf", "import tensorflow as tf").splitlines()[1:]
    assert "# all points" in text
    assert json.loads((tmp_path / "out.map.json").read_text())["target"] == "tensorflow"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = tf.log(x)  # é tf.log\n", "y = tf.math.log(x)  # é tf.log\n"),
        ("é = tf.log(tf.log(x)).shape\n", "é = tf.math.log(tf.math.log(x)).shape\n"),
        ('g = tape.gradient(y, x, aggregation_method=tf.A.B, output_gradients="é")\n', None),
        ("g = tape.gradient(y, x, aggregation_method=tf.A.B)\n", "g = tape.gradient(y, x)\n"),
        ("o.create_slots([v])\n", "o._create_slots([v])\n"),
        ("v = tf.losses.huber_loss(a, b)\n", "v = tf.compat.v1.losses.huber_loss(a, b)\n"),
    ],
)
def test_names_that_differ(text: str, expected: str | None) -> None:
    expected = 'g = tape.gradient(y, x, output_gradients="é")\n' if expected is None else expected
    assert renamed(text, TARGETS["tensorflow"]) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("h = tape.hessian(y, x)\n", "hessian"),
        ("r = tf.experimental.scipy.optimize.root(f, x)\n", "experimental.scipy.optimize.root"),
        ("from optim import minimize\n", "minimize"),
    ],
)
def test_what_tensorflow_has_not_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(Unsafe, match=f"{named}.*--to tape"):
        renamed(text, TARGETS["tensorflow"])


def test_keras_gets_a_model_and_keeps_the_loop(tmp_path: Path) -> None:
    text = written(tmp_path, "keras")
    assert text.startswith('"""p.py, as a Keras model: written by dualgrad convert."""')
    layers = re.findall(r"tf\.keras\.(Input|layers\.\w+)\((.*)\),$", text, re.MULTILINE)
    assert layers == [
        ("Input", "(2,)"),
        ("layers.Dense", '3, activation="tanh"'),
        ("layers.Dense", "1, use_bias=False"),
    ]
    assert "tf.keras.optimizers.Adam(learning_rate=0.1, epsilon=1e-08)" in text
    assert "loss=tf.keras.losses.BinaryCrossentropy(from_logits=True)" in text
    assert "        value = model.train_on_batch(points, inside)  # all points\n" in text
    assert "GradientTape" not in text and "variables = [" not in text
    with pytest.raises(ValueError, match="for tensorflow, which is not installed"), _without_tensorflow():
        is_elsewhere(Map([], {}, {}, target="keras"))


@contextlib.contextmanager
def _without_tensorflow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualgrad.migrate.compare.elsewhere.find_spec", lambda name: None)
        yield


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tf.tanh(tf.matmul(x, w1) + b1)", "tf.tanh(tf.matmul(x, w1) + b1) * 2.0", "is no layer of Keras"),
        ("tf.tanh(tf.matmul(x, w1) + b1)", "tf.sin(tf.matmul(x, w1) + b1)", "is no layer of Keras"),
        ("tf.train.AdamOptimizer(0.1)", "tf.train.RMSPropOptimizer(0.1)", "RMSPropOptimizer is no optimizer"),
        ("tf.reduce_mean(tf.nn", "tf.reduce_sum(tf.nn", "the loss of train_step is none"),
        ("[train_step, loss]", "[train_step, tf.sqrt(loss)]", "gives more than its loss"),
        ("minimize(loss)", "minimize(loss, tf.train.create_global_step())", "counts its steps"),
        ("minimize(loss)", "minimize(loss, var_list=[w1, w2])", "used twice, or not trained"),
        (
            "minimize(loss)\n",
            "minimize(loss)\nother = tf.train.AdamOptimizer().minimize(-loss)\n",
            "2 functions that train",
        ),
    ],
)
def test_what_is_no_keras_model_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    program = PROGRAM.replace(old, new)
    if "other" in new:
        program += "    sess.run(other, {x: points, label: inside})\n"
    (tmp_path / "p.py").write_text(program)
    with pytest.raises(Unsafe, match=f"{why}.*--to tensorflow"), kept():
        convert_program(tmp_path / "p.py", to="keras")
    assert dualgrad(tmp_path, "convert", "--to", "keras", "-o", "out.py", "p.py") == 2
    assert not (tmp_path / "out.py").exists()


@pytest.mark.peer
@pytest.mark.parametrize(
    "program",
    [PROGRAM, PROGRAM.replace("_, value = sess.run([train_step, loss]", "value = 1; sess.run(train_step"), PICTURES],
    ids=["dense", "without the loss", "convolutions"],
)
def test_under_keras_it_is_equal_within_rounding(tmp_path: Path, program: str) -> None:
    pytest.importorskip("tensorflow")
    text = written(tmp_path, "keras", program)
    found = elsewhere(tmp_path)
    assert found["verdict"] in ("EQUAL WITHIN ROUNDING", "EQUAL ONLY FOR THIS RUN"), found["differences"]
    assert found["printed"] == []
    assert any(re.match("variable w(1/Adam_1|2/Momentum)", row) for row in found["rows"]), found["rows"].keys()
    assert all(row["failed"] == 0 and row["worst"] < 500 for row in found["rows"].values()), found["rows"]
    (tmp_path / "out.py").write_text(text.replace('"tanh"', '"elu"').replace('"relu"', '"elu"'))
    assert elsewhere(tmp_path, 1)["verdict"] == "DIFFERENT"


def test_jax_gets_pure_functions(tmp_path: Path) -> None:
    text = written(tmp_path, "jax")
    assert text.startswith('"""p.py, as functions of JAX: written by dualgrad convert."""\n\nimport jax\n')
    names = {n.name: n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)}
    assert [a.arg for a in names["train_step"].args.args] == ["params", "x", "label"]
    assert "loss, gradients = jax.value_and_grad(forward)(params)" in text
    assert 'return loss, [gradients["w1"], gradients["b1"], gradients["w2"]]' in text
    assert "tf." not in text and "# line 14" in text
    known = json.loads((tmp_path / "out.map.json").read_text())
    assert known["params"]["w1:0"] == ["w1"] and known["functions"][0]["returns"][0] == "Mean:0"


def test_jax_says_what_it_leaves_out(tmp_path: Path) -> None:
    program = PROGRAM.replace("with tf.Session", "later = tf.assign(b1, b1 + 1.0)\nwith tf.Session")
    text = written(tmp_path, "jax", program + "    sess.run(later)\n")
    assert re.search(r"^\w+ is left out: it assigns to variables\.$", text, re.MULTILINE)
    program = PROGRAM.replace("tf.reduce_mean(", "tf.reduce_mean(tf.random_uniform([]) * ")
    (tmp_path / "q.py").write_text(program)
    with pytest.raises(Unsafe, match=r"no function can be pure: .* draws random numbers"), kept():
        convert_program(tmp_path / "q.py", to="jax")


@pytest.mark.peer
@pytest.mark.parametrize("name", [None, "gan", "pinn_lbfgs", "text_cnn"])
def test_under_jax_values_and_gradients_are_equal_within_rounding(tmp_path: Path, name: str | None) -> None:
    pytest.importorskip("jax")
    text = written(tmp_path, "jax", (MIGRATIONS / f"{name}.py").read_text() if name else PROGRAM)
    found = elsewhere(tmp_path)
    assert found["verdict"] == "EQUAL ONLY FOR THIS RUN", found["differences"]
    assert all(row["failed"] == 0 for row in found["rows"].values())
    assert (name == "pinn_lbfgs") != any(row.startswith("gradients") for row in found["rows"]), found["rows"]
    # a mistake is no rounding
    wrong = re.sub(r"(jax\.nn\.relu|jnp\.tanh)\(", r"1.01 * \1(", text)
    assert wrong != text
    (tmp_path / "out.py").write_text(wrong)
    assert elsewhere(tmp_path, 1)["verdict"] == "DIFFERENT"


@pytest.mark.peer
def test_every_spelling_of_jax_exists() -> None:
    jax = pytest.importorskip("jax")
    from dualgrad.migrate.convert.jax_names import DTYPES, HELPERS, NAMES

    here: dict[str, Any] = {"jax": jax, "jnp": jax.numpy, "np": np}
    for text in HELPERS.values():
        exec(text, here)
    for spelled in [*[s.name for s in NAMES.values()], *DTYPES.values()]:
        assert eval(spelled, here) is not None


@pytest.mark.peer
def test_every_name_of_ours_is_one_of_tensorflows_or_in_the_table() -> None:
    tf = pytest.importorskip("tensorflow")
    from operator import attrgetter

    from dualgrad import lazy_names as common
    from tape_api.names import TABLE

    names = {name for _, row in TABLE for name in row.split()}
    names |= {name for _, row in (*common.BOTH, *common.VERSION2) for name in row.split()}
    table = TARGETS["tensorflow"].names
    for name in sorted(names):
        there = table.get(name, name)
        if there is not None and not name.startswith("experimental.scipy."):
            assert attrgetter(there)(tf) is not None


@pytest.mark.peer
def test_under_tensorflow_it_is_equal_within_rounding(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    text = written(tmp_path, "tensorflow")
    found = elsewhere(tmp_path)
    assert found["verdict"] == "EQUAL WITHIN ROUNDING", found
    assert found["steps"] == 8
    assert found["printed"] == []
    rows = found["rows"]
    assert {"variable w1:0", "variable w1/Adam_1:0", "variable beta1_power:0", "Mean:0"} <= rows.keys()
    assert all(row["failed"] == 0 and row["worst"] < 200 for row in rows.values()), rows
    # a mistake is no rounding
    (tmp_path / "out.py").write_text(text.replace("tf.tanh(", "1.001 * tf.tanh("))
    assert elsewhere(tmp_path, 1)["verdict"] == "DIFFERENT"


@pytest.mark.peer
@pytest.mark.parametrize("name", ["char_rnn", "deep_q", "matrix_factorization", "text_cnn"])
def test_migrations_under_tensorflow(tmp_path: Path, name: str) -> None:
    pytest.importorskip("tensorflow")
    written(tmp_path, "tensorflow", (MIGRATIONS / f"{name}.py").read_text())
    found = elsewhere(tmp_path)
    assert found["verdict"] in ("EQUAL WITHIN ROUNDING", "EQUAL ONLY FOR THIS RUN"), found["differences"]
    assert found["steps"] > 10


def test_hyperparameters_are_set_where_tensorflow_looks() -> None:
    text = """import tape_api as tf

opt = tf.compat.v1.train.MomentumOptimizer(0.0, 0.9)
other = tf.compat.v1.train.AdamOptimizer(0.0)


def step(grads):
    opt.learning_rate = rate()  # line 3
    other.learning_rate = other.beta_1 = rate()
    model.learning_rate = 3
    other.apply_gradients(grads)
    return other.kept_together()
"""
    new = renamed(text, TARGETS["tensorflow"])
    assert "    opt._learning_rate = rate()  # line 3" in new
    assert "    other._lr = other._beta1 = rate()" in new
    assert "    model.learning_rate = 3" in new and "other._get_beta_accumulators()" in new
    with pytest.raises(Unsafe, match="deepcopy"):
        renamed("import tape_api as tf\nx = copy.deepcopy(dataset)\n", TARGETS["tensorflow"])
