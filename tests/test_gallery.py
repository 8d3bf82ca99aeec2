"""The examples of the gallery run, and what they assert holds. Their pictures are drawn when the site is built."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from graph_api.graph import Graph

HOME = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((HOME / "docs" / "examples").glob("plot_*.py"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = MagicMock()
    # also where matplotlib is not installed
    monkeypatch.setitem(sys.modules, "matplotlib", drawn)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", drawn.pyplot)
    with Graph().as_default():
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
    assert drawn.pyplot.show.called
