"""Edits of a program's text: `plan` finds them, `host_program` makes them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Place: TypeAlias = tuple[int, int]
"""Line and column, in bytes, of a statement."""
Extent: TypeAlias = tuple[int, int, int, int]
"""Where an expression begins and ends."""
_PLAIN = (
    ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop,
    ast.Attribute, ast.keyword,
)  # fmt: skip
"""The nodes that plain values are written with, besides calls."""
_COUNTS = frozenset({"abs", "float", "int", "len", "max", "min", "pow", "round", "sum"})
COMPUTE = frozenset({"np", "numpy", "math", *_COUNTS})
"""Modules and functions that compute with plain values."""


class Unsafe(Exception):
    """The session loop cannot be rewritten so that it surely does what it did."""


def place(node: Any) -> Place:
    """Where a node stands."""
    return node.lineno, node.col_offset


def extent(node: Any) -> Extent:
    """From where to where an expression goes."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that are run one after the other at the top, also within scopes and below ``if __name__``."""
    for node in body:
        guards = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and not node.orelse
        if isinstance(node, ast.With) or guards:
            yield from top(node.body)  # type: ignore[attr-defined]
        else:
            yield node


def computes(call: ast.Call) -> bool:
    """Whether a call does no more than compute with the numbers that it is given."""
    path = ast.unparse(call.func)
    return path in _COUNTS or (
        path.startswith(("np.", "numpy.", "math.")) and ".random" not in path and ".load" not in path
    )  # fmt: skip


def is_plain(value: ast.expr) -> bool:
    """Whether an expression computes a plain value, if what its names stand for are plain values."""
    return all(computes(n) if isinstance(n, ast.Call) else isinstance(n, _PLAIN) for n in ast.walk(value))


def plain_names(tree: ast.Module) -> Iterator[tuple[ast.Assign, set[str], set[str]]]:
    """The statements at the top that name plain values, which nothing changes: the names given, and those read."""
    stores = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    stores.update(name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names)
    known = set(COMPUTE)
    for node in top(tree.body):
        if isinstance(node, ast.Assign) and is_plain(node.value):
            given = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - given
            if given and read <= known and all(stores[n] == 1 for n in given):
                known |= given
                yield node, given, read


@dataclass
class Replaced:
    """A run of a session that becomes a call.

    Attributes
    ----------
    function : dict
        The entry of the map.
    leaves : list of (int or None)
        Of each fetch, in the order of the program, its place among what the function gives; None for an operation.
    several : bool
        Whether the program asked for a list or tuple.
    fed : list of (str or int)
        What is fed: an expression, where a name stands for the dict, or which element of the dict that stands there.
    form : str
        How the results are put together, if that is no plain list (`shape_of`).
    named : expression, optional
        The feeds, whose keys are the names of parameters, where only the running program knows them all.
    key : expression, optional
        With `run`, what is asked for its own value, if that is no session.
    iterators : list of expression
        The iterators of which it takes elements.
    run : str
        The function that is called with fetches and feeds as they are, if only the running program knows both.
    starred : dict
        What of `fed` is a list of tensors (``"*"``), or a structure of such (``"*flatten"``).
    """

    function: dict[str, Any]
    leaves: list[int | None]
    several: bool
    fed: list[str | int] = field(default_factory=list)
    form: str = ""
    named: ast.expr | None = None
    key: ast.expr | None = None
    iterators: list[ast.expr] = field(default_factory=list)
    run: str = ""
    starred: dict[str | int, str] = field(default_factory=dict)


@dataclass
class Plan:
    """The edits of a program.

    Attributes
    ----------
    calls : dict
        Runs of sessions that become calls, by place.
    gone : set
        The statements that go.
    opened : set
        The ``with`` statements of which the body stays.
    emptied : dict
        Names that kept statements hand on, and that stood for a session, by the statement that gave them.
    feeds : dict
        The dicts of feeds that have names: their new keys.
    said : dict
        What statements print that only look at the graph.
    hollow : set
        Constructors that have nothing left to do.
    restored : dict
        Before which line which generators must be set to the states that they had.
    facts : dict
        Expressions that only look at the graph: the text of their values.
    given : dict
        What names stood for after statements that only look at the graph: the texts of plain values.
    unrolled : dict
        Loops that run one thing after the other: the calls.
    loads : set
        The calls of ``variable.load(value, session)``, which become ``variable.assign(value)``.
    sets : dict
        The runs that assign what the program has computed: the variable, and the expression of what it becomes.
    adds : set
        The calls of ``writer.add_summary(summary, step)``, which become ``add_summary(writer, summary, step)``.
    writers : set
        The calls that make writers of event files.
    unread : dict
        By the assignment that gives them, names that nobody reads.
    iterators : dict
        Calls that make iterators, or name them: what they become (`iterating`).
    named : dict
        Statements that make an iterator and ask it for an element, and its name: they become what makes it.
    hosted : dict
        By the statement of the program that made it: the statements for what its own expressions make.
    trimmed : dict
        Imports of TensorFlow and something else: the numbers of the names that stay.
    before, after : dict
        By statement, lines that are added above and below it; comments too.
    valued : set
        Statements that are runs whose results the program does not look at, but a hook does: they get a name.
    suppressed : set
        The ``with`` statements of sessions that the end of the data ends.
    sizes : dict
        By statement that goes, the numbers that it built the graph with and that data in the program decides.
    seeds : dict
        Calls that shuffle data sets: the seed that the graph chose.
    """

    calls: dict[Extent, Replaced] = field(default_factory=dict)
    gone: set[Place] = field(default_factory=set)
    opened: set[Place] = field(default_factory=set)
    emptied: dict[Place, list[str]] = field(default_factory=dict)
    feeds: dict[Extent, list[str]] = field(default_factory=dict)
    said: dict[Place, str] = field(default_factory=dict)
    hollow: set[Place] = field(default_factory=set)
    restored: dict[Place, dict[str, Any]] = field(default_factory=dict)
    facts: dict[Extent, str] = field(default_factory=dict)
    given: dict[Place, dict[str, str]] = field(default_factory=dict)
    unrolled: dict[Place, list[str]] = field(default_factory=dict)
    loads: set[Extent] = field(default_factory=set)
    sets: dict[Extent, tuple[str, ast.expr]] = field(default_factory=dict)
    adds: set[Extent] = field(default_factory=set)
    writers: set[Extent] = field(default_factory=set)
    unread: dict[Place, set[str]] = field(default_factory=dict)
    iterators: dict[Extent, str] = field(default_factory=dict)
    named: dict[Place, str] = field(default_factory=dict)
    trimmed: dict[Place, list[int]] = field(default_factory=dict)
    before: dict[Place, list[str]] = field(default_factory=dict)
    after: dict[Place, list[str]] = field(default_factory=dict)
    valued: set[Place] = field(default_factory=set)
    suppressed: set[Place] = field(default_factory=set)
    hosted: dict[Place, list[str]] = field(default_factory=dict)
    sizes: dict[Place, list[tuple[ast.expr, Any]]] = field(default_factory=dict)
    seeds: dict[Extent, int] = field(default_factory=dict)

    def copy(self) -> Plan:
        """A plan that goes its own way from here."""
        return Plan(**{name: value.copy() for name, value in vars(self).items()})


def name_of(node: ast.AST) -> str:
    """``"nn.relu"`` for ``tf.nn.relu``; empty for what is no public name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) if isinstance(node, ast.Name) and node.id == "tf" else ""
