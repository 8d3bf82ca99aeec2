"""Expressions in a program's text: what they stood for, and which of them are of the graph, for `runs`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import tape_api
from dualgrad.data.dataset import BaseDataset
from dualgrad.migrate.check.inference import Inference
from dualgrad.migrate.check.scopes import Element, Expression, Part, Scopes
from dualgrad.migrate.check.surface import Surface
from dualgrad.migrate.check.values import (
    Box,
    Fixed,
    Foreign,
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
from dualgrad.migrate.convert import summaries
from dualgrad.migrate.convert.class_instances import ClassInstances
from dualgrad.migrate.convert.dispatching import Carriers
from dualgrad.migrate.convert.edits import Plan, extent, place
from dualgrad.migrate.convert.facts import Facts, held_by, is_apart, is_graphs, is_own, reached, same_function, shared
from dualgrad.migrate.convert.iterating import Iterating
from dualgrad.migrate.convert.monitoring import SESSIONS
from dualgrad.migrate.convert.observed_run import CHANGES
from engine.core.variable import Variable
from graph_api.graphs.graph import Graph
from graph_api.graphs.tensor import Operation
from graph_api.iterators import Iterator as DatasetIterator
from graph_api.saving import Saver
from graph_api.summaries import FileWriter
from optim.external import ScipyOptimizerInterface

RUNS = {"run", "eval"}
PURE_CALLS = {
    *("range", "len", "enumerate", "zip", "list", "dict", "tuple", "set", "int", "float", "str", "sorted"),
    *("reversed", "abs", "max", "min", "sum", "round"),
}


class Expressions:
    """Says of the expressions of a program what they stand for, and which of them are of the graph.

    Parameters
    ----------
    source : str
    conversion : Conversion
        What its graphs have become.
    provided : set of str
        The names that the converted module has.
    notes : Notes
    names : dict
        The program's global names and what they stood for in the end.
    objects : mapping
        By class, objects whose attributes hold labels in place of parts of the graph (`class_instances`).
    """

    def __init__(
        self, source: str, conversion: Any, provided: set[str], notes: Any, names: dict[str, Any],
        objects: Mapping[str, Sequence[Any]],
    ) -> None:  # fmt: skip
        functions: Sequence[dict[str, Any]] = conversion.map["functions"]
        self.variables: dict[str, str] = conversion.map["variables"]
        self.savers: dict[int, str] = conversion.savers
        self.tree = ast.parse(source)
        self.functions, self.provided, self.notes, self.names = functions, provided, notes, names
        self.scopes = Scopes(self.tree)
        self.inference = Inference(self.scopes, Surface.of("1"))
        self.instances = ClassInstances(self.tree, self.inference, objects)
        self._around: dict[ast.AST, list[Any]] = {}
        self._above = {inner: n for n in ast.walk(self.tree) for inner in ast.iter_child_nodes(n)}
        for function in ast.walk(self.tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for n in ast.walk(function):
                    self._around.setdefault(n, []).insert(0, function)
        self.facts = Facts(self.tree, self.scopes, names, self._local)
        self.plan = Plan(facts={extent(node): text for node, text in self.facts.known_expressions(self.tree)})
        self._imported = {a.asname or a.name.partition(".")[0] for n in ast.walk(self.tree)
                          if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}  # fmt: skip
        self._owned: dict[ast.AST, bool] = {}
        self.iterating = Iterating(self.tree, self.inference)
        self.plan.iterators = {extent(node): kind for node, kind in self.iterating.found.items()}
        self.plan.facts |= {extent(node): text for node, text in self.iterating.texts()}
        self.plan.facts |= {extent(node): text for node, text in self._kept_names()}
        self.carriers = Carriers(self.scopes, self.inference, self._may_be_graphs, self._is_fixed)
        self._ran = {line for f in functions if f["name"] or f["values"] or f.get("iterates") for line in f["within"]}
        self._labels: set[str] = set()
        """Names of loops that go through labels."""

    # ---- what names stand for ----------------------------------------------------------------------------------------

    def _value(self, leaf: ast.expr) -> Any:
        """The object that a name, or an attribute of it, stood for; None if that is not known."""
        if isinstance(leaf, ast.Attribute):
            return held_by(self._value(leaf.value), leaf.attr)
        if not isinstance(leaf, ast.Name):
            return self.facts.value(leaf)
        local = self._local(leaf)
        if local is not None:
            return local
        return self.names[leaf.id] if leaf.id in self.names and self.facts.is_final(leaf) else None

    def _local(self, name: ast.Name) -> Any:
        """The one thing that a name of a function stood for; None if that is not known, or changed."""
        sources = self.scopes.of[name].find(name.id)
        for function in self._around.get(name, ()):
            if sources is not self.scopes.inside[function].bound.get(name.id):
                continue
            if self.facts.is_set_in_loop(name, function):
                return None
            known = self.notes.locals.get(min([function.lineno, *(d.lineno for d in function.decorator_list)]), {})
            if name.id in known:
                return known[name.id] if known[name.id] is not CHANGES else None
            owner = self.inference.owner(function)
            if owner is not None and function.args.args and name.id == function.args.args[0].arg:
                return self._only_object(owner.name)
        return None

    def _only_object(self, kind: str) -> Any:
        """The only object there is of a class of the program; None if there are several."""
        every = [*self.names.values(), *(v for known in self.notes.locals.values() for v in known.values())]
        objects = list({id(v): v for v in every if type(v).__name__ == kind}.values())
        return objects[0] if len(objects) == 1 else None

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether it stands for one part of the graph, or list of parts, to which nothing is added."""
        grows = False
        if isinstance(node, ast.Name):
            sources = self.scopes.of[node].find(node.id)
            bases = [b for b, _ in self.scopes.stored if isinstance(b, ast.Name) and b.id == node.id]
            grows = any(self.scopes.of[b].find(b.id) is sources for b in bases)
        return not grows and self.facts.handles(node, self.label) is not None

    def label(self, name: str) -> str:
        """The name in tape code of a tensor that is fed, or that is fetched by a name of the program's."""
        named = {p for f in self.functions for p, x in f["feeds"].items() if x == name}
        if name in self.instances.labels:
            return self.instances.labels[name]
        if self.instances.objects:  # functions for other objects have the same parameters
            named = {p for p in named if all(f["feeds"].get(p, name) == name for f in self.functions)}
        return named.pop() if len(named) == 1 else self._own_names.get(name, name.removesuffix(":0"))

    @cached_property
    def _own_names(self) -> dict[str, str]:
        """By the names of parts of the graph, the program's names for them, where each has one of its own."""
        found: dict[str, set[str]] = {}
        scopes = [dict(self.names), *self.notes.locals.values()]
        holders = {id(v): v for scope in scopes for v in scope.values()}.values()
        scopes += [vars(v) for v in holders if is_own(type(v)) and hasattr(v, "__dict__")]
        scopes += [v._asdict() for v in holders if isinstance(v, tuple) and hasattr(v, "_asdict")]
        scopes += [v for v in holders if type(v) is dict and all(isinstance(key, str) for key in v)]
        for scope in scopes:
            for own, value in list(scope.items()):
                if (name := graph_name(value)) is not None:
                    found.setdefault(name, set()).add(own)
        taken = Counter(own for names in found.values() for own in names)
        taken.update({p for f in self.functions for p in f["feeds"]})
        alone = {name: [own for own in names if taken[own] == 1] for name, names in found.items()}
        return {name: min(names, key=len) for name, names in alone.items() if names}

    # ---- runs of sessions --------------------------------------------------------------------------------------------

    def _is_run(self, call: ast.Call) -> bool:
        if self._is_count(call):
            return True
        if self.is_minimization(call):
            return True
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in RUNS:
            return False
        if extent(call.func) in self.plan.facts:  # tf.app.run
            return False
        base = self.inference.values_of(call.func.value)
        return not base or any(self._is_graphs(v) for v in base)

    def is_minimization(self, call: ast.Call) -> bool:
        """Whether it is ``ScipyOptimizerInterface.minimize``, which is one run here."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "minimize":
            return False
        of = self.inference.values_of(call.func.value)
        return any(isinstance(v, Instance) and issubclass(v.kind, ScipyOptimizerInterface) for v in of)

    def _is_count(self, call: ast.Call) -> bool:
        """Whether it is ``tf.train.global_step(session, variable)``, which runs the variable."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "global_step" or len(call.args) != 2:
            return False
        return any(
            isinstance(v, Path) and v.path.endswith("train.global_step") for v in self.inference.values_of(call.func)
        )

    def asked(self, call: ast.Call) -> tuple[ast.expr, ast.expr | None]:
        """The fetches of a run and what it is fed."""
        assert isinstance(call.func, ast.Attribute)
        keywords = {k.arg: k.value for k in call.keywords}
        if self._is_count(call):
            return call.args[1], None
        if self.is_minimization(call):
            return call.func.value, call.args[1] if len(call.args) > 1 else keywords.get("feed_dict")
        session = any(
            isinstance(v, Instance) and issubclass(v.kind, SESSIONS) for v in self.inference.values_of(call.func.value)
        )
        session = session or (call.func.attr == "run" and bool(call.args) and not isinstance(call.args[0], ast.Dict))
        if session:
            fetches = call.args[0] if call.args else keywords["fetches"]
            return fetches, call.args[1] if len(call.args) > 1 else keywords.get("feed_dict")
        return call.func.value, call.args[0] if call.args else keywords.get("feed_dict")

    def feed_values(self, call: ast.Call) -> list[ast.expr]:
        """The values that a run is fed."""
        replaced = self.plan.calls.get(extent(call))
        feed = self.asked(call)[1]
        keys = [replaced.key] if replaced is not None and replaced.key is not None else []
        keys += [i for i in replaced.iterators if hasattr(i, "lineno")] if replaced is not None else []
        if replaced is not None and replaced.run:
            keys = [self.asked(call)[0]]
        if self.is_minimization(call):
            keys += [k.value for k in call.keywords if k.arg in ("loss_callback", "step_callback")]
        if isinstance(feed, ast.Dict) and (replaced is None or (replaced.named is None and not replaced.run)):
            return [*keys, *feed.values]
        return keys if feed is None else [*keys, feed]

    # ---- what tape code has too --------------------------------------------------------------------------------------

    def _kept_names(self) -> Iterator[tuple[ast.expr, str]]:
        """Names that tape code has, too, with their spelling there; and the savers."""
        todo: list[ast.AST] = [self.tree]
        while todo:
            node = todo.pop()
            text = None
            if isinstance(node, ast.Call) and node.lineno in self.savers:
                made = any(isinstance(v, Path) and v.path == "train.Saver" for v in self.inference.values_of(node.func))
                text = self.savers[node.lineno] if made else None
            elif isinstance(node, ast.Call) and self._is_handed(node):
                text = self._optimizer(node)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
                paths = [v.path for v in self.inference.values_of(node) if isinstance(v, Path)]
                text = shared(paths[0]) if len(paths) == 1 and self._is_imported(node) else None
                if text is None and len(paths) == 1 and paths[0].startswith("data."):
                    text = reached(paths[0])
                if text is None and len(paths) == 1 and self._is_handed(node):
                    text = same_function(paths[0])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.savers:
                of = self.inference.values_of(node.func.value)
                if any(isinstance(v, Instance) and issubclass(v.kind, Saver) for v in of):
                    for argument in [*node.args, *[k.value for k in node.keywords]]:
                        value = self._value(argument)
                        if isinstance(value, Variable) and value.name in self.variables:
                            yield argument, self.variables[value.name]
            if text is None:
                todo += ast.iter_child_nodes(node)
            else:
                assert isinstance(node, ast.expr)
                yield node, text

    def _is_handed(self, node: ast.expr) -> bool:
        """Whether it is given to a class of the program, or stands for what is not given to a function."""
        above = self._above[node]
        if isinstance(above, ast.arguments):
            return True
        call = self._above[above] if isinstance(above, ast.keyword) else above
        if not isinstance(call, ast.Call) or call.func is node:
            return False
        return any(
            isinstance(v, Local) and isinstance(v.node, ast.ClassDef) for v in self.inference.values_of(call.func)
        )

    def _optimizer(self, call: ast.Call) -> str | None:
        """The text in tape code of what makes an optimizer of plain values; None if that is something else."""
        names = [v.path.rpartition("train.")[2] for v in self.inference.values_of(call.func) if isinstance(v, Path)]
        values = [*call.args, *(k.value for k in call.keywords)]
        if len(names) != 1 or not names[0].endswith("Optimizer") or not all(map(is_pure, values)):
            return None
        of_graph = any(self._is_left(n) for v in values for n in ast.walk(v) if isinstance(n, ast.expr))
        if of_graph or not hasattr(tape_api.compat.v1.train, names[0]):
            return None
        inside = ", ".join([*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)])
        return f"tf.compat.v1.train.{names[0]}({inside})"

    def _is_imported(self, node: ast.expr) -> bool:
        """Whether it is a name of TensorFlow's modules, or an imported one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._imported

    # ---- parts of the graph ------------------------------------------------------------------------------------------

    def _expressions(self, node: ast.AST) -> Iterator[ast.expr]:
        """All expressions in a node, except for what is known, and asked of sessions in calls that are replaced."""
        if isinstance(node, ast.expr) and extent(node) in self.plan.facts:
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.calls:
            for value in self.feed_values(node):
                if value is not getattr(self.plan.calls[extent(node)], "key", None):
                    yield from self._expressions(value)
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.sets:
            yield from self._expressions(self.plan.sets[extent(node)][1])
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.writers:
            for value in summaries.kept_arguments(node):
                yield from self._expressions(value)
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.adds:
            assert isinstance(node.func, ast.Attribute)
            for value in [node.func.value, *node.args, *(k.value for k in node.keywords)]:
                yield from self._expressions(value)
            return
        if isinstance(node, ast.Call) and extent(node) in self.plan.loads:
            assert isinstance(node.func, ast.Attribute)
            yield from self._expressions(node.func.value)
            yield from self._expressions(node.args[0])
            return
        if isinstance(node, ast.Dict) and extent(node) in self.plan.feeds:
            for value in node.values:
                yield from self._expressions(value)
            return
        if isinstance(node, ast.expr):
            yield node
        if getattr(getattr(node, "func", None), "attr", "") == "from_structure" and node in self.iterating.found:
            return
        for inner in ast.iter_child_nodes(node):
            yield from self._expressions(inner)

    def _may_be_graphs(self, name: ast.Name) -> bool:
        """Whether a name may stand for a part of the graph, or hold some, that is no session or object."""
        held = [v for v in self.inference.values_of(name) if not isinstance(v, Made)]
        return not self._is_session(name) and any(self._is_graphs(v) for v in held)

    def reads(self, function: Any, name: str) -> bool:
        """Whether what stays of a function reads one of its names."""
        raise NotImplementedError

    def _is_left(self, node: ast.expr) -> bool:
        """Whether an expression is of the graph, and not of the converted module; of a composed one its parts tell."""
        values = self.inference.values_of(node)
        if self.iterating.takes_next(node):
            return node not in self.iterating.returned
        if node in self.iterating.inside:
            return any(isinstance(v, Path) for v in values) or is_graphs(self._value(node))
        if self.iterating.names_iterator(node, self.scopes):
            return False
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) or node.id in self._labels or self.carriers.holds(node):
                return False
            if self._is_part_of_several(node):
                return False
            of_graph = any(self._is_graphs(v) for v in values) or (not values and is_graphs(self._value(node)))
            return of_graph and not self._is_session(node) and not self._is_here(node)
        if isinstance(node, ast.Call):
            if self._is_run(node):
                return bool(self.inference.values_of(node.func))  # one that was never reached
            if self.local_build(node) or self.builds_elsewhere(node) or self._assigns_later(node):
                return True
        if isinstance(node, ast.Attribute) and self._is_session(node.value):
            return True
        if self.instances.any_in(node):
            return not isinstance(node, ast.Attribute) and not self.notes.built.isdisjoint(lines_of(node))
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        told = any(self._is_graphs(v) for n in names for v in self.inference.values_of(n))
        told = told or any(isinstance(n, ast.expr) and extent(n) in self.plan.facts for n in ast.walk(node))
        return not told and not self._is_session(node) and any(self._is_graphs(v) for v in values)

    def _assigns_later(self, node: ast.Call) -> bool:
        """Whether a call makes the operation that changes a variable, which would change it at once in tape code."""
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr.startswith(("assign", "scatter_"))
        return is_method and isinstance(self._value(node.func.value), Variable)  # type: ignore[attr-defined]

    def _is_part_of_several(self, name: ast.Name) -> bool:
        """Whether a name stands for a label, or labels, that an object holds."""
        sources = list(self.scopes.of[name].find(name.id) or ()) if self.instances.objects else []
        found: list[ast.expr] = []
        for source in sources:
            while isinstance(source, (Element, Part)):
                source = source.source
            found += [source.node] if isinstance(source, Expression) else []
        held = [n for n in found if self.instances.any_in(n) and self.notes.built.isdisjoint(lines_of(n))]
        return 0 < len(sources) == len(held)

    def _is_session(self, node: ast.expr) -> bool:
        """Whether it can only be a session, which `_check_names` looks at."""
        values = self.inference.values_of(node)
        return bool(values) and all(isinstance(v, Instance) and issubclass(v.kind, SESSIONS) for v in values)

    def _is_here(self, node: ast.Name) -> bool:
        """Whether a name is the converted module's, or goes through what is."""
        sources = self.scopes.of[node].find(node.id)
        if sources is self.scopes.module.bound.get(node.id) and node.id in self.provided:
            # the step of an optimizer may have the name that the optimizer itself has there
            return not isinstance(self._value(node), Operation)
        return bool(sources) and all(
            isinstance(s, Element)
            and isinstance(s.source, Expression)
            and isinstance(s.source.node, ast.Name)
            and self._is_here(s.source.node)
            for s in sources or ()
        )

    def local_build(self, node: ast.Call) -> bool:
        """Whether it calls a function of the program that only builds; a constructor stays where its objects do."""
        local = [v.node for v in self.inference.values_of(node.func) if isinstance(v, Local)]
        kinds = [self.inference.owner(n) if getattr(n, "name", "") == "__init__" else None for n in local]
        return any(self._builds(n) if k is None else self._builds_object(k) for n, k in zip(local, kinds, strict=True))

    def builds_elsewhere(self, node: ast.Call) -> bool:
        """Whether it calls what another module of the program's own has, and that added to the graph."""
        name: ast.expr = node.func
        while isinstance(name, (ast.Attribute, ast.Call)):
            name = name.value if isinstance(name, ast.Attribute) else name.func
        known = [v for v in self.inference.values_of(node.func) if not isinstance(v, Foreign)]
        if known or self.notes.built.isdisjoint(lines_of(node)):
            return False
        own = self.names.get(name.id) if isinstance(name, ast.Name) else None
        return own is not None and is_own(own) and getattr(own, "__module__", "") != "__main__"

    def runs(self, node: ast.AST) -> bool:
        """Whether a session was run from there; runs that only initialize variables do not count."""
        if any(isinstance(n, ast.Call) and extent(n) in self.plan.calls for n in ast.walk(node)):
            return True
        inside = getattr(node, "body", None)
        first = inside[0].lineno if isinstance(inside, list) else node.lineno  # type: ignore[attr-defined]
        return not self._ran.isdisjoint(range(first, (node.end_lineno or first) + 1))  # type: ignore[attr-defined]

    def _builds(self, node: ast.AST) -> bool:
        if node in self.carriers.functions or getattr(node, "name", "") in self.instances.objects:
            return False
        if place(node) in self.plan.gone:  # it initialized variables, too
            return True
        if node not in self._owned:
            self._owned[node] = False
            body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
            left = not self.runs(node) and any(
                self._is_left(n) for statement in body for n in self._expressions(statement)
            )
            self._owned[node] = left
        return self._owned[node]

    def _is_graphs(self, value: Value) -> bool:
        """Whether a value is TensorFlow's, and tape code has it not."""
        if isinstance(value, Path) and shared(value.path):
            return False
        if isinstance(value, Unknown) and (of := re.match(r"tf\.([\w.]+)", value.source)) and shared(of[1]):
            return False
        if isinstance(value, (Instance, Method)) and issubclass(value.kind, (BaseDataset, DatasetIterator)):
            return False
        if isinstance(value, (Instance, Method)):
            kept = (FileWriter, Saver) if self.savers else (FileWriter,)
            return not (is_apart(value.kind) or issubclass(value.kind, kept))
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
        return not self.runs(node) and self._builds(node)


def lines_of(node: ast.expr) -> range:
    """The lines on which an expression stands."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def graph_name(value: Any) -> str | None:
    """The name that the map has for a tensor, operation or variable."""
    if isinstance(value, Variable):
        return value.name
    return getattr(value, "name", None) if isinstance(getattr(value, "graph", None), Graph) else None


def is_pure(node: ast.AST) -> bool:
    """Whether leaving it out changes nothing else."""
    calls = [n for n in ast.walk(node) if isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.NamedExpr))]
    return all(isinstance(c, ast.Call) and _is_pure_call(c) for c in calls)


def _is_pure_call(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name in PURE_CALLS or (name.startswith(("np.", "numpy.")) and ".random" not in name)
