"""Which of the files that are checked together an import means."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from dualgrad.migrate.hook import ROOTS


@dataclass(frozen=True)
class Import:
    """An import by a statement, or by a call of ``import_module``; `names` is empty where it is the module itself."""

    node: ast.AST
    module: str
    level: int = 0
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "." * self.level + self.module


def imports(tree: ast.AST) -> Iterator[Import]:
    """Every import in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node, node.module or "", node.level, tuple(alias.name for alias in node.names))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            key: Any = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            if isinstance(key, str) and key:
                module = key.lstrip(".")
                yield Import(node, module, len(key) - len(module))


class Modules:
    """The files that are checked together, as modules; a module is called by its file's path without ``.py``.

    Parameters
    ----------
    files : mapping
        From the tree of each file to its path, which is absolute; None for a text without a place.
    known : sequence of Path
        All that are checked, also what cannot be parsed.
    """

    def __init__(self, files: Mapping[ast.Module, File | None], known: Sequence[File] = ()) -> None:
        self.files = files
        self.at = {base_of(file): file for file in sorted(known, key=lambda f: f.name == "__init__.py")}
        self.folders = {folder for base in self.at for folder in base.parents}
        """Also those without ``__init__.py``: they are packages of names."""
        self._tops = {_top(file) for file in known}
        common = [folder for folder in self.folders if all(folder in file.parents for file in known)]
        self._common = max(common, key=lambda folder: len(folder.parts), default=None)

    def has(self, base: File) -> bool:
        """Whether this is one of the files, or a folder of them."""
        return base in self.at or base in self.folders

    def find(self, file: File | None, what: Import) -> File | None:
        """The module of the program's own that an import in `file` means, checked or not; None if it is not its own."""
        if file is None:
            return File(str(what)) if what.level else None
        parts = what.module.split(".") if what.module else []
        if what.level:
            return [file, *file.parents, *[file] * what.level][what.level].joinpath(*parts)
        for root in self._roots(file, parts[0]):
            base = root.joinpath(*parts)
            if any(self._is_there(b, root, file) for b in (base, *(base / n for n in what.names if n != "*"))):
                return base
        return None

    def _roots(self, file: File, first: str) -> Sequence[File]:
        """Where Python may look for a module that a file imports by its whole name, as far as the files tell."""
        is_packaged = (file.parent / "__init__.py").is_file()
        if first in ROOTS or first in sys.stdlib_module_names:
            # only a program's own folder comes before these
            return [] if is_packaged and first not in ROOTS else [file.parent]
        return [*file.parents, *sorted(self._tops)]

    def _is_there(self, base: File, root: File, file: File) -> bool:
        if base in self.at:
            return True
        # beside the file, its package or the others: what lies further up is not of this program
        lowest = _top(file)
        near = root == file.parent or (root in file.parents and lowest in (root, *root.parents))
        near = near or (self._common is not None and self._common in (root, *root.parents) and root in file.parents)
        if not near or "site-packages" in root.parts:
            return False
        return (base.parent / f"{base.name}.py").is_file() or (base / "__init__.py").is_file()


def base_of(file: File) -> File:
    """A file's path as a module: without ``.py``, a package's folder."""
    return file.parent if file.name == "__init__.py" else file.with_suffix("")


def _top(file: File) -> File:
    """The folder that holds a file's outermost package; its own folder if it is in none."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def together(modules: Modules) -> list[list[ast.Module]]:
    """The files in groups that import nothing of each other."""
    trees = {file: tree for tree, file in modules.files.items()}
    group = {tree: [tree] for tree in trees.values()}
    for tree, file in modules.files.items():
        for what in imports(tree):
            base = modules.find(file, what)
            if base is None:
                continue
            packages = [base, *base.parents][: what.module.count(".") + 1]
            for other in (*packages, *(base / name for name in what.names)):
                reached = trees.get(modules.at.get(other))
                if reached is not None and group[reached] is not group[tree]:
                    group[tree] += group[reached]
                    group.update(dict.fromkeys(group[reached], group[tree]))
    return list({id(members): members for members in group.values()}.values())
