"""Mistakes in converted programs are noticed by `dualgrad compare`. ``make mutants-of-conversions`` tries thousands."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mutants.conversions import EQUAL, Outcome, tell, verdict
from tests.mutants.corpus import programs
from tests.mutants.mistakes import Mistake, chosen, mistakes
from tests.mutants.observation import Seen, digest, observed
from tests.processes import printed

TEXT = '''\
"""A program."""

import numpy as np
import tape_api as tf

w = tf.Variable(tf.random.normal([2, 2], seed=3), name="w")
v = tf.Variable(tf.zeros([2]))


def first(x, y):
    x = tf.convert_to_tensor(x, tf.float32)
    return tf.reduce_mean(tf.nn.relu(x @ w) + 2.0 * y[0:2], axis=1)


def second(x, y):
    return first(x, -y) / 3.0


RUNS = [(first, ("x", "y")), (second, ("x", "y"))]
if __name__ == "__main__":
    for step in range(4):
        if step < 2 and step >= 1:
            print(first(np.ones(2), v))
        feed = {"x": 1, "y": step}
        step += 1
'''
KINDS = {
    *("axis", "seed", "constant", "last digit", "operator", "comparison", "condition", "function", "dtype", "index"),
    *("feed", "feed swapped", "two lines swapped", "a line left out", "a line twice", "dispatch", "loop", "variable"),
    *("name", "result", "operand left out", "operands swapped", "elements swapped", "argument left out"),
    *("arguments swapped", "call left out"),
}


def test_mistakes_are_of_each_kind_and_in_one_place() -> None:
    found = mistakes(TEXT)
    assert {m.kind for m in found} == KINDS
    for m in found:
        made = m.made(TEXT)
        compile(made, "made", "exec")
        assert made != TEXT
        assert made.encode()[: m.start] == TEXT.encode()[: m.start]
        assert made.endswith(TEXT.encode()[m.end :].decode())


def test_each_kind_is_chosen_about_as_often() -> None:
    kinds = [m.kind for m in chosen(TEXT, len(KINDS), 0)]
    assert sorted(kinds) == sorted(KINDS)
    assert chosen(TEXT, 9, 1) == chosen(TEXT, 9, 1) != chosen(TEXT, 9, 2)


def test_there_are_a_hundred_programs() -> None:
    names = [name for name, _ in programs()]
    assert len(names) == len(set(names)) >= 100


class Stub:
    """In place of a trial: what a program does depends on its text alone, and `compare` is as blind as it is made."""

    text = "x = 1.5\n"

    def __init__(self, says: str) -> None:
        self.says = says

    def seen(self, text: str) -> Seen:
        return Seen(printed=str(eval(text.partition("=")[2])))

    def compared(self, text: str) -> tuple[int, str]:
        return 0, f"new.py against the record of p.py\n{self.says}. And so on."


@pytest.mark.parametrize("says", EQUAL)
def test_a_comparison_that_is_blind_is_found_out(says: str) -> None:
    outcome, stub = Outcome("p"), Stub(says)
    tell(stub, Mistake("constant", 1, 4, 7, "1.25"), stub.seen(stub.text), outcome)  # type: ignore[arg-type]
    assert len(outcome.survived) == 1 and not outcome.noticed
    tell(stub, Mistake("constant", 1, 4, 7, "1.50"), stub.seen(stub.text), outcome)  # type: ignore[arg-type]
    assert len(outcome.equivalent) == 1


def test_what_is_different_or_incomplete_is_noticed() -> None:
    for says in ("DIFFERENT", "EQUAL SO FAR", "NOTHING COMPARED", "an error"):
        outcome, stub = Outcome("p"), Stub(says)
        tell(stub, Mistake("constant", 1, 4, 7, "1.25"), stub.seen(stub.text), outcome)  # type: ignore[arg-type]
        assert len(outcome.noticed) == 1 and not outcome.survived
    assert verdict(None) == "DOES NOT END"


def test_what_a_program_computes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {"functions": [{"name": "twice"}, {"name": "four"}], "variables": {"w:0": "w"}}
    program = "import numpy as np\nw = np.zeros(2)\n"
    program += "def twice(x):\n    return 2 * x\ndef four(x):\n    return twice(twice(x))\n"
    path = tmp_path / "new.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv[:])
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    path.write_text(
        program + "print(four(1.5))\ntwice(1.0)\ntwice(1.0)\ntwice(0.5)\nw[1] = 2\nnp.save('w', w)\n1 / 0\n"
    )
    seen = observed(path, known)
    assert seen.end == "ZeroDivisionError: division by zero" and seen.printed == "6.0\n"
    assert seen.fetched == {"four": ["6.0"], "twice": ["2.0", "1.0"]}  # from outside, and once what is the same
    assert seen.variables == {"w:0": digest(np.array([0.0, 2.0]))}
    path.write_text(program + "print(four(1.5))\n")
    other = observed(path, known)
    assert seen.changed(other) == ["end", "fetched", "variables"] and not seen.changed(seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mistakes are tried in forked children")
@pytest.mark.parametrize("name", ["small-counter", "small-factorization", "small-random_walk"])
def test_no_mistake_survives(name: str) -> None:
    said = printed("-W", "ignore", "-m", "tests.mutants.conversions", "-k", name, "--n", "6", "--jobs", "1")
    sums = said.splitlines()[-1]
    assert "6 mistakes" in sums and "0 survive; 0 wrong verdicts" in sums and " 0 noticed" not in sums, said
