"""Objects of one class of which each has parts of the graph of its own: models for training and validation, workers.

A line such as ``session.run(model.cost)`` means another part of the graph for each object. Their attributes hold labels
then (`dispatching`), which a table gives them: each constructor takes the next entry.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from dualgrad.migrate.check.inference import Inference
from dualgrad.migrate.check.values import Made
from dualgrad.migrate.convert.dispatching import row
from dualgrad.migrate.convert.facts import is_graphs, labeled
from dualgrad.migrate.convert.identifiers import snake
from engine.core import nest


class ClassInstances:
    """The classes of a program of which several objects hold parts of its graph.

    Parameters
    ----------
    tree : ast.Module
        The program.
    inference : Inference
        What its expressions may be.
    objects : mapping
        By class, its objects in the order in which they were made.
    """

    def __init__(self, tree: ast.Module, inference: Inference, objects: Mapping[str, Sequence[Any]]) -> None:
        self.inference = inference
        self.objects: dict[str, Sequence[Any]] = {}
        self.constructors: dict[ast.AST, str] = {}
        """The class that a constructor is of."""
        self._held: dict[str, set[str]] = {}
        for node in [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and len(objects.get(n.name, ())) > 1]:
            starts = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            every = [pair for x in objects[node.name] for pair in getattr(x, "__dict__", {}).items()]
            held = {a for a, v in every if is_graphs(v) and labeled(v, str)}
            if starts and held:
                self.objects[node.name], self.constructors[starts[0]] = objects[node.name], node.name
                given = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.decorator_list]
                self._held[node.name] = held | {f.name for f in given if _attributes(f) & held}

    def holds(self, node: ast.AST) -> bool:
        """Whether it is an attribute of such an object that holds parts of the graph."""
        if not self.objects or not isinstance(node, ast.Attribute):
            return False
        kinds = [v.node.name for v in self.inference.values_of(node.value) if isinstance(v, Made)]
        return any(node.attr in self._held.get(kind, ()) for kind in kinds)

    def any_in(self, node: ast.AST) -> bool:
        """Whether there is such an attribute in it."""
        return bool(self.objects) and any(self.holds(n) for n in ast.walk(node))

    def table(self, kind: str) -> str:
        """The name of the table with the labels of a class."""
        return f"{snake(kind).upper()}_PARTS"

    def text(self, read: set[str], label: Callable[[str], str]) -> list[str]:
        """The statements that make the tables, with the attributes that are read."""
        lines = []
        for kind, objects in self.objects.items():
            rows = []
            for x in objects:
                held = {a: labeled(v, label) for a, v in vars(x).items() if a in read and is_graphs(v)}
                text = ", ".join(f"{a!r}: {text}" for a, text in held.items() if text).replace("'", '"')
                rows.append(row(f"{{{text}}}"))
            lines.append(f"{self.table(kind)} = iter([  # of each {kind}, in order\n{''.join(rows)}])\n")
        return lines

    @cached_property
    def labels(self) -> dict[str, str]:
        """By the name of what an object holds: that of the attribute, and the number of the object."""
        found: dict[str, str] = {}
        for objects in self.objects.values():
            held = Counter(a for x in objects for a, v in vars(x).items() if is_graphs(v))
            for number, x in enumerate(objects):
                for attribute, value in vars(x).items():
                    parts = nest.flatten(value) if is_graphs(value) and labeled(value, str) else []
                    own = attribute.strip("_") + f"_{number}" * (held[attribute] > 1)
                    for at, part in enumerate(parts):
                        name = getattr(part, "name", None)
                        found.setdefault(str(name), own + f".{at}" * (len(parts) > 1))
        several = Counter(found.values())
        return {name: label for name, label in found.items() if several[label] == 1}


def _attributes(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
