"""Programs of several modules, converted together: a folder in, a folder out."""

from pathlib import Path

import pytest

from dualgrad.migrate.convert.edits import Unsafe
from dualgrad.migrate.convert.program_modules import entry_of, join_modules
from tests.migrate.in_process import dualgrad

MODULES = {
    "main.py": '''"""Train it."""
from __future__ import print_function

import argparse

import numpy as np
import tensorflow as tf

import trainer as tr
from data import points
from nets.model import inference as infer, x, y

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()
out = infer(x)
loss = tr.loss_of(out, y)
step = tr.training(loss, rate=tr.rate)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(args.steps):
        bx, by = points(i)  # é a batch
        _, value = sess.run([step, loss], {x: bx, y: by})
        print("step %d: %.4f" % (i, value))
''',
    "data.py": '''import numpy as np


def points(i):
    x = np.linspace(0.0, 1.0, 12).astype(np.float32)[:, None]
    return x[3 * (i % 4) : 3 * (i % 4) + 3], 2.0 * x[3 * (i % 4) : 3 * (i % 4) + 3]
''',
    "trainer.py": '''"""The loss and the step."""
import tensorflow as tf

rate = 0.1


def loss_of(out, y):
    return tf.reduce_mean(tf.square(out - y))


def training(loss, rate):
    return tf.train.GradientDescentOptimizer(rate).minimize(loss)


if __name__ == "__main__":
    print("not this")
''',
    "nets/__init__.py": "",
    "nets/layers.py": '''import tensorflow as tf


def linear(x, n):
    w = tf.get_variable("w", [1, n], initializer=tf.ones_initializer())
    return tf.matmul(x, w)
''',
    "nets/model.py": '''import tensorflow as tf

from . import layers

x = tf.placeholder(tf.float32, [None, 1], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")


def inference(x):
    return layers.linear(x, 1)
''',
}  # fmt: skip


def written(folder: Path, **others: str) -> Path:
    """A program in a folder, with other texts for some of its modules."""
    for name, text in {**MODULES, **{f"{n}.py": t for n, t in others.items()}}.items():
        (folder / "prog" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "prog" / name).write_text(text, encoding="utf-8")
    return folder / "prog"


def test_a_folder_becomes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("libcst")
    written(tmp_path)
    assert dualgrad(tmp_path, "record", "-o", "record", "prog/main.py", "--steps", "4") == 0
    assert dualgrad(tmp_path, "convert", "-o", "out", "prog", "--steps", "4") == 0
    text = (tmp_path / "out" / "main.py").read_text()
    assert "Its functions alone" not in text, text
    assert "for i in range(args.steps):\n        bx, by = points(i)  # é a batch" in text
    # lines are named as they stand in the modules
    assert "# nets/layers.py:5" in text and "# trainer.py:8" in text
    # a module without TensorFlow stays one, and what builds graphs is gone
    assert "from data import points" in text and "layers" not in text.replace("layers.py", "")
    assert sorted(p.name for p in (tmp_path / "out").rglob("*")) == ["data.py", "main.map.json", "main.py"]
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "out/main.py") == 0
    said = capsys.readouterr().out
    assert "EQUAL TO THE BIT" in said and "printed: the same text" in said


def test_modules_are_put_before_those_that_import_them(tmp_path: Path) -> None:
    text = join_modules(written(tmp_path) / "main.py").text
    assert (
        text.index("def linear")
        < text.index("def inference")
        < text.index("out = inference(x)".replace("inference", "infer"))
    )
    assert "return linear(x, 1)" in text and "infer = inference" in text
    assert "training(loss, rate=rate)" in text and "loss = loss_of(out, y)" in text
    assert "not this" not in text and "__future__" not in text and "import trainer" not in text


@pytest.mark.parametrize("more", ["def linear():\n    pass\n", "infer = 1\n", "import os as np\n", "points = 2\n"])
def test_names_that_stand_for_two_things_are_refused(tmp_path: Path, more: str) -> None:
    program = written(tmp_path, trainer=f"{MODULES['trainer.py']}\n\n{more}")
    with pytest.raises(
        Unsafe, match=r"(linear|infer|np|points) is a name of \w+\.py and another one of \w+\.py: rename"
    ):
        join_modules(program / "main.py")


def test_a_module_that_is_a_value_is_refused(tmp_path: Path) -> None:
    program = written(tmp_path, main=MODULES["main.py"] + "\nprint(dir(tr))\n")
    with pytest.raises(Unsafe, match=r"main\.py, line \d+: tr is used as a value"):
        join_modules(program / "main.py")


def test_a_folder_must_tell_where_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = written(tmp_path)
    assert entry_of(program).name == "main.py"
    (program / "main.py").rename(program / "start.py")
    assert entry_of(program).name == "trainer.py"
    (program / "trainer.py").write_text("")
    with pytest.raises(ValueError, match=r"no main\.py"):
        entry_of(program)
    assert dualgrad(tmp_path, "convert", "-o", "out", "prog") == 2
    assert "no main.py" in capsys.readouterr().err
