"""Notebooks as programs, and as what a program is converted to."""

import json
from pathlib import Path
from typing import Any

import pytest

from dualgrad.migrate.notebooks import Cell, notebook_text, program_text, read_cells
from tests.migrate.in_process import dualgrad

GRAPH = """\
x = tf.placeholder(tf.float32, [None, 1], name="x")
w = tf.Variable(own.START)
loss = tf.reduce_mean(tf.square(x * w - 3.0 * x))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)"""
LOOP = """\
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for _ in range(5):
    sess.run(step, {x: points})
"""
CELLS = [
    ("markdown", "# A line\n\nwith é"),
    ("code", "%matplotlib inline\nimport numpy as np\nimport tensorflow as tf\n\nimport own\n"),
    ("code", "rng = np.random.RandomState(0)\npoints = rng.randn(20, 1).astype(np.float32)  # data"),
    ("markdown", "The graph"),
    ("code", GRAPH),
    ("markdown", "Training"),
    ("code", LOOP),
    ("code", '!ls\nprint("""at\n    the end""", sess.run(w))'),
]


def notebook(cells: Any = CELLS, **others: Any) -> str:
    """The text of a notebook with outputs."""
    made = [
        {
            "cell_type": k,
            "metadata": {},
            "source": t.splitlines(True),
            **({"outputs": [{"o": 1}]} if k == "code" else {}),
        }
        for k, t in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 2} | others)


def test_a_notebook_becomes_a_notebook_with_its_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "n.ipynb").write_text(notebook())
    (tmp_path / "own.py").write_text("START = 1.5\n")
    assert dualgrad(tmp_path, "record", "-o", "record", "n.ipynb") == 0
    assert dualgrad(tmp_path, "convert", "-o", "out.ipynb", "n.ipynb") == 0
    made = json.loads((tmp_path / "out.ipynb").read_text())
    assert "o" not in str([c.get("outputs") for c in made["cells"]]).replace("None", "")
    cells = [(c["cell_type"], "".join(c["source"])) for c in made["cells"]]
    assert [t for k, t in cells if k == "markdown"] == [t for k, t in CELLS if k == "markdown"]
    assert cells[0][0] == "code" and "def step(" in cells[0][1]
    text = "\n".join(t for _, t in cells)
    assert (
        "%%" not in text and "__main__" not in text and "points = rng.randn(20, 1).astype(np.float32)  # data" in text
    )
    # each cell of the loop stands where it stood, behind its text
    assert cells[-2][1].startswith("for _ in range(5):\n    ") and cells[-3] == ("markdown", "Training")
    assert cells[-1][1].startswith('# !ls\nprint("""at\n    the end"""')
    capsys.readouterr()
    assert dualgrad(tmp_path, "compare", "record", "out.ipynb") == 0
    said = capsys.readouterr().out
    assert "EQUAL" in said and "printed: the same text" in said


def test_only_python_is_left() -> None:
    cells = [Cell("code", "%load x\nif a:\n    !pip install b\ny = 1"), Cell("code", "%%bash\nls"), Cell("raw", "z")]
    assert program_text(cells) == (
        "# %% cell 1\n# %load x\n# %% cell 1\nif a:\n    pass  # !pip install b\n# %% cell 1\ny = 1\n"
        "\n# %% cell 2\n# %%bash\n# ls\n"
    )


def test_strings_over_several_lines_stay_as_they_are() -> None:
    text = (
        'import a\n\nif __name__ == "__main__":\n    # %% cell 1\n    x = """b\n    c"""\n    if x:\n        print(x)\n'
    )
    made = json.loads(notebook_text(text, [Cell("code", "")], "out.npz"))
    assert "".join(made["cells"][1]["source"]) == 'x = """b\n    c"""\nif x:\n    print(x)'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "no notebook of format 4"),
        (notebook(nbformat=3), "no notebook of format 4"),
        ('{"nbformat": 4, "cells": [1]}', "cell 1 has no text"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has no text"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell 1 has no text"),
    ],
)
def test_what_is_no_notebook_says_so(tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_cells(tmp_path / "n.ipynb")
    assert dualgrad(tmp_path, "convert", "-o", "out.ipynb", "n.ipynb") == 2
    assert said in capsys.readouterr().err
    assert dualgrad(tmp_path, "run", "n.ipynb") == 2
