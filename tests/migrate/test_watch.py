"""`dualgrad.migrate.watch`: who asks is told of every run, and the program cannot tell."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from dualgrad.migrate.watch import Run, watching
from graph_api.sessions.session import Session
from tests.processes import printed


def sites(seen: list[Run]) -> list[int]:
    return [run.site[1] for run in seen]


def test_all_ways_to_run_are_seen() -> None:
    seen: list[Run] = []
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        y = tf.multiply(x, v, name="y")
        call = sess.make_callable(y, [x])
        with watching(seen.append):
            sess.run(v.initializer)
            y.eval({x: [1.0, 1.0]})
            v.assign_add([1.0, 1.0]).op.run()
            call([2.0, 2.0])
            v.load([5.0, 5.0], sess)
        sess.run(y, {x: [0.0, 0.0]})
    assert [[e.name for e in run.flat] for run in seen][0::3] == [["v/Assign"], ["y:0"]]
    assert len(seen) == 5
    assert {run.site[0] for run in seen} == {__file__}
    assert sites(seen) == sorted(sites(seen))
    assert seen[3].variables("before")["v:0"].tolist() == [2.0, 3.0]
    assert seen[0].variables("before") == {}
    assert seen[4].variables("after")["v:0"].tolist() == [5.0, 5.0]
    assert seen[3].results[0].tolist() == [4.0, 6.0]


def test_structures_come_back_as_they_were_asked_for() -> None:
    seen: list[Run] = []
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.placeholder(tf.float32, name="a")
        sparse = tf.IndexedSlices(tf.stack([2 * a]), tf.constant([1]), tf.constant([2]))
        fetches: Any = {"n": [a + 1, (a * 2, tf.no_op())], "s": sparse, "name": "a:0"}
        plain = sess.run(fetches, {"a:0": 3.0})
        with watching(seen.append):
            watched = sess.run(fetches, {"a:0": 3.0})
            alone = sess.run(a, {a: 1.0})
    assert plain["n"] == watched["n"] == [4.0, (6.0, None)]
    assert watched["name"] == 3.0
    assert type(watched["s"]) is type(plain["s"])
    assert watched["s"].values.tolist() == [6.0]
    assert alone == 1.0
    assert len(seen[0].flat) == len(seen[0].results) == 7
    assert seen[0].fed[0].dtype == np.float32


def test_rows_written_in_place_do_not_change_what_was_before() -> None:
    seen: list[Run] = []
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.zeros((3, 2), np.float32), name="v")
        update = tf.scatter_update(v, [1], [[7.0, 7.0]])
        sess.run(v.initializer)
        with watching(seen.append):
            sess.run(update.op)
    assert seen[0].variables("before")["v:0"][1].tolist() == [0.0, 0.0]
    assert seen[0].variables("after")["v:0"][1].tolist() == [7.0, 7.0]


def test_a_run_that_fails_is_told_too() -> None:
    seen: list[Run] = []
    with tf.Graph().as_default(), tf.Session() as sess, watching(seen.append):
        x = tf.placeholder(tf.float32, name="x")
        with pytest.raises(tf.errors.InvalidArgumentError, match="feed a value"):
            sess.run(x)
    assert isinstance(seen[0].error, tf.errors.InvalidArgumentError)
    assert seen[0].results == []


def test_afterwards_sessions_run_as_before() -> None:
    usual = Session.run
    with watching(lambda run: None):
        assert Session.run is not usual
    assert Session.run is usual
    with pytest.raises(ZeroDivisionError), watching(lambda run: None):
        raise ZeroDivisionError
    assert Session.run is usual


def test_others_may_answer_or_ask_for_more() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        c = tf.constant(1.0)
        with watching(lambda run: None, lambda run, compute: [np.float32(9)]):
            assert sess.run({"c": c}) == {"c": 9.0}
        with watching(lambda run: None, lambda run, compute: compute([*run.flat, c + 1])[1:]):
            assert sess.run({"c": c}) == {"c": 2.0}


def test_a_program_is_watched(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def ask(s, y):\n    return s.run(y)\n")
    (tmp_path / "program.py").write_text(
        "import sys\nimport tensorflow as tf\nfrom helper import ask\n"
        "with tf.Session() as s:\n    print(ask(s, tf.constant(2.0)))\nsys.exit(3)\n"
    )
    code = (
        "from dualgrad.migrate.watch import watch_program\nseen = []\n"
        "code = watch_program('program.py', ['--flag'], seen.append)\n"
        "print(code, [(r.site[0].rpartition('/')[2], r.site[1]) for r in seen])\n"
    )
    assert printed(code, cwd=tmp_path).splitlines() == ["2.0", "3 [('helper.py', 2)]"]
