"""The table of what rules cost can be made: the figures are not asserted."""

from __future__ import annotations

from typing import Any

import pytest

from tests import vjp_cost


def test_the_problems() -> None:
    """There are problems, each under its own name."""
    names = [problem.name for problem in vjp_cost.problems()]
    assert len(set(names)) == len(names) > 100


def test_the_table(capsys: pytest.CaptureFixture[Any]) -> None:
    """What it says of two ops."""
    vjp_cost.main(["--only", "squar", "--seconds", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[1:-1]} == {"square_op", "squared_difference_op"}
    assert lines[-1].startswith("2 measured")
