"""Runs of sessions in a program's text, and which of its expressions are of the graph, for `plan`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.core.variable import Variable
from graph_api.graph import Graph
from graph_api.migrate.check.inference import Inference
from graph_api.migrate.check.scopes import Element, Expression, Scopes
from graph_api.migrate.check.surface import Surface
from graph_api.migrate.check.values import (
    Box,
    Fixed,
    Instance,
    Local,
    Lost,
    Made,
    Many,
    Method,
    Path,
    Unknown,
    Value,
)
from graph_api.migrate.convert.facts import Facts, is_apart, shared
from graph_api.saving import Saver
from graph_api.session import Session

Place: TypeAlias = tuple[int, int]
"""Line and column, in bytes, of a statement."""
Extent: TypeAlias = tuple[int, int, int, int]
"""Where an expression begins and ends."""
RUNS = {"run", "eval"}
PURE_CALLS = {"range", "len", "enumerate", "zip", "list", "dict", "tuple", "set", "int", "float", "str", "sorted"}


class Unsafe(Exception):
    """The session loop cannot be rewritten so that it surely does what it did."""


def place(node: Any) -> Place:
    """Where a node stands."""
    return node.lineno, node.col_offset


def extent(node: Any) -> Extent:
    """From where to where an expression goes."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


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
        How the fetches are nested, if lists are among them (`form_of`).
    """

    function: dict[str, Any]
    leaves: list[int | None]
    several: bool
    fed: list[str | int] = field(default_factory=list)
    form: str = ""


@dataclass
class Plan:
    """What is to be done with a program.

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

    def copy(self) -> Plan:
        """A plan that goes its own way from here."""
        return Plan(**{name: value.copy() for name, value in vars(self).items()})


