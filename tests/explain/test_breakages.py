"""Seeded breakages: `explain` names the right reason, at the right line, in both modes."""

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.explain import REASONS, Explanation, explain
from tests.explain.breakages import BOTH, GRAPHS, TAPES, Breakage

POINT, WEIGHTS = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])


def executed(program: str, names: dict[str, Any], tag: str) -> dict[str, Any]:
    """Run a program whose lines Python can show, and give what it defines."""
    file = f"<breakage {tag}>"
    linecache.cache[file] = len(program), None, program.splitlines(True), file
    space = {"np": np, "warnings": warnings, "__name__": "program", **names}
    exec(compile(program, file, "exec"), space)
    return space


def check(found: Explanation, row: Breakage, lines: bool = True) -> None:
    assert found.code == row.code, str(found)
    assert found.connected == (row.code in ("connected", "partial") or row.code.startswith(("zero", "nan"))), str(found)
    text = str(found)
    assert "{" not in text and "None (" not in text
    marked = [i for i, line in enumerate(row.program.splitlines(), 1) if "# here" in line]
    if marked and lines and row.code != "connected":
        assert found.where is not None, text
        assert found.where[1] == marked[0], text
        assert row.program.splitlines()[marked[0] - 1].strip() in text
    assert found._repr_html_().startswith("<div>")


def ids(row: Breakage) -> str:
    return f"{row.code}: {row.name}"


def function(row: Breakage) -> tuple[str, Any]:
    """The text of ``body(tf, x, w)`` for a row of `BOTH`, and the function."""
    lines = ["def body(tf, x, w):", *[f"    {line}" for line in row.program.splitlines()], "    return y, x", ""]
    return "\n".join(lines), executed("\n".join(lines), {}, ids(row))["body"]


@pytest.mark.filterwarnings("ignore:the gradient is None:engine.runtime.errors.UnconnectedWarning")
@pytest.mark.parametrize("row", BOTH, ids=ids)
def test_on_a_tape(row: Breakage) -> None:
    tf = tape_api
    x, w = tf.constant(POINT), tf.Variable(WEIGHTS)
    program = (
        "def body(tf, x, w):\n" + "".join(f"    {line}\n" for line in row.program.splitlines()) + "    return y, x\n"
    )
    body = executed(program, {}, ids(row))["body"]
    with tf.GradientTape(explain=True) as tape:
        tape.watch(x)
        y, source = body(tf, x, w)
    check(explain(y, source, tape=tape), row._replace(program=program))
    assert (tape.gradient(y, source) is None) != explain(y, source, tape=tape).connected


@pytest.mark.parametrize("row", BOTH, ids=ids)
def test_in_a_graph(row: Breakage) -> None:
    tf = graph_api
    program = (
        "def body(tf, x, w):\n" + "".join(f"    {line}\n" for line in row.program.splitlines()) + "    return y, x\n"
    )
    body = executed(program, {}, ids(row))["body"]
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float64, [3]), tf.Variable(WEIGHTS)
        y, source = body(tf, x, w)
        session.run(tf.global_variables_initializer())
        check(explain(y, source, session=session, feed_dict={x: POINT}), row._replace(program=program))


@pytest.mark.parametrize("row", TAPES, ids=ids)
def test_programs_with_tapes(row: Breakage) -> None:
    space = executed(row.program, {"tf": tape_api}, ids(row))
    tape = space.get("tape") if row.code != "other-graph" else None
    check(explain(space["y"], space["x"], tape=tape), row)


@pytest.mark.parametrize("row", GRAPHS, ids=ids)
def test_programs_with_graphs(row: Breakage) -> None:
    with graph_api.Graph().as_default():
        space = executed(row.program, {"tf": graph_api}, ids(row))
        given = {"session": space.get("session"), "feed_dict": space.get("feed"), "stop_gradients": space.get("stop")}
        check(explain(space["y"], space["x"], **given), row)


def test_there_are_enough_and_of_every_code() -> None:
    rows = [*BOTH, *TAPES, *GRAPHS]
    assert len(rows) >= 60
    assert {row.code for row in rows} == set(REASONS)
    assert len({(row.code, row.name) for row in rows}) == len(rows)
