"""Runs of which only the running program knows what they fetch or are fed: one function finds the one that is meant.

What is fetched and fed has labels there, in place of tensors and operations. The program's own lists and dicts, which
grow and are handed on, hold labels then, and its lines stay as they are: names that `carry` labels.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.migrate.check.inference import Inference
from dualgrad.migrate.check.scopes import Element, Entered, Expression, Parameter, Part, Scopes
from dualgrad.migrate.check.values import Local
from dualgrad.migrate.convert.edits import Unsafe

RUN = '''

RUNS = [  # a function, what it is given, what is fed besides, what it gives, and the operations that it is run for
{rows}]


def {name}(fetches, feed=None):
    """What a session gave: the results of the function that computes these fetches from what is fed."""

    def parts_of(key, value):
        if not isinstance(key, tuple):
            return [(key, value)]
        return [part for pair in zip(key, value, strict=True) for part in parts_of(*pair)]

    names, fed = {{*tf.nest.flatten(fetches)}}, dict(p for pair in (feed or {{}}).items() for p in parts_of(*pair))
    fitting = [row for row in RUNS if {{*row[3], *row[4]}} == names and {{*row[1], *row[2]}} == {{*fed}}]
    if not fitting:
        raise ValueError(f"no function gives {{names}} for what is fed: {{[*fed]}}")
    function, labels, _, given, _ = fitting[0]
    results = function(*[fed[label] for label in labels])
    values = {{label: x.numpy() for label, x in zip(given, results if len(given) > 1 else [results])}}
    return tf.nest.map_structure(values.get, fetches)
'''
"""The text of that function; operations give None."""
_WIDEST = 118
"""Characters on a line of a table."""
_OF_CONTAINERS = ("copy", "items", "keys", "values", "get")


def text(name: str, functions: Sequence[dict[str, Any]], label: Callable[[str], str]) -> str:
    """The function of a converted module that runs one of several others.

    Parameters
    ----------
    name : str
        Its name.
    functions : sequence of dict
        Those of the map that it may run.
    label : callable
        Of the name of a tensor, its label.

    Raises
    ------
    Unsafe
        If the labels do not tell which one is meant.
    """
    rows: dict[Any, tuple[Any, str]] = {}
    for f in functions:
        called = f["name"] or f"lambda: [{', '.join(f['values'])}]"
        given = f["returns"] if f["name"] else f["fetches"]
        needed = [*f["feeds"].values()]
        rest = [[x for x in f[key] if x not in known] for key, known in (("fed", needed), ("fetches", given))]
        parts = [_tuple([*map(label, x)]) for x in (needed, rest[0], given, rest[1])]
        asked = frozenset(map(label, f["fetches"])), frozenset(map(label, f["fed"]))
        means = f.get("graph"), {*f["fetches"]}, {*f["fed"]}
        if rows.setdefault(asked, (means, row(f"({called}, {', '.join(parts)})")))[0] != means:
            raise Unsafe(f"what {f['name']} fetches and is fed does not tell it from other functions")
    return RUN.format(name=name, rows="".join(text for _, text in rows.values()))


def row(text: str) -> str:
    """A row of a table, over as many lines as it needs."""
    whole = re.sub(r'"[^"]*"(: )?', lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, _WIDEST, initial_indent="    ", subsequent_indent="     ", break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return "\n".join(lines).replace("\0", " ") + ",\n"


def _tuple(labels: Sequence[str]) -> str:
    return f"({', '.join(map(json.dumps, labels))}{',' * (len(labels) == 1)})"


class Carriers:
    """The names of a program that carry labels.

    Parameters
    ----------
    scopes : Scopes
    inference : Inference
    is_graphs : callable
        Whether a name may stand for a part of the graph.
    is_fixed : callable
        Whether an expression stands for one part of the graph, whose label takes its place.
    """

    def __init__(
        self, scopes: Scopes, inference: Inference, is_graphs: Callable[[ast.Name], bool],
        is_fixed: Callable[[ast.expr], bool],
    ) -> None:  # fmt: skip
        self.scopes, self.inference, self.is_graphs, self.is_fixed = scopes, inference, is_graphs, is_fixed
        self.functions: set[ast.AST] = set()
        """Functions of the program that give labels."""
        self._sources: set[int] = set()

    def holds(self, name: ast.Name) -> bool:
        """Whether a name carries labels."""
        return bool(self._sources) and id(self.scopes.of[name].find(name.id)) in self._sources

    def any_in(self, node: ast.AST) -> bool:
        """Whether a name in there carries labels."""
        return any(isinstance(n, ast.Name) and self.holds(n) for n in ast.walk(node))

    def follow(self, node: ast.expr, whole: bool = False) -> None:
        """Have the names in what is fetched or fed carry labels; the `whole` of it if that is a name."""
        if isinstance(node, ast.Name):
            self._carry(node, whole)
            return
        if isinstance(node, (ast.Attribute, ast.Subscript)) and self.is_fixed(node):
            return
        if isinstance(node, ast.Call):
            for value in self.inference.values_of(node.func):
                if isinstance(value, Local) and isinstance(value.node, (ast.FunctionDef, ast.Lambda)):
                    self._give(value.node, whole)
            if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_CONTAINERS:
                self.follow(node.func.value, whole)
            if not isinstance(node.func, ast.Name):
                return  # what it gives is new
        whole_of = {"left", "right", "body", "orelse"} if whole else set()
        for field, inside in ast.iter_fields(node):
            values = inside if isinstance(inside, list) else [inside]
            for inner in values if not (isinstance(node, ast.Dict) and field == "values" and whole) else ():
                if isinstance(inner, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                    self.follow(inner, field in whole_of)
                elif isinstance(inner, (ast.keyword, ast.comprehension)):
                    self.follow(inner.value if isinstance(inner, ast.keyword) else inner.iter)

    def _give(self, function: Any, whole: bool) -> None:
        if function not in self.functions:
            self.functions.add(function)
            for returned in self.scopes.inside[function].returns:
                self.follow(returned, whole)

    def _carry(self, name: ast.Name, whole: bool) -> None:
        sources = self.scopes.of[name].find(name.id)
        if sources is None or self.holds(name) or not (whole or self.is_graphs(name)) or self.is_fixed(name):
            return
        self._sources.add(id(sources))
        for source in sources:
            plain = isinstance(source, Expression)
            while isinstance(source, (Element, Part, Entered)):
                source = source.source
            if isinstance(source, Expression):
                self.follow(source.node, whole and plain)
            elif isinstance(source, Parameter):
                for given in self._arguments_for(source):
                    self.follow(given, whole)
        for base, source in self.scopes.stored:
            while isinstance(source, (Element, Part)):
                source = source.source
            if isinstance(base, ast.Name) and self.holds(base) and isinstance(source, Expression):
                self.follow(source.node, isinstance(source.node, ast.Name) and whole)

    def _arguments_for(self, parameter: Parameter) -> list[ast.expr]:
        """Expressions that the program's calls give a parameter."""
        function, name = parameter.function, parameter.name
        arguments = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        found: list[ast.expr] = []
        for call, shift in self.inference.calls.get(function, ()):
            at = arguments.index(name) - shift if name in arguments else len(call.args)
            found += [k.value for k in call.keywords if k.arg == name]
            found += call.args[at : at + 1] if at >= 0 else []
        return found
