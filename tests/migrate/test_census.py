"""``dualgrad check --census``: the names that a recorded program looked up, where reading its files shows none."""

from pathlib import Path

import pytest

from dualgrad.migrate.check import check
from dualgrad.migrate.check.uses import DIFFERS, MISSES, SAME, UNCHECKED
from tests.migrate.in_process import dualgrad

PROGRAM = """import tensorflow as tf
import helper
x = tf.placeholder(tf.float32)
name = "exp"
y = helper.ops["sin"](x) + getattr(tf, name)(x) + getattr(tf.nn, "re" + "lu")(x)
with tf.Session() as s:
    print(s.run(y, {x: 0.0}))
"""
HELPER = 'import tensorflow as tf\nops = {n: getattr(tf, n) for n in ["square", "sin"]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def test_names_that_only_running_shows_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dualgrad(folder, "record", "-o", "R", "prog.py") == 0
    capsys.readouterr()
    # what `getattr` might look up in another run stays open
    assert dualgrad(folder, "check", "--all", "--census", "R", "prog.py", "helper.py") == 1
    lines = capsys.readouterr().out.splitlines()
    found = {line.split(": ")[2]: line for line in lines[:-1]}
    for name, place in {
        "tf.exp": "prog.py:5:1: same",
        "tf.nn.relu": "prog.py:5:1: differs",
        "tf.sin": "helper.py:2:1: same",
        "tf.square": "helper.py:2:1: same",
    }.items():
        assert found[name].startswith(f"{place}: ") and "looked up here when the program ran" in found[name]
    assert "looked up" not in found["tf.placeholder"]
    assert dualgrad(folder, "check", "--census", "R", "prog.py") == 1
    assert "helper.py:1:1: not checked: helper.py: the program looked names up in it" in capsys.readouterr().out


def test_a_census_has_one_verdict_for_each_name(folder: Path) -> None:
    census = {"foo": [["prog.py", 4]], "nn.relu": [["prog.py", 5]], "float32": [["prog.py", 3]], "exp": [["p.py", 1]]}
    files = [folder / "prog.py", folder / "helper.py"]
    before = check(files, "1")
    added = [use for use in check(files, "1", census) if use not in before]
    assert [(use.name, use.line, use.verdict) for use in added] == [
        ("tf.foo", 4, MISSES),
        ("tf.nn.relu", 5, DIFFERS),
        ("p.py", 1, UNCHECKED),
    ]
    assert all(use.verdict == SAME or use.message for use in added)
    assert check(files, "1", {}) == before


def test_what_is_no_record_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dualgrad(folder, "check", "--census", ".", "prog.py") == 2
    assert "there is no complete record here" in capsys.readouterr().err
