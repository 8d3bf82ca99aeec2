"""Names for what the converted module computes: those that the program itself gave, as far as they are known.

A name comes, in this order, from the program's global names and what they held in the end; from the line that made
the node, where that line assigns to a name; from the name of the operation, with its scopes.
"""

from __future__ import annotations

import ast
import itertools
import keyword
import linecache
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from engine.core.trace import Symbol
from engine.core.variable import Variable
from optim.slots import Stateful

_RESERVED = frozenset({"tf", "np", "tape", "self"})
_DEEPEST = 5
"""Calls of the program's functions that a value is followed through."""


def identifier(text: str) -> str:
    """A Python name made of any text."""
    # Python takes the letters of names for their plainest forms: ｔｆ is tf
    plain = unicodedata.normalize("NFKC", text)
    words = "".join(c if f"_{c}".isidentifier() else " " for c in plain)
    words = re.sub(" +", "_", words) or "value"
    words = words if words.isidentifier() else f"_{words}"
    return f"{words}_" if keyword.iskeyword(words) or words in _RESERVED else words


def snake(text: str) -> str:
    """``MatMul_1`` as ``mat_mul_1``."""
    return identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower())


class Scope:
    """Names that are taken. A name at the top of the module is none that a function uses for something else."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.taken: set[str] = set()
        self._outer = outer
        self._inside: set[str] = set() if outer is None else outer._inside
        self.asked: set[str] = set() if outer is None else outer.asked
        """Names that were wanted as they are, number and all, here or elsewhere."""

    def __contains__(self, name: str) -> bool:
        if self._outer is None:
            return name in self.taken or name in self._inside
        return name in self.taken or self._outer.holds(name)

    def holds(self, name: str) -> bool:
        """Whether a name is taken here or outside."""
        return name in self.taken or (self._outer is not None and self._outer.holds(name))

    def free(self, wanted: str) -> str:
        """The name wanted, or one with a number."""
        self.asked.add(wanted)
        name, count = wanted, 1
        while name in self:
            count += 1
            name = f"{wanted}_{count}"
        self.take(name)
        return name

    def take(self, *names: str) -> None:
        """Note that names are taken."""
        self.taken.update(names)
        if self._outer is not None:
            self._inside.update(names)


class Names:
    """Names that the program gives its tensors, operations and variables.

    Parameters
    ----------
    namespace : mapping
        Global names of the program, and what they stood for in the end.
    made_on : mapping
        By identity of a variable, the lines of the program that led to it, the innermost first.
    inside : iterable
        The same of names of its functions.
    """

    def __init__(
        self, namespace: Mapping[str, Any], made_on: Mapping[int, Sequence[tuple[str, int]]],
        inside: Iterable[Mapping[str, Any]],
    ) -> None:  # fmt: skip
        self._made_on = made_on
        pairs = [(name, value) for names in inside for name, value in names.items()]
        self._inside = {id(value): identifier(name) for name, value in reversed(pairs) if isinstance(value, Symbol)}
        local = [(snake(type(v).__name__) if n == "self" else n, v) for n, v in pairs if _is_object(v)]
        owners = {id(v): v for v in [*namespace.values(), *(v for _, v in local)] if _is_object(v)}.values()
        self._attributes = Counter([*namespace, *(key for owner in owners for key in vars(owner))])
        self._given: dict[int, str] = {}
        self._alone: dict[int, str] = {}
        """Of attributes, their names without that of the object."""
        self._elements: set[int] = set()
        self._whole: set[int] = set()
        self._inner: set[int] = set()
        self._parts: set[int] = set()
        self.results: set[str] = set()
        """Names that functions of the program give to what a session gave."""
        self._lists: dict[tuple[int, ...], str] = {}
        self._held: dict[int, tuple[str, dict[Any, Any]]] = {}
        running = _loop_names(namespace.get("__file__") or "")
        for name, value in namespace.items():
            if not name.startswith("__") and name not in running:
                self._note(name, value, depth=0)
        for name, value in local:
            self._note(name, value, depth=1)

    def _note(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, (Symbol, Variable)) or hasattr(value, "control_inputs") or isinstance(value, Stateful):
            self._given.setdefault(id(value), identifier(name))
            if depth:
                if id(value) not in self._whole:
                    self._elements.add(id(value))
            else:
                self._whole.add(id(value))
                self._elements.discard(id(value))
                self._given[id(value)] = identifier(name)
        elif isinstance(value, (list, tuple)) and depth < 3:
            if value and all(isinstance(v, Variable) for v in value):
                self._lists.setdefault(tuple(map(id, value)), identifier(name))
            self._hold(name, dict(enumerate(value)))
            for i, item in enumerate(value):
                self._note(f"{name}_{i}", item, depth + 1)
        elif isinstance(value, dict) and depth < 3:
            self._hold(name, value)
            for key, item in value.items():
                if isinstance(key, (str, int)):
                    self._note(f"{name}_{key}", item, depth + 1)
        elif depth < 2 and _is_object(value):
            for key, item in vars(value).items():
                self._note(key if self._attributes[key] == 1 else f"{name}_{key}", item, depth + 1)
                self._alone.setdefault(id(item), identifier(key))

    def _hold(self, name: str, values: Mapping[Any, Any]) -> None:
        """Note a list or dictionary of variables, by each of them; one that is in two of them is not held by either."""
        plain = all(isinstance(v, Variable) and type(k) in (int, str) for k, v in values.items())
        if plain and len(values) > 1 and len(set(map(id, values.values()))) == len(values):
            for variable in values.values():
                self._held.setdefault(id(variable), (identifier(name), dict(values)))

    def holder(self, variable: Any) -> tuple[str, dict[Any, Any]] | None:
        """The list or dictionary of variables, by key, in which alone the program has a variable, and its name."""
        name, values = self._held.get(id(variable), ("", {}))
        alone = all(id(v) in self._elements and self._held[id(v)][0] == name for v in values.values())
        # a number in a list says less than a name in the graph
        says_less = all(type(k) is int and not _is_unnamed(v) for k, v in values.items())
        return (name, values) if values and alone and not says_less else None

    def given_name(self, x: Any) -> str | None:
        """The program's name for a tensor, an operation, a variable or an optimizer, if it has one."""
        return self._given.get(id(x))

    def own(self, x: Any) -> str | None:
        """The same, unless it is only an element of something."""
        return None if id(x) in self._elements else self.given_name(x)

    def list_of(self, variables: Iterable[Any]) -> str | None:
        """The program's name for a list of variables."""
        return self._lists.get(tuple(map(id, variables)))

    def of_line(self, node: Any, inner: bool = False) -> str | None:
        """The name that the line which made a node assigns to, unless only the line itself uses it.

        With `inner` also then, if gradients use it: it is a part of a formula.
        """
        where = getattr(node, "where", None)
        told = isinstance(where, tuple) and (id(node) in self._parts if inner else id(node) not in self._inner)
        return _assigned_on(*where) if told else None  # type: ignore[misc]

    def statement_of(self, node: Any) -> tuple[str, int] | None:
        """The file and the first line of the statement that made a node."""
        where = getattr(node, "where", None)
        return self.statement_on(*where) if isinstance(where, tuple) else None

    @staticmethod
    def statement_on(file: str, line: int) -> tuple[str, int]:
        """The file and the first line of the statement that a line belongs to."""
        return file, _starts(file).get(line) or line

    def sites_of(self, variable: Any) -> list[tuple[str, int]]:
        """The statements of the program that led to a variable, the innermost first."""
        return [self.statement_on(*site) for site in self._made_on.get(id(variable), ())]

    def function_of(self, node: Any) -> str | None:
        """The name of the program's function whose line made a node."""
        where = getattr(node, "where", None)
        return _function_around(*where) if isinstance(where, tuple) else None

    def line_of(self, node: Any) -> tuple[int, bool]:
        """The line of the program that made a node, and whether that ends its function: a return may add nothing."""
        where = getattr(node, "where", None)
        if not isinstance(where, tuple):
            return 0, False
        body = getattr(_around(*where), "body", [])
        while body and isinstance(body[-1], (ast.With, ast.If)):
            body = body[-1].body
        return (where[1], where[1] >= body[-2:][0].lineno) if body else (0, False)

    def note_uses(self, nodes: Iterable[Any], handed: Iterable[tuple[Any, Any]], derived: Iterable[Any]) -> None:
        """Note which nodes are used by nothing but nodes of their own statement, and of what this calls.

        Of the pairs that are `handed`, the one is a use of the other; `derived` nodes compute gradients.
        """
        self._parts |= {id(x.node) for node in derived for x in node.inputs}
        users: dict[int, list[Any]] = {}
        for node in nodes:
            for x in node.inputs:
                users.setdefault(id(x.node), []).append(node)

        def comes_back(node: Any, home: Any, depth: int) -> bool:
            found = {id(u): u for u in users.get(id(node), ())}.values()
            apart = [u for u in found if self.statement_of(u) != home]
            away = all(self.function_of(u) not in (self.function_of(node), None) for u in apart if depth == _DEEPEST)
            return bool(found) and (not apart or (away and depth > 0)) and (
                all(comes_back(u, home, depth - 1) for u in apart)
            )  # fmt: skip

        self._inner |= {id(node) for node, user in handed if self.statement_of(node) == self.statement_of(user)}
        used = {id(x.node): x.node for node in nodes for x in node.inputs}
        self._inner |= {key for key, node in used.items() if comes_back(node, self.statement_of(node), _DEEPEST)}

    def variable(self, variable: Any) -> str:
        """A name for a variable, also where a function of the program gives its own to what that holds."""
        name = self._variable(variable)
        return f"{name}_var" if name in self.results else name

    def _variable(self, variable: Any) -> str:
        own = variable.name.rpartition(":")[0]
        unnamed = _is_unnamed(variable)
        # a place in a list says less than the name that the program gave the variable in the graph
        program_name = self.given_name(variable) if unnamed or self.holder(variable) else self.own(variable)
        if program_name is not None:
            return program_name
        if unnamed:
            return self._of_callers(variable) or self.of_line(variable.op) or snake(own)
        return identifier("_".join(_without_loops(own.split("/"))))

    def _of_callers(self, variable: Any) -> str | None:
        """The name that a variable is assigned to where functions that only make and return it are called."""
        sites = itertools.dropwhile(lambda site: _is_returned(*site), self._made_on.get(id(variable), ()))
        return next((_assigned_on(*site) for site in sites), None)

    def tensor(self, x: Any, whole: bool = False, otherwise: str = "") -> str:
        """A name for a tensor, where it must have one.

        It is the `whole` one, with the name of the object that it is kept in, or only the latter part; or another one,
        where the program gives none.
        """
        program_name = self.given_name(x)
        if program_name and not whole and program_name.endswith(f"_{self._alone.get(id(x))}"):
            return self._alone[id(x)]
        own = x.node.name.rpartition("/")[2] if hasattr(x.node, "name") else x.node.op.name
        found = program_name or self.of_line(x.node) or self._inside.get(id(x)) or _part_of_cell(x) or otherwise
        return found or self.of_line(x.node, inner=True) or snake(own)


