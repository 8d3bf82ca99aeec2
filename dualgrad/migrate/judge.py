"""Which TensorFlow a program was written for: told from the names that it and its own modules use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SESSIONS = {
    *("placeholder", "Session", "InteractiveSession", "disable_v2_behavior", "disable_eager_execution"),
    *("global_variables_initializer", "initialize_all_variables", "train.MonitoredTrainingSession", "contrib"),
}
"""Names below ``tf.`` that a program has no use for without a graph, or that TensorFlow 2 has not at all."""
GRAPHS = {
    *("get_variable", "variable_scope", "ConfigProto", "reset_default_graph", "get_default_session", "layers", "app"),
    *("flags", "random_normal", "set_random_seed", "initialize_variables", "variables_initializer", "to_float", "log"),
    *("truncated_normal", "random_uniform", "assign", "local_variables_initializer", "get_default_graph"),
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
_TELLING = SESSIONS | GRAPHS | TAPES | EAGER


def judge(path: Path, sources: Sources | None = None) -> str:
    """``"1"`` for graphs and sessions, ``"2"`` for tapes, ``"eager"`` for TensorFlow 1's names on eager values.

    Parameters
    ----------
    path : Path
        The program. The modules beside it that it imports are looked at too.
    sources : Sources, optional
        Further files, from which it may import TensorFlow.
    """
    sources = sources or Sources()
    texts = sources.reached(path)
    shared = {**sources.shared, **{n: p for text in texts.values() for n, p in text.aliases.items()}}
    used: set[str] = set()
    for text in texts.values():
        used |= text.telling(shared)
    eager = {f".{name}" for name in EAGER}
    own = texts[path.resolve()].telling(shared) if path.resolve() in texts else set()
    has_graphs = bool((SESSIONS - {"contrib"}) & {name.removeprefix(".") for name in used})
    if eager & own or (".enable_eager_execution" in used and not has_graphs):
        return "eager"  # a library that is used may have both
    used = {name.removeprefix(".") for name in used}
    if SESSIONS & used:
        return "1"
    hints = len(TAPES & used) - len(GRAPHS & used)
    hinted = any(text.is_eager for text in texts.values())
    return "2" if hints > 0 or (hints == 0 and hinted) else "1"


class Sources:
    """Files as `judge` looks at them, each read once.

    Parameters
    ----------
    files : iterable of Path
        Those from which others may import TensorFlow.

    Attributes
    ----------
    shared : dict
        The names that these files import from TensorFlow, for others to import from them.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._texts: dict[Path, Text | None] = {}
        self._there: dict[Path, list[Path]] = {}
        self._reached: dict[Path, dict[Path, Text]] = {}
        texts = [self._text(file.resolve()) for file in files]
        self.shared = {name: path for text in texts if text is not None for name, path in text.aliases.items()}

    def reached(self, path: Path) -> dict[Path, Text]:
        """The program and those of its own modules that it imports; what does not parse is left to Python."""
        first = path.resolve()
        if first in self._reached:
            return self._reached[first]
        todo, found, seen = [first], {}, {first}
        while todo:
            file = todo.pop()
            text = self._text(file)
            if text is None:
                continue
            found[file] = text
            for level, name in text.imported:
                # by its whole name: beside the program, or, of a program in a package, beside that
                roots = [[file, *file.parents][level]] if level else [first.parent, self._outside(first)]
                for root in roots:
                    more = self._modules(root.joinpath(*name.split(".")))
                    todo += [f for f in more if f not in seen]
                    seen.update(more)
                    if more:
                        break
        self._reached[first] = found
        return found

    def _text(self, file: Path) -> Text | None:
        if file not in self._texts:
            try:
                self._texts[file] = Text(ast.parse(file.read_bytes()))
            except (SyntaxError, ValueError, OSError):
                self._texts[file] = None
        return self._texts[file]

    @staticmethod
    def _outside(file: Path) -> Path:
        """The folder that holds the outermost package that a file is in."""
        folder = file.parent
        while (folder / "__init__.py").is_file():
            folder = folder.parent
        return folder

    def _modules(self, base: Path) -> list[Path]:
        if base not in self._there:
            places = (base.with_suffix(".py"), base / "__init__.py")
            self._there[base] = [file for file in places if file.is_file()]
        return self._there[base]


