"""Variables that are made alike are made in one statement, from the arrays beside the module, where that is shorter.

So are constants.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgrad.migrate.convert.alignment import Aligned, replaced
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.spelling import path

LEAST = 3
"""Variables that are worth a statement together; and how many elements of a list in a row are a slice of it."""
MOST = 12
"""Variables that one statement makes if they are in no list."""
_RUNNING = ("n", "m", "k")
SAVED = 2
"""Lines that must be saved where nothing but their place says that they belong together."""


@dataclass(frozen=True)
class Plain:
    """How a variable starts that is given an array, its name in the graph, and whether it is trained and given a name.

    Of a constant, `trainable` is None, and `name` that of its array.
    """

    array: np.ndarray
    name: str
    trainable: bool | None
    is_named: bool = False


class Gathering:
    """Makes the statements at the top of a module shorter.

    Parameters
    ----------
    plain : mapping
        Of calls that make variables, by identity, how these start.
    arrays : dict
        What lies beside the module, which is changed.
    length : callable
        How many lines a statement has.
    """

    def __init__(
        self, plain: Mapping[int, Plain], arrays: MutableMapping[str, np.ndarray], length: Callable[[Any], int]
    ) -> None:
        self._plain, self._arrays, self._length = plain, arrays, length

    def gathered(self, top: Sequence[Any]) -> list[Any]:
        """The statements, with groups of them as one, where the first of each group stood."""
        statements = list(top)
        for groups in (self._listed, self._in_a_row):
            for group in list(groups(statements)):
                self._replace(statements, group)
        for statement in statements:
            value = getattr(statement.code, "value", None)
            if isinstance(value, ast.List):
                statement.code.value = _sliced(value)
        return statements

    def _single(self, statement: Any) -> Plain | None:
        """The variable that a statement makes, if it makes one."""
        code = statement.code
        made = isinstance(code, ast.Assign) and isinstance(code.targets[0], ast.Name) and len(code.targets) == 1
        return self._plain.get(id(code.value)) if made else None

    def _listed(self, top: Sequence[Any]) -> Iterator[list[Any]]:
        """Lists of variables, each after the statements that make them, if there are such."""
        single = {ast.unparse(s.code.targets[0]): s for s in top if self._single(s) is not None}
        for statement in top:
            value = getattr(statement.code, "value", None)
            if isinstance(value, (ast.List, ast.Dict)):
                elements: list[Any] = value.elts if isinstance(value, ast.List) else value.values
                if all(id(e) in self._plain for e in elements):
                    yield [statement]
                    continue
                names = [e.id for e in elements if isinstance(e, ast.Name) and e.id in single]
                if len(set(names)) == len(elements):  # one that is in it twice is named on its own
                    yield [*[single.pop(e.id) for e in elements], statement]

    def _in_a_row(self, top: Sequence[Any]) -> list[list[Any]]:
        """Statements that follow each other and make variables alike."""
        groups: list[list[Any]] = []
        last: Any = None
        for statement in top:
            own = self._single(statement)
            kind = None if own is None else (own.trainable, own.is_named)
            if kind is not None and kind == last and len(groups[-1]) < MOST:
                groups[-1].append(statement)
            elif kind is not None:
                groups.append([statement])
            last = kind
        return [group for group in groups if len(group) >= LEAST]

    def _replace(self, top: list[Any], group: list[Any]) -> None:
        """Put one statement in the place of a group, if that is shorter."""
        places = [i for i, s in enumerate(top) if any(s is other for other in group)]
        if len(places) < len(group):
            return
        *singles, last = group
        of_list = self._single(last) is None
        value = last.code.value
        calls = [s.code.value for s in (singles if of_list else group)]
        calls = calls or list(value.values if isinstance(value, ast.Dict) else value.elts)
        own = [self._plain[id(c)] for c in calls]
        name = ast.unparse(last.code.targets[0]) if of_list else ""
        keys = [ast.literal_eval(k) for k in value.keys if k is not None] if isinstance(value, ast.Dict) else []
        stored = {k for c in calls for n in ast.walk(c) if (k := _key(n)) is not None}
        made = _together(name, keys, own, {*self._arrays} - stored)
        if made is None:
            return
        targets: list[ast.expr] = [ast.Tuple([s.code.targets[0] for s in (singles if of_list else group)], ast.Store())]
        targets = [*([] if of_list and not singles else targets), *([last.code.targets[0]] if of_list else [])]
        new = type(last)(ast.Assign(targets, made[0]), group[0].item)
        if sum(map(self._length, group)) - self._length(new) < (1 if of_list else SAVED):
            return
        for key in stored:
            del self._arrays[key]
        self._arrays.update(made[1])
        top[places[0]] = new
        for place in reversed(places[1:]):
            del top[place]


def _together(
    name: str, keys: Sequence[Any], own: Sequence[Plain], taken: set[str]
) -> tuple[ast.expr, dict[str, np.ndarray]] | None:
    """The expression for all of some variables, and the arrays it needs; None if they are not alike.

    Parameters
    ----------
    name : str
        Of their list or dictionary, if they have one.
    keys : sequence
        Those of the dictionary.
    """
    if len({p.trainable for p in own}) > 1:
        return None
    kind = "tf.constant" if own[0].trainable is None else "tf.Variable"
    keywords = [] if own[0].trainable is not False else [ast.keyword("trainable", ast.Constant(False))]
    names = [p.name for p in own]
    element, stored = "key" if keys else "i", names
    key: ast.expr = ast.JoinedStr([ast.Constant(f"{name}_"), ast.FormattedValue(ast.Name(element), -1)])
    running: ast.expr = ast.Tuple([ast.Constant(k) for k in keys or names], ast.Load())
    if name and not any(p.is_named for p in own):
        stored = [f"{name}_{k}" for k in keys or range(len(own))]
        if not keys:
            running = ast.Call(ast.Name("range"), [ast.Constant(len(own))], [])
    elif keys and list(keys) != names:
        return None
    else:
        element, key = "n", ast.Name("n")
        keywords += [ast.keyword("name", ast.Name("n"))] if own[0].trainable is not None else []
    if len(set(stored)) < len(stored) or not taken.isdisjoint(stored):
        return None
    array = ast.Subscript(ast.Name("ARRAYS"), key, ast.Load())
    call = ast.Call(path(kind), [array], keywords)
    runs = [ast.comprehension(ast.Name(element, ast.Store()), running, [], 0)]
    value = ast.DictComp(ast.Name(element), call, runs) if keys else ast.ListComp(call, runs)
    return value, dict(zip(stored, [p.array for p in own], strict=True))


def in_a_loop(values: Sequence[ast.expr]) -> ast.ListComp | None:
    """A loop that makes what several calls make which differ in plain values; None if they differ in anything else.

    Parameters
    ----------
    values : sequence of expression
        The calls.
    """
    statements, aligned = [Statement(ast.Expr(value)) for value in values], Aligned()
    if len(values) < LEAST or len({aligned.shape(s) for s in statements}) > 1:
        return None
    columns = list(zip(*[[part.value for part in aligned.parts(s)] for s in statements], strict=True))
    varying = list(dict.fromkeys(c for c in columns if len(set(c)) > 1))
    if not 0 < len(varying) <= len(_RUNNING) or any(isinstance(x, str) for column in varying for x in column):
        return None
    names = dict(zip(varying, _RUNNING, strict=False))
    (new,) = replaced(statements[:1], lambda part, i: ast.Name(names[c]) if (c := columns[i]) in names else part.value)
    rows = varying[0] if len(varying) == 1 else list(zip(*varying, strict=True))
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names.values()]
    target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
    return ast.ListComp(new.code.value, [ast.comprehension(target, literal(rows), [], 0)])


def _key(node: ast.AST) -> str | None:
    """The key of an element of the stored arrays."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "ARRAYS":
        return str(ast.literal_eval(node.slice))
    return None


def _sliced(value: ast.List) -> ast.expr:
    """A list in which elements of another one that follow each other are a slice of that."""
    left = list(value.elts)
    parts: list[ast.expr] = []
    while left:
        first, size = left[0], 1
        if isinstance(first, ast.Subscript) and isinstance(first.slice, ast.Constant):
            name = ast.unparse(first.value)
            at: Any = first.slice.value
            while type(at) is int and size < len(left) and ast.unparse(left[size]) == f"{name}[{at + size}]":
                size += 1
            if size >= LEAST:
                part = ast.Slice(ast.Constant(at), ast.Constant(at + size))
                whole = ast.Subscript(first.value, part, ast.Load())
                if size == len(value.elts):
                    return whole
                parts.append(ast.Starred(whole, ast.Load()))
                del left[:size]
                continue
        parts.append(left.pop(0))
    return ast.List(parts, ast.Load())