def _part_of_cell(x: Any) -> str:
    """The name of a tensor of a recurrent cell, by the op that makes it; empty where it is none."""
    _, cell, own = ["", "", *getattr(x.node, "name", "").split("/")][-3:]
    names = _CELLS.get(cell.removeprefix("basic_"), {}).get(own.rstrip("_0123456789"), ())
    return names[x.index] if x.index < len(names) else ""


_CELLS = {
    "lstm_cell": {"split": ("i", "j", "f", "o"), "add": ("c",), "mul": ("h",)},
    "gru_cell": {"split": ("reset", "update"), "Tanh": ("candidate",), "add": ("h",)},
}


def _without_loops(parts: Sequence[str]) -> list[str]:
    """The parts of a variable's name; of a recurrent cell's, without those of the functions that ran the cell."""
    if not any(p.endswith("_cell") for p in parts[:-1]):
        return list(parts)
    kept = [p for p in parts[:-1] if p not in ("rnn", "multi_rnn_cell", "bidirectional_rnn")]
    return [*[p.removeprefix("basic_").removesuffix("_cell") for p in kept], parts[-1]]


def _is_object(value: Any) -> bool:
    """Whether it is an object of a class of the program that has attributes."""
    return type(value).__module__ == "__main__" and hasattr(value, "__dict__")


