"""A program's own modules: which become a part of its text, and which come along with the converted program.

A graph that is built in one module and run in another is converted as a whole only if both are one text: modules that
use TensorFlow are put before the main one, in the order of imports. Others stay modules. Relative imports are followed,
so a package is a program, too. Names that two modules give are refused: nothing is renamed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dualgrad.migrate.check.scopes import FUNCTIONS
from dualgrad.migrate.convert.edits import Unsafe

ENTRIES = ("__main__.py", "main.py")


@dataclass
class JoinedText:
    """A program that was put together.

    Attributes
    ----------
    lines : list of (str, str, int)
        Each line, and the file and line where it stood.
    """

    lines: list[tuple[str, str, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The program."""
        return "\n".join(text for text, _, _ in self.lines) + "\n"

    def with_original_lines(self, text: str, entry: str) -> str:
        """A converted program whose comments name the lines of the original modules."""

        def place(match: re.Match[str]) -> str:
            _, file, line = self.lines[min(int(match[1]), len(self.lines)) - 1]
            return f"  # line {line}" if file == entry else f"  # {file}:{line}"

        return re.sub(r"  # line (\d+)(?=$|, )", place, text, flags=re.MULTILINE)


def entry_of(folder: Path) -> Path:
    """The main module of a folder.

    Raises
    ------
    ValueError
        If it has none, or several could be it.
    """
    for name in ENTRIES:
        if (folder / name).is_file():
            return folder / name
    found = [f for f in sorted(folder.glob("*.py")) if _main_blocks(_parsed(f))]
    if len(found) != 1:
        several = f"several ({', '.join(f.name for f in found)})" if found else "none"
        raise ValueError(f'{folder} has no main.py, and of modules with `if __name__ == "__main__":` {several}')
    return found[0]


def join_modules(entry: Path) -> JoinedText:
    """The program that a main module and its own modules are.

    Raises
    ------
    Unsafe
        If two modules give one name, or a module is used in a way that one text has not.
    """
    return _Modules(entry).whole


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes(), str(file))


def _main_blocks(tree: ast.Module) -> list[ast.If]:
    return [
        s for s in tree.body if isinstance(s, ast.If) and ast.unparse(s.test) in ("__name__ == '__main__'",)
    ]  # fmt: skip


def _file(home: Path, dotted: str) -> Path | None:
    """The own module of a name; None for what is installed."""
    path = home.joinpath(*dotted.split("."))
    found = [f for f in (path.with_suffix(".py"), path / "__init__.py") if dotted and f.is_file()]
    return found[0] if found else None


