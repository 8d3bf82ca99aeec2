"""The type stubs say what is there, and what comes back."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tape_api
from dualgrad.frontend.legacy import Old
from engine.core.eager import EagerTensor
from tests.op_table import ROWS
from tests.processes import ran
from tests.stubs import FRONT_ENDS, Stub, path_of, result, short_path_of, short_text

PROGRAM = """
import {front_end} as tf

good: tf.Tensor = tf.reduce_sum([1.0, 2.0], axis=0)
more: tf.Tensor = tf.linalg.matmul([[1.0]], [[2.0]])
parts: list[tf.Tensor] = tf.split([1.0, 2.0], 2)
tf.reduce_summ([1.0])
tf.matmul(1)
tf.reduce_sum([1.0], axes=1)
tf.math.sinn(1.0)
wrong: str = tf.tanh(1.0)
total: tf.Tensor = -(good @ more)[0, ..., None] / 2 + 1.0 - 3 * good ** 2
larger: tf.Tensor = good > more
read: tf.Tensor = 2.0 * tf.Variable([1.0])[0] + 1.0
text: str = good * 2.0
number: int = abs(good)
"""
REFUSED = [7, 8, 9, 10, 11, 15, 16]
"""The lines of `PROGRAM` that are wrong."""


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_stub_is_up_to_date(front_end: str) -> None:
    # `python -m tests.stubs` writes it anew
    assert path_of(front_end).read_text() == Stub(front_end).text()
    assert short_path_of(front_end).read_text() == short_text(front_end)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_refuses_what_is_wrong_and_nothing_else(front_end: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(front_end=front_end))
    told = ran("-m", "mypy", "--config-file=", "--follow-imports=silent", program).stdout
    lines = [int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == REFUSED, told


USER = """
import numpy as np

import dualgrad
import dualgrad.tape as tf
import graph_api as g
import tape_api
from dualgrad.bench import compare_modes
from optim import transforms as tr

# tapes
w = tf.Variable([1.0, 2.0], name="w")
x = tf.constant([3.0, 4.0])
with tf.GradientTape(persistent=True) as tape:
    loss = tf.reduce_sum(w * 2.0 + x @ tf.eye(2))
gradient = tape.gradient(loss, w)
assert gradient is not None
array: np.ndarray = gradient.numpy()
sparse = tape.jacobian(w * x, w, format="csr")
print(sparse.nnz, sparse.toarray().shape)
dense = tape.jacobian(w * x, w)
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
chain = tr.clip_by_global_norm(1.0)
optimizer.apply_gradients(chain([(gradient, w)]))