class Runs:
    """Finds the runs of sessions in a program, and the functions that they become.

    Parameters
    ----------
    source : str
    functions : sequence of dict
        Those of the map.
    provided : set of str
        The names that the converted module has.
    notes : Notes
    names : dict
        The program's global names and what they stood for in the end.
    variables : dict
        Of the map.
    savers : dict
        By the line that makes it, what makes a saver in tape code.
    """

    def __init__(
        self, source: str, functions: Sequence[dict[str, Any]], provided: set[str], notes: Any, names: dict[str, Any],
        variables: dict[str, str], savers: dict[int, str],
    ) -> None:  # fmt: skip
        self.variables, self.savers = variables, savers
        self.tree = ast.parse(source)
        self.functions, self.provided, self.notes, self.names = functions, provided, notes, names
        self.scopes = Scopes(self.tree)
        self.inference = Inference(self.scopes, Surface.of("1"))
        self.facts = Facts(self.tree, self.scopes, names)
        self.plan = Plan(facts={extent(node): text for node, text in self.facts.found(self.tree)})
        self._owned: dict[ast.AST, bool] = {}
        self.plan.facts |= {extent(node): text for node, text in self._kept_names()}
        self._again = False
        self._once: list[Sequence[ast.stmt]] = []

    def _kept_names(self) -> Iterator[tuple[ast.expr, str]]:
        """What tape code has too, by the names that it has there; and the savers."""
        todo: list[ast.AST] = [self.tree]
        while todo:
            node = todo.pop()
            text = None
            if isinstance(node, ast.Call) and node.lineno in self.savers:
                made = any(isinstance(v, Path) and v.path == "train.Saver" for v in self.inference.of(node.func))
                text = self.savers[node.lineno] if made else None
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
                paths = [v.path for v in self.inference.of(node) if isinstance(v, Path)]
                text = shared(paths[0]) if len(paths) == 1 and self._is_imported(node) else None
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.savers:
                of = self.inference.of(node.func.value)
                if any(isinstance(v, Instance) and issubclass(v.kind, Saver) for v in of):
                    for given in [*node.args, *[k.value for k in node.keywords]]:
                        value = self._value(given)
                        if isinstance(value, Variable) and value.name in self.variables:
                            yield given, self.variables[value.name]
            if text is None:
                todo += ast.iter_child_nodes(node)
            else:
                assert isinstance(node, ast.expr)
                yield node, text

    def _is_imported(self, node: ast.expr) -> bool:
        """Whether it is a name of TensorFlow's modules, or an imported one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        imported = {a.asname or a.name.partition(".")[0] for n in ast.walk(self.tree)
                    if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}  # fmt: skip
        return isinstance(node, ast.Name) and node.id in imported

    # ---- runs of sessions --------------------------------------------------------------------------------------------

    def _find_runs(self) -> None:
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and self._is_run(n)]
        unseen = {n.value for n in ast.walk(self.tree) if isinstance(n, ast.Expr)}
        fitting = {c: [f for f in self.functions if self._is_here_at(c, f) and self._fits(c, f)] for c in calls}
        taken = [id(found[0]) for c, found in fitting.items() if len(found) == 1 and self._is_certain(c)]
        for call, found in fitting.items():
            others = [f for f in found if id(f) not in taken] if len(found) > 1 else found
            if len(others) > 1 and any(f["name"] or f["values"] for f in others):
                raise Unsafe(f"line {call.lineno}: what is run depends on how the program runs")
            if others:  # else it was never reached: `_statement` says so if it would stay
                self.plan.calls[extent(call)] = self._replaced(call, others[0], call in unseen)

    def _is_here_at(self, call: ast.Call, function: dict[str, Any]) -> bool:
        return any(self._is_at(call, line) for _, line in function["sites"])

    def _is_certain(self, call: ast.Call) -> bool:
        return None not in [self._named(leaf) for leaf in leaves_of(self.asked(call)[0])]

    def _is_run(self, call: ast.Call) -> bool:
        if self._is_count(call):
            return True
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in RUNS:
            return False
        if extent(call.func) in self.plan.facts:  # tf.app.run
            return False
        base = self.inference.of(call.func.value)
        return not base or any(self._is_graphs(v) for v in base)

    def _is_count(self, call: ast.Call) -> bool:
        """Whether it is ``tf.train.global_step(session, variable)``, which runs the variable."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "global_step" or len(call.args) != 2:
            return False
        return any(isinstance(v, Path) and v.path.endswith("train.global_step") for v in self.inference.of(call.func))

    @staticmethod
    def _is_at(call: ast.Call, line: int) -> bool:
        assert isinstance(call.func, ast.Attribute)
        return line in (call.lineno, call.func.end_lineno)

    def asked(self, call: ast.Call) -> tuple[ast.expr, ast.expr | None]:
        """The fetches of a run and what it is fed."""
        assert isinstance(call.func, ast.Attribute)
        keywords = {k.arg: k.value for k in call.keywords}
        if self._is_count(call):
            return call.args[1], None
        session = any(
            isinstance(v, Instance) and issubclass(v.kind, Session) for v in self.inference.of(call.func.value)
        )
        session = session or (call.func.attr == "run" and bool(call.args) and not isinstance(call.args[0], ast.Dict))
        if session:
            fetches = call.args[0] if call.args else keywords["fetches"]
            return fetches, call.args[1] if len(call.args) > 1 else keywords.get("feed_dict")
        return call.func.value, call.args[0] if call.args else keywords.get("feed_dict")

    def _fits(self, call: ast.Call, function: dict[str, Any]) -> bool:
        """Whether a run may be the one that a function was made of."""
        fetches, feed = self.asked(call)
        leaves = leaves_of(fetches)
        if isinstance(feed, ast.Dict) and None not in feed.keys and len(feed.keys) != len(function["fed"]):
            return False
        if feed is None and function["fed"]:
            return False
        known = [self._named(leaf) for leaf in leaves]
        if None in known:
            written = isinstance(fetches, (ast.List, ast.Tuple))
            return not written or any(_width(form) == len(leaves) for form in self._forms(call, function))
        return [name for names in known for name in names or ()] == function["fetches"]

    def _named(self, leaf: ast.expr) -> list[str] | None:
        """The names in the graph of what a global name stands for; None if the file does not tell."""
        value = self._value(leaf)
        names = [graph_name(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        return None if None in names else [n for n in names if n is not None]

    def _value(self, leaf: ast.expr) -> Any:
        """What a global name that is bound once stood for, or an attribute of that; None if the file does not tell."""
        if isinstance(leaf, ast.Attribute):
            return vars(owner).get(leaf.attr) if hasattr(owner := self._value(leaf.value), "__dict__") else None
        if not isinstance(leaf, ast.Name) or leaf.id not in self.names:
            return None
        return self.names[leaf.id] if self.facts.is_final(leaf) else None

    def _replaced(self, call: ast.Call, function: dict[str, Any], is_unseen: bool) -> Replaced:
        fetches, feed = self.asked(call)
        told = self._told(feed, call)
        if len(told) != len(function["fed"]):
            raise Unsafe(f"line {call.lineno}: what is fed depends on how the program runs")
        used = set(function["feeds"].values())
        for name, (_, value) in zip(function["fed"], told, strict=True):
            if name not in used and not is_pure(value):
                raise Unsafe(f"line {call.lineno}: it feeds something that is not needed ({ast.unparse(value)})")
        leaves = leaves_of(fetches)
        flat: list[int | None] = [
            function["returns"].index(f) if f in function["returns"] else None for f in function["fetches"]
        ]
        several = isinstance(fetches, (ast.List, ast.Tuple))
        form = self._form(call, function, fetches)
        several = several or form[0] in "[("
        if len(flat) != form.count("x") or "?" in form:
            if any(i is not None for i in flat) and not is_unseen:
                raise Unsafe(f"line {call.lineno}: a fetch is a structure that is made elsewhere")
            flat, form = [None] * len(leaves), ""
        if isinstance(fetches, ast.Dict) or any(isinstance(leaf, (ast.List, ast.Tuple)) for leaf in leaves):
            raise Unsafe(f"line {call.lineno}: the fetches are nested")
        return Replaced(function, flat, several, [f for f, _ in told], form if re.search(r".[\[(]", form) else "")

    def _told(self, feed: ast.expr | None, call: ast.Call) -> list[tuple[str | int, ast.expr]]:
        """What is fed, in order: an expression, or which element of the dict that stands there; and its value."""
        if feed is None:
            return []
        found: dict[str, tuple[str | int, ast.expr]] = {}
        named = isinstance(feed, ast.Name)
        pairs = enumerate(zip(feed.keys, feed.values, strict=True)) if isinstance(feed, ast.Dict) else []
        for number, (key, value) in [(0, (None, feed))] if named else pairs:
            if key is not None:
                found[key_of(key)] = (number, value)
            elif isinstance(value, ast.Name):
                node = self._written(value, call)
                for inner, given in zip(node.keys, node.values, strict=True):
                    if inner is not None:
                        found[key_of(inner)] = (f'{value.id}["{key_of(inner)}"]', given if named else value)
            else:
                raise Unsafe(f"line {call.lineno}: what is fed depends on how the program runs")
        return list(found.values())

    def _form(self, call: ast.Call, function: dict[str, Any], fetches: ast.expr) -> str:
        """How the fetches of a run were nested when it was run."""
        found = self._forms(call, function)
        if isinstance(fetches, (ast.List, ast.Tuple)):
            found = {form for form in found if form[0] in "[("}
        if len(found) > 1:
            found = {form for form in found if isinstance(fetches, (ast.List, ast.Tuple)) or form == "x"}
        if len(found) != 1:
            raise Unsafe(f"line {call.lineno}: what is run depends on how the program runs")
        return found.pop()

    def _forms(self, call: ast.Call, function: dict[str, Any]) -> set[str]:
        """All forms of the fetches where a run stands."""
        pairs = zip(function["sites"], function["forms"], strict=True)
        return {form for (_, line), forms in pairs if self._is_at(call, line) for form in forms}

    def _written(self, name: ast.Name, call: ast.Call) -> ast.Dict:
        """The dict that a name stands for, whose keys become strings."""
        sources = self.scopes.of[name].find(name.id)
        node = sources[0].node if sources and len(sources) == 1 and isinstance(sources[0], Expression) else None
        every = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id == name.id]
        fed = {c for c in ast.walk(self.tree) if isinstance(c, ast.Call) and self._is_run(c)}
        feeds = [self.asked(c)[1] for c in fed]
        starred = [v for d in feeds if isinstance(d, ast.Dict) for k, v in zip(d.keys, d.values, strict=True) if not k]
        told = {id(node) for node in [*feeds, *starred]}
        only_fed = all(isinstance(n.ctx, ast.Store) or id(n) in told for n in every)
        if not isinstance(node, ast.Dict) or None in node.keys or not only_fed:
            raise Unsafe(f"line {call.lineno}: what is fed is made elsewhere ({name.id})")
        self.plan.feeds[extent(node)] = [key_of(k) for k in node.keys if k is not None]
        return node

    def feed_values(self, call: ast.Call) -> list[ast.expr]:
        """The values that a run is fed."""
        feed = self.asked(call)[1]
        return feed.values if isinstance(feed, ast.Dict) else [] if feed is None else [feed]

    # ---- expressions -------------------------------------------------------------------------------------------------

    def _expressions(self, node: ast.AST) -> Iterator[ast.expr]:
        """All expressions in a node, except for what is known, and asked of sessions in calls that are replaced."""
        if isinstance(node, ast.expr) and extent(node) in self.plan.facts:
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.calls:
            for value in self.feed_values(node):
                yield from self._expressions(value)
            return
        if isinstance(node, ast.Dict) and extent(node) in self.plan.feeds:
            for value in node.values:
                yield from self._expressions(value)
            return
        if isinstance(node, ast.expr):
            yield node
        for inner in ast.iter_child_nodes(node):
            yield from self._expressions(inner)

    def _is_left(self, node: ast.expr) -> bool:
        """Whether an expression is of the graph, and not of the converted module; of a composed one its parts tell."""
        values = self.inference.of(node)
        if isinstance(node, ast.Name):
            return any(self._is_graphs(v) for v in values) and not self._is_session(node) and not self._is_here(node)
        if isinstance(node, ast.Call):
            if self._is_run(node):
                return bool(self.inference.of(node.func))  # one that was never reached
            if self._local_build(node):
                return True
        if isinstance(node, ast.Attribute) and self._is_session(node.value):
            return True
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        told = any(self._is_graphs(v) for n in names for v in self.inference.of(n))
        return not told and not self._is_session(node) and any(self._is_graphs(v) for v in values)

    def _is_session(self, node: ast.expr) -> bool:
        """Whether it can only be a session, which `_check_names` looks at."""
        values = self.inference.of(node)
        return bool(values) and all(isinstance(v, Instance) and issubclass(v.kind, Session) for v in values)

    def _is_here(self, node: ast.Name) -> bool:
        """Whether a name is the converted module's, or goes through what is."""
        sources = self.scopes.of[node].find(node.id)
        if sources is self.scopes.module.bound.get(node.id) and node.id in self.provided:
            return True
        return bool(sources) and all(
            isinstance(s, Element)
            and isinstance(s.source, Expression)
            and isinstance(s.source.node, ast.Name)
            and self._is_here(s.source.node)
            for s in sources or ()
        )

    def _local_build(self, node: ast.Call) -> bool:
        """Whether it calls a function of the program that only builds."""
        local = [v.node for v in self.inference.of(node.func) if isinstance(v, Local)]
        return any(self._builds(n) for n in local)

    def _builds(self, node: ast.AST) -> bool:
        if node not in self._owned:
            self._owned[node] = False
            body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
            runs = any(isinstance(n, ast.Call) and extent(n) in self.plan.calls for n in ast.walk(node))
            left = not runs and any(self._is_left(n) for statement in body for n in self._expressions(statement))
            self._owned[node] = left
        return self._owned[node]

    def _is_graphs(self, value: Value) -> bool:
        """Whether a value is TensorFlow's, and tape code has it not."""
        if isinstance(value, Path) and shared(value.path):
            return False
        if isinstance(value, Unknown) and (of := re.match(r"tf\.([\w.]+)", value.source)) and shared(of[1]):
            return False
        if isinstance(value, (Instance, Method)):
            return not (is_apart(value.kind) or (self.savers and issubclass(value.kind, Saver)))
        if isinstance(value, (Path, Unknown, Lost)):
            return True
        if isinstance(value, (Fixed, Many)):
            inner = value.items if isinstance(value, Many) else [v for items in value.items for v in items]
            return any(self._is_graphs(v) for v in inner)
        if isinstance(value, Box):
            key: Any = ("box", value.node)
            if key not in self._owned:
                self._owned[key] = False
                self._owned[key] = any(self._is_graphs(v) for v in self.inference.elements(frozenset({value})))
            return self._owned[key]
        return isinstance(value, Made) and self._builds_object(value.node)

    def _builds_object(self, node: ast.ClassDef) -> bool:
        runs = any(isinstance(n, ast.Call) and extent(n) in self.plan.calls for n in ast.walk(node))
        return not runs and self._builds(node)


def _width(form: str) -> int:
    """How many things a list of fetches has."""
    while (shorter := re.sub(r"(?<=.)[\[(][x?]*[\])]", "x", form)) != form:
        form = shorter
    return len(form) - 2 if form[0] in "[(" else 1


def leaves_of(fetches: ast.expr) -> list[ast.expr]:
    """What is fetched, one by one."""
    return list(fetches.elts) if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]


def key_of(node: ast.expr) -> str:
    """``"x"`` for ``self.x``."""
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def graph_name(value: Any) -> str | None:
    """The name that the map has for a tensor, operation or variable."""
    if isinstance(value, Variable):
        return value.name
    return value.name if isinstance(getattr(value, "graph", None), Graph) else None


def is_pure(node: ast.AST) -> bool:
    """Whether leaving it out changes nothing else."""
    calls = [n for n in ast.walk(node) if isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.NamedExpr))]
    return all(isinstance(c, ast.Call) and isinstance(c.func, ast.Name) and c.func.id in PURE_CALLS for c in calls)