def imported(node: ast.AST, file: Path, home: Path) -> Iterator[tuple[ast.alias, Path, str]]:
    """All that an import takes of own modules: the alias, the file, and the name in it (empty: the module).

    Parameters
    ----------
    node : syntax
    file : Path
        The module in which it stands.
    home : Path
        The folder of the program.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            if own := _file(home, alias.name):
                yield alias, own, ""
    elif isinstance(node, ast.ImportFrom):
        package = [file, *file.parents][node.level]
        is_inside = node.level and home in [package, *package.parents]
        inside = package.relative_to(home).parts if is_inside else ()
        base = ".".join([*inside, *filter(None, [node.module])])
        for alias in node.names:
            whole = _file(home, f"{base}.{alias.name}".lstrip("."))
            if own := whole or _file(home, base):
                yield alias, own, "" if whole else alias.name


class _Modules:
    """Follows imports from the main module."""

    def __init__(self, entry: Path) -> None:
        self.home = entry.parent.resolve()
        self.whole = JoinedText()
        self._trees: dict[Path, ast.Module] = {}
        self._uses: dict[Path, bool] = {}
        self._given: dict[str, tuple[str, Path]] = {}
        self._done: set[Path] = set()
        self._add(entry.resolve(), is_main=True)

    # ---- which modules -----------------------------------------------------------------------------------------------

    def _tree(self, file: Path) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = _parsed(file)
        return self._trees[file]

    def _uses_tensorflow(self, file: Path) -> bool:
        """Whether a module needs to be part of the text: it, or one that it imports, uses TensorFlow."""
        if file not in self._uses:
            self._uses[file] = False
            nodes = list(ast.walk(self._tree(file)))
            self._uses[file] = any(map(is_tensorflow, nodes)) or any(
                self._uses_tensorflow(own) for n in nodes for _, own, _ in imported(n, file, self.home)
            )
        return self._uses[file]

    # ---- the text ----------------------------------------------------------------------------------------------------

    def _add(self, file: Path, is_main: bool = False) -> None:
        if file in self._done:
            return
        self._done.add(file)
        tree = self._tree(file)
        for node in ast.walk(tree):
            for _, own, _ in imported(node, file, self.home):
                if self._uses_tensorflow(own):
                    self._add(own)
        name = file.relative_to(self.home).as_posix()
        for given in _bound(tree.body):
            self._give(given, str(file), file)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._give_imported(node, file)
        gone = [] if is_main else [*_main_blocks(tree), *tree.body[: ast.get_docstring(tree) is not None]]
        lines = list(enumerate(file.read_text(encoding="utf-8").split("\n"), 1))
        edits = {line: text for node in ast.walk(tree) for line, text in self._edits(node, file, lines)}
        aliases = self._modules(tree, file)
        dropped = {n for s in gone for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
        for number, line in lines:
            if number not in dropped:
                text = edits.get(number, line)
                self.whole.lines.append(
                    (_shortened(text, number, tree, aliases) if number not in edits else text, name, number)
                )

    def _give(self, name: str, what: str, file: Path) -> None:
        """Note what a name stands for; it must be one thing in all modules."""
        other, of = self._given.setdefault(name, (what, file))
        if other != what:
            raise Unsafe(f"{name} is a name of {of.name} and another one of {file.name}: rename one of them")

    def _give_imported(self, node: ast.Import | ast.ImportFrom, file: Path) -> None:
        """Note the names that an import gives, as far as it stays, or calls something otherwise."""
        taken = {id(a): name for a, own, name in imported(node, file, self.home) if self._uses_tensorflow(own)}
        for alias in node.names:
            if id(alias) not in taken:
                base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                whole = alias.name if alias.asname or base else alias.name.partition(".")[0]
                self._give(alias.asname or whole, f"import {base}{whole}", file)
            elif taken[id(alias)] and alias.asname and alias.asname != taken[id(alias)]:
                self._give(alias.asname, f"import {taken[id(alias)]}", file)

    def _edits(self, node: ast.AST, file: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Lines of imports, without what is part of the text."""
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        taken = [(a, name) for a, own, name in imported(node, file, self.home) if self._uses_tensorflow(own)]
        if not taken and not future:
            return
        pad = " " * node.col_offset
        kept = [a for a in node.names if not future and all(a is not t for t, _ in taken)]
        said = [f"{a.asname} = {name}" for a, name in taken if name and a.asname and a.asname != name]
        if any(a.name == "*" for a, _ in taken):
            said = []
        if kept:
            other = (
                ast.ImportFrom(node.module, kept, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(kept)
            )
            said.insert(0, ast.unparse(other))
        alone = not said and any(number == node.lineno and line[: node.col_offset].strip() for number, line in lines)
        if alone or lines[(node.end_lineno or node.lineno) - 1][1][node.end_col_offset :].strip(" ;").startswith(
            "import"
        ):
            raise Unsafe(f"{file.name}, line {node.lineno}: an import shares its line with others")
        yield node.lineno, pad + ("; ".join(said) or "pass" if pad else "; ".join(said))
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1):
            yield number, ""

    def _modules(self, tree: ast.Module, file: Path) -> set[str]:
        """The names under which modules of the text are used."""
        names: set[str] = set()
        for node in ast.walk(tree):
            for alias, own, name in imported(node, file, self.home):
                if not name and self._uses_tensorflow(own):
                    if "." in alias.name and not alias.asname:
                        raise Unsafe(f"{file.name}: import {alias.name} as one name")
                    names.add(alias.asname or alias.name)
        for node in ast.walk(tree):
            owner = getattr(node, "value", None) if isinstance(node, ast.Attribute) else None
            names_below = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.Name) and n.id in names]
            if names_below and (
                owner is None or not isinstance(owner, ast.Name) or not isinstance(owner.ctx, ast.Load)
            ):
                raise Unsafe(f"{file.name}, line {names_below[0].lineno}: {names_below[0].id} is used as a value")
        return names


