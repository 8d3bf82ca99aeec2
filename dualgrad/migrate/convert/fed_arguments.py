"""Where what is fed becomes tensors: in the functions that are called, or in those that they hand it to.

A function that only hands an argument on need not convert it, if those it is handed to do. They do where that makes
fewer lines.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.spelling import path

Slot: TypeAlias = tuple[str, int]
"""A function's name and the number of one of its parameters."""


class Arguments:
    """Decides for functions which of their arguments they convert.

    Parameters
    ----------
    functions : sequence of Function
        Of which `converts` is changed.
    length : callable
        How many lines it takes to convert some parameters, given by name with their dtypes.
    """

    def __init__(self, functions: Sequence[Any], length: Callable[[Mapping[str, Any]], int]) -> None:
        self._functions = {f.name: f for f in functions if f.name is not None and f.statements}
        self._length = length
        self._uses: dict[Slot, list[Slot | None]] = {}
        self._sites: dict[Slot, list[Slot | None]] = {}
        for function in self._functions.values():
            self._look(function)
        self._dtypes = self._known_dtypes()

    def place(self) -> None:
        """Decide it."""
        chosen: set[Slot] = set()
        least = self._cost(chosen)
        for function in self._functions.values():
            if not function.converts:
                more = chosen | {s for s in self._slots(function) if s in self._dtypes and self._is_handed(s)}
                cost = self._cost(more)
                if cost < least:
                    chosen, least = more, cost
        converted = self._converted(chosen)
        for name, function in self._functions.items():
            function.converts = converted[name]

    def _slots(self, function: Any) -> list[Slot]:
        return [(function.name, i) for i in range(len(function.parameters))]

    def _look(self, function: Any) -> None:
        """Note how a function uses its parameters, and what it hands to others."""
        numbers = {name: i for i, (name, _) in enumerate(function.parameters)}
        self._uses |= {slot: [] for slot in self._slots(function)}
        handed: set[int] = set()
        for node, is_once in _walked(function.statements, True):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
                for i, argument in enumerate(node.args):
                    number = numbers.get(argument.id) if isinstance(argument, ast.Name) and is_once else None
                    to = (node.func.id, i)
                    self._sites.setdefault(to, []).append(None if number is None else (function.name, number))
                    if number is not None:
                        handed.add(id(argument))
                        self._uses[function.name, number].append(to)
        for node, _ in _walked(function.statements, True):
            if isinstance(node, ast.Name) and node.id in numbers and id(node) not in handed:
                self._uses[function.name, numbers[node.id]].append(None)

    def _known_dtypes(self) -> dict[Slot, Any]:
        """The dtypes of what parameters are given, where nothing else is handed to them."""
        known = {
            (f.name, i): f.converts[name]
            for f in self._functions.values()
            for i, (name, _) in enumerate(f.parameters)
            if name in f.converts
        }
        while True:
            more = {}
            for slot, sites in self._sites.items():
                dtypes = [known.get(s) if s is not None else None for s in sites]
                if slot not in known and None not in dtypes and len(set(dtypes)) == 1:
                    more[slot] = dtypes[0]
            if not more:
                return known
            known |= more

    def _is_handed(self, slot: Slot) -> bool:
        """Whether nothing but parameters is handed to a parameter."""
        return None not in self._sites.get(slot, [None])

    def _is_public(self, slot: Slot) -> bool:
        return bool(self._functions[slot[0]].converts)

    def _can_be_raw(self, slot: Slot, chosen: set[Slot], caller: bool = False) -> bool:
        """Whether a parameter may be given what is no tensor; `caller` if it is about who hands it on."""
        if caller and (slot in chosen or (self._is_public(slot) and slot in self._dtypes)):
            return True
        if slot in chosen:
            return False
        return all(
            to is not None and to in self._uses and self._can_be_raw(to, chosen, True) for to in self._uses[slot]
        )

    def _converted(self, chosen: set[Slot]) -> dict[str, dict[str, Any]]:
        """The conversions of each function, by name of the parameter."""
        converted: dict[str, dict[str, Any]] = {}
        for function in self._functions.values():
            own = converted[function.name] = {}
            for slot, (name, _) in zip(self._slots(function), function.parameters, strict=True):
                needed = slot in chosen or (name in function.converts and not self._can_be_raw(slot, chosen))
                if needed:
                    own[name] = self._dtypes[slot]
        return converted

    def _cost(self, chosen: set[Slot]) -> int:
        return sum(self._length(converts) for converts in self._converted(chosen).values() if converts)


