"""Run a program written for TensorFlow, unchanged: its ``import tensorflow`` gives dualgrad.

The program sees what ``python PROGRAM`` would show it: ``sys.argv``, ``__main__``, the folder that its modules are
imported from, the exit code. Tracebacks show the program's lines; set DUALGRAD_TRACEBACK=full to see ours too.
"""

from __future__ import annotations

import argparse
import builtins
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dualgrad.frontend.tracebacks import is_full, shortened
from dualgrad.migrate import beside, bridging, notebooks
from dualgrad.migrate.hook import Facade, install
from dualgrad.migrate.judge import judge
from dualgrad.migrate.removed import explained

DESCRIPTION = """Run a program written for TensorFlow, unchanged. It sees what `python PROGRAM` would show it; its
`import tensorflow` gives dualgrad. Tracebacks end at the program's line; with DUALGRAD_TRACEBACK=full they show
all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    parser.add_argument(
        "--api",
        choices=("1", "2", "eager", "auto"),
        default="auto",
        help="what it was written for: TensorFlow 1, 2, or eager execution in 1 (default: its names tell)",
    )
    parser.add_argument(
        "--compat",
        action="store_true",
        help="let the program's own files have what NumPy, SciPy and Python have given up (np.float, time.clock)",
    )
    parser.add_argument("program", metavar="PROGRAM", help="the file to run")
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="what follows is the program's own")


def main(given: argparse.Namespace) -> int:
    """Run the program; give its exit code.

    Raises
    ------
    SystemExit
        As the program raises it.
    """
    try:
        path = program(given.program)
    except ValueError as error:
        print(f"dualgrad run: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return run(path, given.arguments, judge(path) if given.api == "auto" else given.api, compat=given.compat)


def program(name: str) -> Path:
    """The file to run for what the command line says: a file, a folder with a ``__main__.py``, or a notebook.

    Raises
    ------
    ValueError
        If there is none.
    """
    path = Path(name)
    if path.is_dir():
        path = path / "__main__.py"
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    if notebooks.is_notebook(path):
        return notebooks.kept_program(path)
    return path


def run(
    path: Path, arguments: list[str], api: str, facade: type[Facade] = Facade, compat: bool = False, **observed: Any
) -> int:
    """Run a file as ``python FILE`` does.

    Parameters
    ----------
    path : Path
    arguments : list of str
    api, facade
        As `dualgrad.migrate.hook.install` takes them.
    compat : bool
        Whether its files are bridged (`dualgrad.migrate.bridging`).
    **observed
        What else `execute` takes.

    Returns
    -------
    int
        0, or the exit code of a Python that ends with an exception.

    Raises
    ------
    SystemExit
        As the program raises it.
    """
    install(api, facade)
    return execute(path, arguments, compat, **observed)


def execute(
    path: Path,
    arguments: list[str],
    compat: bool = False,
    compiled: Callable[[bytes, str], CodeType] | None = None,
    names: Mapping[str, Any] | None = None,
) -> int:
    """The same with the modules there are: whatever ``import tensorflow`` gives; `names` the program has besides."""
    sys.argv = [str(path), *arguments]
    beside.keep_apart(path.parent)
    if not sys.flags.safe_path:
        sys.path[0] = str(path.parent.resolve())
    main_module = ModuleType("__main__")
    loader = SourceFileLoader("__main__", str(path))
    vars(main_module).update(__file__=str(path), __builtins__=builtins, __loader__=loader, **(names or {}))
    sys.modules["__main__"] = main_module
    try:
        if compat:
            bridging.install(path.parent)
            vars(main_module).update(bridging.names())
        code = compiled or (bridging.compiled if compat else _compiled)
        exec(code(path.read_bytes(), str(path)), vars(main_module))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001
        # what the interpreter does, but with fewer lines
        short = error if is_full() else shortened(error)
        sys.excepthook(type(short), short, short.__traceback__)
        _explain(error, compat)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _compiled(source: bytes, file: str) -> CodeType:
    code: CodeType = compile(source, file, "exec", dont_inherit=True)
    return code


def _explain(error: BaseException, compat: bool) -> None:
    """Say in one line what a newer NumPy, SciPy or Python has to do with the exception, if it has."""
    told = explained(error)
    if told is not None:
        way = " (or run with --compat)" if told.bridged and not compat else ""
        print(f"dualgrad run: {told.line}{way}", file=sys.stderr)  # noqa: T201