def _shortened(line: str, number: int, tree: ast.Module, aliases: set[str]) -> str:
    """A line in which what lies in modules of the text is there under its own name."""
    if not aliases:
        return line
    data = line.encode()
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute)
        and isinstance(n.value, ast.Name)
        and n.value.id in aliases
        and n.value.lineno == number
    ]
    for n in sorted(found, key=lambda n: -n.col_offset):
        start, end = n.value.col_offset, (n.end_col_offset or 0) - len(n.attr.encode())
        if n.end_lineno == number:
            data = data[:start] + data[end:]
    return data.decode()


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module gives, but for those that it imports."""
    for s in body:
        if isinstance(s, (*FUNCTIONS, ast.ClassDef)):
            yield s.name
        elif not isinstance(s, (ast.Import, ast.ImportFrom)):
            yield from (n.id for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


# ---- modules that come along -----------------------------------------------------------------------------------------


def companions(text: str, folder: Path) -> dict[str, bytes]:
    """By path below the folder of the converted program, the modules of the program that it imports.

    What they have of TensorFlow is left out: functions of the graph are in the converted module. The trial says whether
    something is missing then.

    Parameters
    ----------
    text : str
        The converted program.
    folder : Path
        Of the original.
    """
    contents: dict[str, bytes] = {}
    todo = [(ast.parse(text), folder / "main.py")]
    while todo:
        tree, file = todo.pop()
        found = [own for node in ast.walk(tree) for _, own, _ in imported(node, file, folder)]
        packages = [p / "__init__.py" for own in found for p in own.parents if folder in p.parents]
        for own in [*found, *(p for p in packages if p.is_file())]:
            if (name := own.relative_to(folder).as_posix()) not in contents:
                content = own.read_bytes()
                contents[name] = content = _without_graphs(content, ast.parse(content))
                todo.append((ast.parse(content), own))
    return contents


def is_tensorflow(node: ast.AST) -> bool:
    """Whether an import is of TensorFlow alone."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == "tensorflow"
    return isinstance(node, ast.Import) and all(a.name.partition(".")[0] == "tensorflow" for a in node.names)


def _without_graphs(content: bytes, tree: ast.Module) -> bytes:
    """A module without the statements that need TensorFlow, and those that need what these define."""
    gone: set[str] = set()
    left_out: list[ast.stmt] = []
    while True:
        more = [s for s in tree.body if s not in left_out and (is_tensorflow(s) or _names(s, ast.Load) & gone)]
        if not more:
            break
        left_out += more
        gone |= {name for s in more for name in _bound_by(s)}
    if not left_out:
        return content
    lines = content.split(b"\n")
    for statement in left_out:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        for number in range(first, (statement.end_lineno or first) + 1):
            shared = [s for s in tree.body if s not in left_out and s.lineno <= number <= (s.end_lineno or 0)]
            if shared:
                return content  # several statements in a line: it stays as it is
            lines[number - 1] = b""
    return b"\n".join(lines)


def _names(statement: ast.stmt, context: type) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {a.asname or a.name.partition(".")[0] for a in statement.names}
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return {getattr(statement, "name", "")}
    return _names(statement, ast.Store)