def _walked(node: Any, is_once: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes below, and whether each is evaluated in the function itself, and not more than once."""
    if isinstance(node, (list, tuple)):
        for inner in node:
            yield from _walked(inner, is_once)
    elif hasattr(node, "code"):
        yield from _walked(node.code, is_once)
    elif isinstance(node, ast.AST):
        yield node, is_once
        inside = is_once and not isinstance(node, (ast.For, ast.FunctionDef, ast.ListComp, ast.DictComp))
        inside = inside and not (isinstance(node, ast.Lambda) and node.args.args)
        for _, value in ast.iter_fields(node):
            yield from _walked(value, inside)


def convert_in_place(function: Any, length: Callable[[Sequence[Any]], int]) -> None:
    """Let a function convert its only argument where it uses it, if it does so once and no line gets too long."""
    if len(function.converts) != 1:
        return
    ((name, dtype),) = function.converts.items()
    uses = [n for n in _walked(function.statements, True) if isinstance(n[0], ast.Name) and n[0].id == name]
    if len(uses) != 1 or not uses[0][1]:
        return
    user = _innermost(function.statements, uses[0][0])
    if isinstance(getattr(user.code, "body", None), list):
        return
    before, code = length(function.statements), user.code
    user.code = _Converted(name, dtype).visit(copy.deepcopy(code))
    if length(function.statements) > before:
        user.code = code
    else:
        function.converts = {}


def _innermost(statements: Sequence[Any], node: ast.AST) -> Any:
    """The statement that a node is in, and in none inside of that."""
    around = next(s for s in statements if any(n is node for n, _ in _walked(s, True)))
    inside = [s for s in getattr(around.code, "body", ()) if hasattr(s, "code")]
    return _innermost(inside, node) if any(n is node for n, _ in _walked(inside, True)) else around


class _Converted(ast.NodeTransformer):
    """Converts an argument where it is used."""

    def __init__(self, name: str, dtype: Any) -> None:
        self._name, self._dtype = name, dtype

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _converted(node.id, self._dtype) if node.id == self._name else node


def handed_on(functions: Sequence[Any]) -> None:
    """Let functions that only call another one with all their arguments be that one."""
    by_name = {f.name: f for f in functions if f.name is not None and f.statements}
    instead: dict[str, str] = {}
    for function in by_name.values():
        code = function.statements[0].code
        call = code.value if isinstance(code, ast.Return) and len(function.statements) == 1 else None
        if function.converts or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        own = [name for name, _ in function.parameters]
        other = by_name.get(call.func.id)
        if other is not None and [ast.unparse(a) for a in call.args] == own and not call.keywords:
            instead[function.name] = other.name
    for function in functions:
        name = function.name
        while function.name in instead:
            function.name = instead[function.name]
        if function.name != name:
            names = [n for n, _ in by_name[function.name].parameters]
            function.parameters = [(n, x) for n, (_, x) in zip(names, function.parameters, strict=True)]
            function.statements = []
    for function in functions:
        for node, _ in _walked(function.statements, True):
            if isinstance(node, ast.Name):
                while node.id in instead:
                    node.id = instead[node.id]


def converted(converts: Mapping[str, Any]) -> list[Statement]:
    """Statements that make tensors of arguments: one line, or one for each dtype if that is too long."""
    by_dtype: dict[Any, list[str]] = {}
    for name, dtype in converts.items():
        by_dtype.setdefault(dtype, []).append(name)
    if len(by_dtype) > 1 and len(converts) < 4:
        names = ast.Tuple([ast.Name(name, ast.Store()) for name in converts], ast.Store())
        values = ast.Tuple([_converted(name, dtype) for name, dtype in converts.items()], ast.Load())
        together = ast.Assign([names], values)
        if len(ast.unparse(ast.fix_missing_locations(together))) <= printing.WIDTH - 4:
            return [Statement(together)]
    return [Statement(_all_converted(names, dtype)) for dtype, names in by_dtype.items()]


def _converted(name: str, dtype: Any) -> ast.expr:
    return ast.Call(path("tf.convert_to_tensor"), [ast.Name(name), literal(dtype)], [])


def _all_converted(names: Sequence[str], dtype: Any) -> ast.stmt:
    if len(names) == 1:
        return ast.Assign([ast.Name(names[0], ast.Store())], _converted(names[0], dtype))
    source = ast.Tuple([ast.Name(n) for n in names], ast.Load())
    running = ast.comprehension(ast.Name("x", ast.Store()), source, [], 0)
    value = ast.ListComp(_converted("x", dtype), [running])
    return ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], value)
