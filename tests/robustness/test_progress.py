"""How far something is: said on a terminal, and nowhere else."""

import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from dualgrad.platform import progress
from engine.runtime import patience
from tests.migrate.in_process import dualgrad


class Terminal(io.StringIO):
    """A stream with a person before it."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """What was written over, line by line, without the codes that do it and without times."""
        text = re.sub(r"\d+ s\b", "T", self.getvalue().replace("\x1b[K", ""))
        return [line for line in text.split("\r") if line]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write each line, however soon it follows another."""
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    monkeypatch.delenv("TERM", raising=False)


def test_a_line_says_how_much_time_is_left() -> None:
    stream = Terminal()
    with progress.progress("work", 4, stream):
        for _ in range(3):
            progress.step("more")
    assert stream.lines == [f"work - {n} of 4 - T left - more" for n in (1, 2, 3)]
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_line_without_a_total() -> None:
    stream = Terminal()
    with progress.progress("work", stream=stream):
        progress.say("begins")
        progress.step()
    assert stream.lines == ["work - begins", "work - 1 - T"]


def test_nothing_is_written_in_a_pipe_or_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, dumb = io.StringIO(), Terminal()
    monkeypatch.setenv("TERM", "dumb")
    for stream in (pipe, dumb):
        with progress.progress("work", 4, stream):
            progress.step()
            progress.say("on")
        assert stream.getvalue() == ""
    progress.step()
    progress.say("nobody has begun")


PROGRAM = """
import tensorflow as tf
x = tf.placeholder(tf.float32, name="x")
g, = tf.gradients(x * x, [x])
with tf.Session() as sess:
    for i in range(3):
        print("value", sess.run(g, {x: float(i)}))
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_the_commands(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "p.py").write_text(PROGRAM)
    begins = {
        ("record", "p.py", "-o", "R"): "dualgrad record: runs - 3 - T - 2 kept",
        ("convert", "p.py", "-o", "out.py"): "dualgrad convert - 3 - T - writing tape code",
        ("compare", "R", "out.py"): "dualgrad compare - 3 of 3 - T left",
        ("compare", "R"): "dualgrad compare - 3 of 3 - T left",
    }
    for words, line in begins.items():
        said = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", said)
        assert dualgrad(tmp_path, *words) == 0, said.getvalue()
        if terminal:
            assert line in said.lines
        else:
            assert "\r" not in said.getvalue()


@pytest.mark.parametrize(("terminal", "verbose"), [(True, "auto"), (True, 2), (True, 0), (False, "auto")])
def test_an_epoch(terminal: bool, verbose: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Terminal() if terminal else io.StringIO()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", "mse")
    monkeypatch.setattr(sys, "stdout", said)
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=2, epochs=2, verbose=verbose)
    if terminal and verbose == "auto":
        assert [line for line in said.lines if line.startswith("Epoch 2/2 - 3 of 4 - T left - loss: ")]
    else:
        assert "\r" not in said.getvalue()
    assert said.getvalue().replace("\r", "\n").count("Epoch 1/2 - loss: ") == (verbose != 0)


def test_what_takes_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Terminal()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(patience, "LONG", 0.01)
    monkeypatch.setattr(patience, "OFTEN", 0.01)
    with patience.patience("work"), patience.patience("a part of it"):
        while len(said.lines) < 2:
            time.sleep(0.01)
    assert said.lines[0] == "work - T - Ctrl-C stops it" and "a part" not in said.getvalue()
    assert said.getvalue().endswith("\r\x1b[K")
    with pytest.raises(KeyboardInterrupt), patience.patience("work"):
        raise KeyboardInterrupt
    monkeypatch.setattr(patience, "_tell", lambda *_: said.write("again"))
    tf.transforms.grad(lambda x: x * x)(3.0)
    graph = graph_api.Graph()
    with graph.as_default(), graph_api.Session() as session:
        x = graph_api.constant(3.0)
        assert session.run(graph_api.gradients(x * x, x)) == [6.0]
    assert "again" in said.getvalue()