@tf.function
def step(a: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(a * w)


value = step(x)
print(float(value.numpy()), step.explain())
layer = tf.keras.layers.Dense(3, activation="relu")
model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
path = tf.train.Checkpoint(model=model, optimizer=optimizer).save("model")
w.assign_add([1.0, 1.0])
model.save("model.keras")
total: tape_api.Tensor = 2.0 * w + w[0]
with dualgrad.tape.GradientTape(persistent=True) as tape:
    loss = tf.reduce_sum(w * w)
first: tf.Tensor = tape.gradient(loss, [w, w])[0]
product: np.ndarray = tape.hvp(loss, w, [1.0, 0.0]).numpy()
p = tf.for_scipy(lambda a: a * a, np.ones(3), format="csr")
print(p.jac(p.x0).nnz, p.fun(p.x0).max(), compare_modes)

# graphs
fed = g.placeholder(g.float32, [None, 2])
v = g.get_variable("v", [2])
y = g.reduce_mean(g.square(fed * v + 1.0))
dy, = g.gradients(y, [v])
train = g.train.AdamOptimizer(0.1).minimize(y)
with g.Session() as session:
    session.run(g.global_variables_initializer())
    result, _ = session.run([y, train], feed_dict={fed: np.ones((4, 2))})
    several: list[np.ndarray] = session.run([y, fed + v], {fed: np.ones((4, 2))})
    number: np.ndarray = session.run(y, {fed: np.ones((4, 2))})
    by_name: dict[str, np.ndarray] = session.run({"y": y}, {fed: np.ones((4, 2))})
    g.train.Saver().restore(session, g.train.Saver().save(session, path, global_step=1))
print(y.shape, result)
"""
"""A program of a user's: all of it is right."""

WRONG = """
import dualgrad
import graph_api as g
import tape_api as tf

w = tf.Variable([1.0])
x = tf.constant([1.0])
w.assing([2.0])
with tf.GradientTape(persistent=True) as tape:
    y = w * x
tape.gradeint(y, w)
tape.jacobian(y, w, format="nosuch")
tape.jacobian(y, w, mode="sideways")
tape.gradient(y)
tf.keras.optimizers.Adam(learning_rate="fast")
tf.GradientTape(persistent="yes")
tf.reduce_summ(y)
tf.keras.layers.Dense("three")
tf.keras.layers.Densee(3)
tf.matmul(x)
w.numpy().shpe
g.train.AdamOptimizer(learning_rate="fast")
g.Session().runn(y)
g.placeholder()
tf.Variable([1.0], trainable="no")
tf.train.Checkpointt(w=w)
tf.function(3)
word: str = w * 2.0
word = 2.0 * w
word = tape.gradient(y, w)
word = tape.gradient(y, [w])[0]
word = tape.jacobian(y, w)
word = g.Session().run(g.zeros([2]))
word = g.Session().run([g.zeros([2])])
dualgrad.tapes
dualgrad.tape.reduce_summ(y)
"""
"""Each line is wrong, but for imports and those that make what the others use."""


def checked(checker: str, program: Path) -> set[int]:
    """The lines that a type checker refuses; it is not told how ours are checked."""
    options = {"mypy": ["--config-file=", "--follow-imports=silent"], "pyright": ["--pythonpath", sys.executable]}
    told = ran("-m", checker, *options[checker], program).stdout
    found = re.findall(rf"{program.name}:(\d+):(?:\d+ -)? error", told)
    assert found or "0 errors" in told or "Success" in told, told
    return set(map(int, found))


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_users_program_passes_and_wrong_calls_are_refused(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker)
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(USER)
    wrong.write_text(WRONG)
    assert checked(checker, right) == set()
    lines = WRONG.splitlines()
    fine = ("", "import", "w =", "x =", "with", "    y")
    expected = {i for i, line in enumerate(lines, 1) if line and not line.startswith(fine[1:])}
    assert len(expected) >= 15
    assert checked(checker, wrong) == expected


def kind(value: Any) -> str:
    """The annotation that fits a result."""
    if hasattr(value, "_fields"):
        return f"_{type(value).__name__}"
    if isinstance(value, EagerTensor):
        return "Tensor"
    return "list" if isinstance(value, list) else "tuple"


def test_functions_give_what_the_stub_says(monkeypatch: pytest.MonkeyPatch) -> None:
    # The rows of the op table call the public functions that have a counterpart in TensorFlow: each is watched.
    seen: dict[str, set[str]] = {}

    def watched(path: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            seen.setdefault(path, set()).add(kind(value))
            return value

        return call

    rows = Stub("tape_api").rows
    for path in rows:
        *parents, name = path.split(".")
        module: Any = tape_api
        for parent in parents:
            module = getattr(module, parent)
        monkeypatch.setattr(module, name, watched(path, getattr(module, name)))
    for row in ROWS:
        if row.tf is not None:
            try:
                row.in_tensorflow(tape_api, *[tape_api.constant(a) for a in row.arrays(row.dtypes[0])])
            except AttributeError:
                continue  # a name that only TensorFlow has
    assert len(seen) > 200
    for path, kinds in seen.items():
        row = rows[path]
        said = result(row.function if isinstance(row, Old) else row).replace("builtins.", "")
        for found in kinds:
            assert said.startswith(found) or f"| {found}" in said, f"{path}: the stub says {said}, it gives a {found}"
