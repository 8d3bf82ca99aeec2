"""Which TensorFlow a program was written for: told from the names that it and its own modules use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
}
"""Names that hint at eager values and tapes."""
EAGER = {"enable_eager_execution", "contrib.eager"}
"""Names that make a program of TensorFlow 1 eager."""


def judge(path: Path) -> str:
    """``"1"`` for graphs and sessions, ``"2"`` for tapes, ``"eager"`` for TensorFlow 1's names on eager values.

    Parameters
    ----------
    path : Path
        The program. The modules beside it that it imports are looked at too.
    """
    plain: set[str] = set()
    old: set[str] = set()
    eager_values = False
    for _, tree in _sources(path):
        names = set(_used(tree))
        eager_values |= any(isinstance(n, ast.Attribute) and n.attr == "numpy" for n in ast.walk(tree))
        old |= {n.removeprefix("compat.v1.") for n in names if n.startswith("compat.v1.")}
        plain |= {n for n in names if not n.startswith("compat.")}
    used = _beginnings(plain | old)
    if EAGER & _beginnings(plain):
        return "eager"
    if SESSIONS & used:
        return "1"
    hints = len(TAPES & used) - len(GRAPHS & used)
    return "2" if hints > 0 or (hints == 0 and eager_values) else "1"


def _beginnings(names: set[str]) -> set[str]:
    """The names and, of dotted ones, what they begin with: ``keras.optimizers.Adam`` is ``keras.optimizers`` too."""
    return {".".join(n.split(".")[:k]) for n in names for k in range(1, n.count(".") + 2)}


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


def _used(tree: ast.Module) -> Iterator[str]:
    """All names below ``tf.`` in a file, with the aliases that its imports make resolved."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root == "tensorflow":
                    aliases[alias.asname or root] = rest if alias.asname else ""
                    if rest:
                        yield rest
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tensorflow":
            inner = (node.module or "").partition(".")[2]
            for alias in node.names:
                name = f"{inner}.{alias.name}".lstrip(".")
                aliases[alias.asname or alias.name] = name
                yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts, here = [node.attr], node.value
            while isinstance(here, ast.Attribute):
                parts.append(here.attr)
                here = here.value
            if isinstance(here, ast.Name) and here.id in aliases:
                yield ".".join([aliases[here.id], *reversed(parts)]).lstrip(".")
