"""What a program shows of an error: its own lines, the one that matters last but one."""

import sys
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api
from dualgrad.frontend import tracebacks
from graph_api.graphs.graph import Graph
from tests.processes import HOME, printed, ran


def told(folder: Path, program: str, **environment: str) -> list[str]:
    """The lines of the traceback with which a program ends."""
    (folder / "program.py").write_text(program)
    done = ran("-u", "program.py", cwd=folder, **environment)
    assert done.returncode == 1
    return done.stderr.splitlines()


def told_here(folder: Path, program: str) -> list[str]:
    """The same without a Python of its own."""
    file = folder / "program.py"
    file.write_text(program)
    with Graph().as_default(), pytest.raises(Exception) as caught:  # noqa: PT011
        exec(compile(program, str(file), "exec"), {})
    assert caught.value.__traceback__ is not None
    error = caught.value.with_traceback(caught.value.__traceback__.tb_next)
    return "".join(traceback.format_exception(tracebacks.shortened(error))).splitlines()


def places(lines: list[str]) -> list[str]:
    """Files and functions of a traceback."""
    return [line.strip().removeprefix("File ") for line in lines if line.startswith("  File")]


HEAD = "import numpy as np\nimport graph_api as g\nimport tape_api as tf\n"
ERRORS = {
    "an op": "tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))",
    "a kernel": "tf.linalg.cholesky(tf.constant([[1.0, 2.0], [2.0, 1.0]]))",
    "a graph": "g.matmul(g.zeros([2, 3]), g.zeros([2, 3]))",
    "a run": "g.Session().run(g.placeholder(g.float32, [2]))",
    "a name": "tf.reduce_summ",
    "a layer": "tf.keras.layers.Dense(-1)(tf.zeros([2, 3]))",
    "a function of NumPy": "np.concatenate([tf.zeros([2]), tf.zeros([2, 3])])",
    "a file": "tf.train.load_checkpoint('nowhere')",
    "an optimizer": "g.train.AdamOptimizer().minimize(g.constant(1.0))",
}


@pytest.mark.parametrize("key", ERRORS)
def test_the_last_line_but_one_is_the_programs(key: str, tmp_path: Path) -> None:
    lines = told_here(tmp_path, f"{HEAD}\ndef f():\n    {ERRORS[key]}\n\nf()\n")
    here = tmp_path / "program.py"
    assert places(lines) == [f'"{here}", line 8, in <module>', f'"{here}", line 6, in f']
    # it may be underlined
    assert [line.strip() for line in lines if not set(line) <= set(" ~^")][-2] == ERRORS[key]


def test_a_line_that_we_call_is_shown_too(tmp_path: Path) -> None:
    text = f"{HEAD}def f(x):\n    return tf.reshape(x, [7])\n\ntf.map_fn(f, tf.zeros([2, 3]))\n"
    lines = told_here(tmp_path, text)
    assert [place.split(", ", 1)[1] for place in places(lines)] == ["line 7, in <module>", "line 5, in f"]


def test_all_lines_on_demand(tmp_path: Path) -> None:
    lines = told(tmp_path, f"{HEAD}{ERRORS['a run']}\n", DUALGRAD_TRACEBACK="full")
    assert any(str(HOME / "graph_api") in place for place in places(lines))


def test_few_of_our_lines_where_an_error_has_another_behind_it(tmp_path: Path) -> None:
    program = """
import tape_api as tf
try:
    tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
except Exception as error:
    raise RuntimeError("the program's own") from error
"""
    assert [place.split(", ", 1)[1] for place in places(told(tmp_path, program))] == [
        "line 4, in <module>",
        "line 6, in <module>",
    ]


def test_an_error_without_a_line_of_the_program_keeps_all() -> None:
    try:
        tape_api.reshape(np.zeros(3), [7])
    except Exception as error:  # noqa: BLE001
        inner = error
    assert inner.__traceback__ is not None and inner.__traceback__.tb_next is not None
    ours = inner.with_traceback(inner.__traceback__.tb_next)
    before = tracebacks._links(ours.__traceback__)
    assert tracebacks._links(tracebacks.shortened(ours).__traceback__) == before


class Shell:
    """As much of IPython's shell as shows exceptions."""

    custom_exceptions: tuple[type, ...] = ()
    handler: Any = None
    shown: Any = None

    def set_custom_exc(self, kinds: tuple[type, ...], handler: Any) -> None:
        self.custom_exceptions, self.handler = kinds, handler

    def showtraceback(self, error: Any, tb_offset: int | None = None) -> None:
        self.shown = error


def test_a_notebook_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    shell, taken = Shell(), Shell()
    taken.custom_exceptions = (OSError,)
    for each in (shell, taken):
        monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
        module: Any = types.ModuleType("IPython")
        module.get_ipython = lambda each=each: each
        monkeypatch.setitem(sys.modules, "IPython", module)
        tracebacks.install()
    assert taken.handler is None and shell.custom_exceptions == (Exception,)
    try:
        tape_api.reshape(np.zeros(3), [7])
    except Exception as error:  # noqa: BLE001
        shell.handler(shell, type(error), error, error.__traceback__, tb_offset=1)
    links = tracebacks._links(shell.shown[2])
    assert [link.tb_frame.f_code.co_filename for link in links] == [__file__]


def test_ipython_shows_the_same() -> None:
    pytest.importorskip("IPython")
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "NoColor")
shell.run_cell("import graph_api as tf")
shell.run_cell("def f():\\n    return tf.Session().run(tf.placeholder(tf.float32, [2]))\\nf()")
"""
    said = printed(program)
    assert "must be fed" in said or "placeholder" in said
    assert "graph_api/" not in said and "return tf.Session().run" in said