def _is_unnamed(variable: Any) -> bool:
    """Whether the program gave a variable no name in the graph."""
    return re.fullmatch(r"(.*/)?Variable(_\d+)?", variable.name.rpartition(":")[0]) is not None


def _loop_names(file: str) -> set[str]:
    """Names that loops of a program give to one thing after the other."""
    targets = [node.target for node in ast.walk(_parsed(file)) if isinstance(node, (ast.For, ast.comprehension))]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


@cache
def _function_around(file: str, line: int) -> str | None:
    """The name of the innermost function around a line; that of the class for a constructor."""
    found = _around(file, line)
    if found is None:
        return None
    if found.name == "__init__":
        found = _around(file, line, ast.ClassDef) or found
    return snake(found.name.strip("_"))


def _around(file: str, line: int, kind: Any = ast.FunctionDef) -> Any:
    """The innermost function, or class, around a line."""
    nodes: Any = ast.walk(_parsed(file))
    found = [n for n in nodes if isinstance(n, kind) and n.lineno <= line <= (n.end_lineno or line)]
    return max(found, key=lambda n: n.lineno, default=None)


@cache
def _parsed(file: str) -> ast.Module:
    """A file's tree; an empty one if it is not Python."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


@cache
def _assigned_on(file: str, line: int) -> str | None:
    """The name that a line of a file assigns a value to."""
    return _assignments(file).get(line)


@cache
def _is_returned(file: str, line: int) -> bool:
    """Whether a line of a function makes what this returns."""
    returned = {
        n.value.id if isinstance(n.value, ast.Name) else i
        for n in ast.walk(_around(file, line) or ast.Module([], []))
        if isinstance(n, ast.Return) and n.value is not None
        for i in range(n.lineno, (n.end_lineno or n.lineno) + 1)
    }
    return line in returned or _assigned_on(file, line) in returned


@cache
def _starts(file: str) -> dict[int, int]:
    """Of the lines of statements that hold no others the first ones."""
    plain = [n for n in ast.walk(_parsed(file)) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return {line: n.lineno for n in plain for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}


def _of_elements(name: str, value: ast.expr | None) -> dict[int, str]:
    """By line, names for the elements of a dictionary that is written out: its own, and their keys."""
    if not isinstance(value, ast.Dict):
        return {}
    pairs = [(str(k.value), v) for k, v in zip(value.keys, value.values, strict=True) if isinstance(k, ast.Constant)]
    return {
        line: identifier(f"{name}_{key}")
        for key, v in pairs for line in range(v.lineno, (v.end_lineno or v.lineno) + 1)
    }  # fmt: skip


@cache
def _assignments(file: str) -> dict[int, str]:
    names = {}
    node: Any
    for node in ast.walk(_parsed(file)):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        target = getattr(node, "target", None) if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else target
        if target is None:
            continue
        name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            name = str(target.slice.value)
        if name is not None:
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            names.update({line: identifier(name) for line in lines})
            names.update(_of_elements(name, node.value))
    return names
