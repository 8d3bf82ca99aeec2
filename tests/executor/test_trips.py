"""How far later calls travel: calls of our own functions, each of which a small program pays for."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.eager import in_c
from tests.tapes import watching

HOME = str(Path(__file__).resolve().parents[2])
OURS = re.compile(rf"<program>|{re.escape(HOME)}/(engine|graph_api|tape_api|optim)/")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are calls of their own there")


def calls(function: Callable[[], Any]) -> list[str]:
    """The functions of ours (and generated ones) that a call runs through, one per call."""
    found: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and OURS.match(code.co_filename):
            found.append(f"{code.co_filename.removeprefix(HOME)}:{code.co_name}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def recorded() -> tuple[Any, Any, Any]:
    x = tape_api.constant(np.linspace(0.1, 1.0, 5))
    tape, y = watching(x, lambda: x * x)
    return tape, y, x


def test_a_later_run() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [5])
        y = x * x
        for _ in range(3):
            session.run(y, {x: np.ones(5)})
        found = calls(lambda: session.run(y, {x: np.ones(5)}))
    assert 5 < len(found) <= 12, found


@pytest.mark.parametrize(("method", "most"), [("gradient", 21 if in_c else 28), ("jacobian", 44 if in_c else 49)])
def test_a_later_derivative(method: str, most: int) -> None:
    for _ in range(6):
        tape, y, x = recorded()
        getattr(tape, method)(y, x)
    tape, y, x = recorded()
    found = calls(lambda: getattr(tape, method)(y, x))
    assert 10 < len(found) <= most, found
