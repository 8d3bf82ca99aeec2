"""Abstract values that an expression of a checked program may stand for; `inference` computes them.

An expression has a set of them. The empty set means: nothing of TensorFlow's, as far as the file tells.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path as File
from typing import TypeAlias


@dataclass(frozen=True)
class Path:
    """The name `path` below ``tf.``, there or not."""

    path: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of ours."""

    kind: type


@dataclass(frozen=True)
class Method:
    """A method of such an object, not called yet."""

    kind: type
    name: str


@dataclass(frozen=True)
class Fixed:
    """A tuple of known length."""

    items: tuple[frozenset[Value], ...]


@dataclass(frozen=True)
class Many:
    """Something that is gone through: its elements."""

    items: frozenset[Value]


@dataclass(frozen=True, eq=False)
class Box:
    """A list, dict or set that the program writes down; what it stores there later belongs to it too."""

    node: ast.expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and other.node is self.node

    def __hash__(self) -> int:
        return hash(self.node)


@dataclass(frozen=True)
class Local:
    """A function or class of the file; with `owner`, a method that is bound to an object of that class."""

    node: ast.AST
    owner: ast.ClassDef | None = None


@dataclass(frozen=True)
class Made:
    """An object of a class of the file."""

    node: ast.ClassDef


@dataclass(frozen=True)
class Foreign:
    """A name of another package."""

    path: str


@dataclass(frozen=True)
class Module:
    """A module of the program's own."""

    base: File


@dataclass(frozen=True)
class Lost:
    """The unknown value of a name that is missing."""

    path: str


@dataclass(frozen=True)
class Unknown:
    """A value that comes from `source`, of TensorFlow, whose class depends on how the program runs."""

    source: str


Value: TypeAlias = Path | Instance | Method | Fixed | Many | Box | Local | Made | Foreign | Module | Lost | Unknown
Values: TypeAlias = frozenset[Value]
NOTHING: Values = frozenset()


def union(*groups: Values) -> Values:
    """All of them."""
    return frozenset().union(*groups)
