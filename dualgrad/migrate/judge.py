"""Which TensorFlow a program was written for: told from the names that it and its own modules use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

SESSIONS = {
    *("placeholder", "Session", "InteractiveSession", "disable_v2_behavior", "disable_eager_execution"),
    *("global_variables_initializer", "initialize_all_variables", "train.MonitoredTrainingSession"),
}
"""Names below ``tf.`` that a program has no use for without a graph."""
GRAPHS = {
    *("get_variable", "variable_scope", "ConfigProto", "reset_default_graph", "get_default_session", "layers", "app"),
    *("flags", "random_normal", "set_random_seed", "initialize_variables", "variables_initializer", "to_float", "log"),
    *("truncated_normal", "random_uniform", "assign", "local_variables_initializer", "get_default_graph", "contrib"),
    *("GraphKeys", "get_collection", "Graph", "trainable_variables", "py_func", "gfile", "placeholder_with_default"),
}
"""Names that hint at graphs."""
TAPES = {
    *("GradientTape", "function", "optimizers", "Module", "print", "TensorSpec", "metrics", "config", "autograph"),
    *("autodiff", "keras.optimizers", "random.set_seed", "summary.create_file_writer", "py_function", "numpy_function"),
    *("keras.utils.set_random_seed", "keras.ops", "keras.random", "keras.mixed_precision", "data.AUTOTUNE"),
}
"""Names that hint at eager values and tapes."""
_OF_TAPES = {"numpy", "fit", "evaluate", "predict", "train_on_batch"}
"""Methods that decide where names do not: of eager values, and of Keras's models, which are trained on tapes only."""
EAGER = {"enable_eager_execution", "contrib.eager"}
"""Names that make a program of TensorFlow 1 eager."""


def judge(path: Path, further: Mapping[str, str] | None = None) -> str:
    """``"1"`` for graphs and sessions, ``"2"`` for tapes, ``"eager"`` for TensorFlow 1's names on eager values.

    Parameters
    ----------
    path : Path
        The program. The modules beside it that it imports are looked at too.
    further : mapping, optional
        What `shared_names` gives for further files from which it may import TensorFlow.
    """
    sources = list(_sources(path))
    shared = {**(further or {}), **{n: p for _, tree in sources for n, p in _aliases(tree).items()}}
    plain: set[str] = set()
    old: set[str] = set()
    hinted = False
    for _, tree in sources:
        names = set(_used(tree, shared))
        hinted |= any(isinstance(n, ast.Attribute) and n.attr in _OF_TAPES for n in ast.walk(tree))
        old |= {n.removeprefix("compat.v1.") for n in names if n.startswith("compat.v1.")}
        plain |= {n for n in names if not n.startswith("compat.")}
    used = _beginnings(plain | old)
    if EAGER & _beginnings(plain):
        return "eager"
    if SESSIONS & used:
        return "1"
    hints = len(TAPES & used) - len(GRAPHS & used)
    return "2" if hints > 0 or (hints == 0 and hinted) else "1"


def _beginnings(names: set[str]) -> set[str]:
    """The names and, of dotted ones, what they begin with: ``keras.optimizers.Adam`` is ``keras.optimizers`` too."""
    return {".".join(n.split(".")[:k]) for n in names for k in range(1, n.count(".") + 2)}


def shared_names(files: Iterable[Path]) -> dict[str, str]:
    """The names that files import from TensorFlow, for others to import from them."""
    trees = (tree for file in files for _, tree in islice(_sources(file), 1))
    return {name: path for tree in trees for name, path in _aliases(tree).items()}


def reached(path: Path) -> Iterator[Path]:
    """The program and those of its own modules that it imports."""
    return (file for file, _ in _sources(path))


def _sources(path: Path) -> Iterator[tuple[Path, ast.Module]]:
    """The program and its own modules, parsed; what does not parse is left to Python to complain about."""
    todo, seen = [path.resolve()], set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        yield file, tree
        for name in _imported(tree):
            base = path.resolve().parent.joinpath(*name.split("."))
            todo += [f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file()]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The names that a file's imports give to TensorFlow and its parts."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root == "tensorflow":
                    aliases[alias.asname or root] = rest if alias.asname else ""
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tensorflow":
            inner = (node.module or "").partition(".")[2]
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{inner}.{alias.name}".lstrip(".")
    return aliases


def _used(tree: ast.Module, shared: dict[str, str]) -> Iterator[str]:
    """All names below ``tf.`` in a file, with aliases resolved: its own, and `shared` ones that it imports."""
    aliases, modules = _aliases(tree), set()
    yield from filter(None, aliases.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name.partition(".")[2] for a in node.names if a.name.startswith("tensorflow."))
            modules |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name for alias in node.names}
            for alias in node.names:
                names = shared if alias.name == "*" else {alias.asname or alias.name: shared.get(alias.name)}
                aliases = {n: p for n, p in names.items() if p is not None} | aliases
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts, here = [node.attr], node.value
            while isinstance(here, ast.Attribute):
                parts.append(here.attr)
                here = here.value
            if isinstance(here, ast.Name) and here.id in aliases:
                yield ".".join([aliases[here.id], *reversed(parts)]).lstrip(".")
            elif isinstance(here, ast.Name) and here.id in modules and parts[-1] in shared:  # common.tf.Session
                yield ".".join([shared[parts[-1]], *reversed(parts[:-1])]).strip(".")
