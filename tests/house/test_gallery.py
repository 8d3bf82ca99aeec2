"""The examples of the gallery run, and what they assert holds. Their pictures are drawn when the site is built."""

import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from graph_api.graphs.graph import Graph

HOME = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((HOME / "docs" / "notebooks").glob("*.ipynb"))
EXAMPLES = sorted((HOME / "docs" / "examples").glob("plot_*.py"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6 and len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = MagicMock()
    # also where matplotlib is not installed
    monkeypatch.setitem(sys.modules, "matplotlib", drawn)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", drawn.pyplot)
    with Graph().as_default():
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
    assert drawn.pyplot.show.called


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = MagicMock()
    drawn.pyplot.subplots.side_effect = lambda *_: (MagicMock(), MagicMock())
    monkeypatch.setitem(sys.modules, "matplotlib", drawn)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", drawn.pyplot)
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), "clear the outputs"
    shared = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), shared)
    assert drawn.pyplot.show.called


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_jupyter(path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(HOME)}}).execute()
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))
