"""The command in this process: a second faster than a process of its own, and it leaves nothing behind."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tape_api
from dualgrad.frontend import overrides
from dualgrad.migrate.command import main
from graph_api.graphs.defaults import stacks
from graph_api.graphs.graph import Graph

HOME = str(Path(__file__).resolve().parents[2])


@contextmanager
def interpreter_kept() -> Iterator[None]:
    """Take back afterwards what a program and the import hook change of the interpreter."""
    path, finders, arguments, environment = sys.path[:], sys.meta_path[:], sys.argv, dict(os.environ)
    ours = ("tensorflow", "keras", "tf_slim", "__main__")
    modules = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in ours}
    before = set(sys.modules)
    gradients = dict(overrides._registered)
    for name in modules:
        # real TensorFlow, perhaps, for which other tests asked
        del sys.modules[name]
    # a program's folder takes the first place
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path[:], sys.meta_path[:], sys.argv = path, finders, arguments
        os.environ.clear()
        os.environ.update(environment)
        for name in [n for n in sys.modules if n.partition(".")[0] in ours or (n not in before and _is_a_programs(n))]:
            del sys.modules[name]
        sys.modules.update(modules)
        overrides._registered.clear()
        overrides._registered.update(gradients)


def _is_a_programs(name: str) -> bool:
    """Whether a module lies beside a program of a test: another one may have its name."""
    file = getattr(sys.modules[name], "__file__", None) or ""
    # the environment, or this copy of the project, may be in the temporary folder themselves
    return file.startswith(tempfile.gettempdir()) and not file.startswith((sys.prefix + os.sep, HOME + os.sep))


@contextmanager
def kept() -> Iterator[None]:
    """Take back what a program and the import hook change of the interpreter, sessions and graphs too."""
    sessions = list(stacks.sessions)
    tape_api.random.set_seed(None)  # as in a process that begins
    try:
        with interpreter_kept(), Graph().as_default():
            yield
    finally:
        stacks.sessions[:] = sessions


def dualgrad(folder: Path, *arguments: str) -> int:
    """``dualgrad ARGUMENTS`` in a folder; the exit code."""
    here = os.getcwd()
    os.chdir(folder)
    try:
        with kept():
            return main(list(arguments))
    finally:
        os.chdir(here)