class Text:
    """The parts of a file that tell the API it is written for.

    Attributes
    ----------
    imported : set
        The modules that it imports, and the names, which may be modules too; before each the number of its dots.
    aliases : dict
        The names that its imports give to TensorFlow and its parts.
    is_eager : bool
        Whether it calls a method of eager values or of Keras's models.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.imported: set[tuple[int, str]] = set()
        self.aliases: dict[str, str] = {}
        self._asked: set[tuple[str, tuple[str, ...]]] = set()
        self._modules: set[str] = set()
        self._taken: list[tuple[str, str]] = []
        self._told: dict[tuple[tuple[str, str | None], ...], set[str]] = {}
        inner: set[ast.AST] = set()
        self.is_eager = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Attribute):
                self.is_eager |= node.attr in _OF_TAPES
                inner.add(node.value)
                if node not in inner:  # the walk meets the longest name first
                    self._attribute(node)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imported.add((0, alias.name))
            root, _, rest = alias.name.partition(".")
            self._modules.add(alias.asname or root)
            if root == "tensorflow":
                self.aliases[alias.asname or root] = rest if alias.asname else ""
                self._asked.add(("", tuple(rest.split("."))))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self.imported |= {(node.level, f"{module}.{alias.name}".lstrip(".")) for alias in node.names}
        if module:
            self.imported.add((node.level, module))
        self._modules |= {alias.asname or alias.name for alias in node.names}
        self._taken += [(alias.name, alias.asname or alias.name) for alias in node.names]
        root, _, inner = module.partition(".")
        if root == "tensorflow":
            for alias in node.names:
                self.aliases[alias.asname or alias.name] = f"{inner}.{alias.name}".lstrip(".")

    def _attribute(self, node: ast.Attribute) -> None:
        parts, here = [node.attr], node.value
        while isinstance(here, ast.Attribute):
            parts.append(here.attr)
            here = here.value
        if isinstance(here, ast.Name):
            self._asked.add((here.id, (*reversed(parts),)))

    def telling(self, shared: Mapping[str, str]) -> set[str]:
        """The names used here that tell an API, below ``tf.`` or ``.``: only the latter are no ``tf.compat.v1``'s.

        Parameters
        ----------
        shared : mapping
            By name: the part of TensorFlow that it is where a file imports it from another.
        """
        everything = any(name == "*" for name, _ in self._taken)
        wanted = {name for name, _ in self._taken} | {parts[0] for root, parts in self._asked if root in self._modules}
        key = tuple(sorted((n, shared[n]) for n in (shared if everything else wanted) if n in shared))
        if key not in self._told:
            self._told[key] = {n for path in self._paths(shared) for n in _beginnings(path)}
        return self._told[key]

    def _paths(self, shared: Mapping[str, str]) -> Iterator[str]:
        """All names below ``tf.``, with aliases resolved: its own, and `shared` ones that it imports."""
        aliases: dict[str, str] = {}
        for name, here in self._taken:
            aliases |= shared if name == "*" else {here: shared[name]} if name in shared else {}
        aliases |= self.aliases
        yield from filter(None, self.aliases.values())
        for root, parts in self._asked:
            if not root:
                yield ".".join(parts)
            elif root in aliases:
                yield ".".join([aliases[root], *parts]).lstrip(".")
            elif root in self._modules and parts[0] in shared:  # common.tf.Session
                yield ".".join([shared[parts[0]], *parts[1:]]).strip(".")


def _beginnings(path: str) -> Iterator[str]:
    """The beginnings of a name that tell something: ``keras.optimizers`` of ``keras.optimizers.Adam``."""
    inner = path.removeprefix("compat.v1.")
    for k in range(1, inner.count(".") + 2):
        name = ".".join(inner.split(".")[:k])
        if name in _TELLING and not name.startswith("compat."):
            yield name
            if inner == path:
                yield f".{name}"
