"""Runs of sessions in a program's text, and which of its expressions are of the graph, for `plan`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import tape_api
from dualgrad.data.dataset import BaseDataset
from dualgrad.migrate.check.inference import Inference
from dualgrad.migrate.check.scopes import Element, Expression, Scopes
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
from dualgrad.migrate.convert.dispatching import Carriers
from dualgrad.migrate.convert.edits import Place, Plan, Replaced, Unsafe, extent
from dualgrad.migrate.convert.facts import (
    Facts,
    held_by,
    is_apart,
    is_graphs,
    is_own,
    labeled,
    reached,
    same_function,
    shared,
)
from dualgrad.migrate.convert.hosted import read
from dualgrad.migrate.convert.iterating import Iterating
from dualgrad.migrate.convert.monitoring import SESSIONS, Monitoring
from dualgrad.migrate.convert.observed_run import CHANGES
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core import nest
from engine.core.variable import Variable
from graph_api.graph import Graph
from graph_api.iterators import Iterator as DatasetIterator
from graph_api.saving import Saver
from graph_api.summaries import FileWriter
from graph_api.tensor import Operation
from optim.external import ScipyOptimizerInterface

RUNS = {"run", "eval"}
PURE_CALLS = {"range", "len", "enumerate", "zip", "list", "dict", "tuple", "set", "int", "float", "str", "sorted"}


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
    adding : dict
        The lines that add summaries to event files, and what they add.
    hosted : dict
        By place, statements that make variables and constants there (`hosted`).
    monitored : dict
        By the line that makes it, a monitored session.
    """

    def __init__(
        self, source: str, functions: Sequence[dict[str, Any]], provided: set[str], notes: Any, names: dict[str, Any],
        variables: dict[str, str], savers: dict[int, str], adding: dict[int, set[str]],
        hosted: Mapping[Place, list[str]] | None = None,
        monitored: Mapping[int, Any] | None = None,
    ) -> None:  # fmt: skip
        self.variables, self.savers, self.adding = variables, savers, adding
        self.tree = ast.parse(source)
        self.functions, self.provided, self.notes, self.names = functions, provided, notes, names
        self.scopes = Scopes(self.tree)
        self.inference = Inference(self.scopes, Surface.of("1"))
        self._around: dict[ast.AST, list[Any]] = {}
        self._above = {inner: n for n in ast.walk(self.tree) for inner in ast.iter_child_nodes(n)}
        for function in ast.walk(self.tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for n in ast.walk(function):
                    self._around.setdefault(n, []).insert(0, function)
        self.facts = Facts(self.tree, self.scopes, names, self._local)
        self.plan = Plan(facts={extent(node): text for node, text in self.facts.found(self.tree)})
        self.plan.hosted = dict(hosted or {})
        self.needed = read(self.plan.hosted.values())
        """Names that hosted statements read."""
        self.read_again: set[Place] = set()
        """Statements whose values hosted ones say themselves."""
        self._imported = {a.asname or a.name.partition(".")[0] for n in ast.walk(self.tree)
                          if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}  # fmt: skip
        self._owned: dict[ast.AST, bool] = {}
        self.iterating = Iterating(self.tree, self.inference)
        self.plan.iterators = {extent(node): kind for node, kind in self.iterating.found.items()}
        self.plan.facts |= {extent(node): text for node, text in self.iterating.texts()}
        self.plan.facts |= {extent(node): text for node, text in self._kept_names()}
        taken = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | provided | self._imported
        taken |= {n.name for n in ast.walk(self.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        self.run = next(name for name in ("run", "run_functions", "run_functions_of") if name not in taken)
        self.unread: list[tuple[Any, str]] = []
        """Functions, and their parameters that nothing may read."""
        self.dispatched: list[dict[str, Any]] = []
        """The functions of which only the running program knows which one is meant (`dispatching`)."""
        self.carriers = Carriers(self.scopes, self.inference, self._may_be_graphs, self._is_fixed)
        self._ran = {line for f in functions if f["name"] or f["values"] or f.get("iterates") for line in f["within"]}
        ends = any(f.get("taken") for f in functions)
        self.monitoring = Monitoring(self.tree, self.inference, monitored or {}, variables, savers, ends)
        self.called: set[str] = set()
        """Functions of the program that the converted module calls."""
        self._again = False
        self._labels: set[str] = set()
        """Names of loops that go through labels."""
        self._collected: set[str] = set()
        """Names of lists and dicts from which lines were left out that add to them."""
        self._once: list[Sequence[ast.stmt]] = []

    def _kept_names(self) -> Iterator[tuple[ast.expr, str]]:
        """Names that tape code has, too, with their spelling there; and the savers."""
        todo: list[ast.AST] = [self.tree]
        while todo:
            node = todo.pop()
            text = None
            if isinstance(node, ast.Call) and node.lineno in self.savers:
                made = any(isinstance(v, Path) and v.path == "train.Saver" for v in self.inference.of(node.func))
                text = self.savers[node.lineno] if made else None
            elif isinstance(node, ast.Call) and self._is_handed(node):
                text = self._optimizer(node)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
                paths = [v.path for v in self.inference.of(node) if isinstance(v, Path)]
                text = shared(paths[0]) if len(paths) == 1 and self._is_imported(node) else None
                if text is None and len(paths) == 1 and paths[0].startswith("data."):
                    text = reached(paths[0])
                if text is None and len(paths) == 1 and self._is_handed(node):
                    text = same_function(paths[0])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.savers:
                of = self.inference.of(node.func.value)
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
        return any(isinstance(v, Local) and isinstance(v.node, ast.ClassDef) for v in self.inference.of(call.func))

    def _optimizer(self, call: ast.Call) -> str | None:
        """The text in tape code of what makes an optimizer of plain values; None if that is something else."""
        names = [v.path.rpartition("train.")[2] for v in self.inference.of(call.func) if isinstance(v, Path)]
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

    # ---- runs of sessions --------------------------------------------------------------------------------------------

    def _find_runs(self) -> None:
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and self._is_run(n)]
        unseen = {n.value for n in ast.walk(self.tree) if isinstance(n, ast.Expr)}
        for load in [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and self._loads(n)]:
            self.plan.loads.add(extent(load))
            assert isinstance(load.func, ast.Attribute)
            variable = self._value(load.func.value)
            if isinstance(variable, Variable) and variable.name in self.variables:
                self.plan.facts[extent(load.func.value)] = self.variables[variable.name]
        self._find_writers()
        for call in calls:
            # functions of one name do the same; none is found for a call that was never reached: `_statement` says so
            # if it would stay
            fitting = {self._does(call, f, call in unseen): f for f in self.functions if self._shapes(call, f)}
            again = _initializers(list(fitting.values()))
            fitting = fitting if again is None else {(): again}
            before = self.plan.copy()
            if self._sets(call, list(fitting.values())):
                continue
            try:
                if len(fitting) > 1 and any(f["name"] or f["values"] for f in fitting.values()):
                    self.plan.calls[extent(call)] = self._chosen(call, list(fitting.values()), call in unseen)
                elif fitting:
                    self.plan.calls[extent(call)] = self._replaced(call, next(iter(fitting.values())), call in unseen)
            except Unsafe:
                self.plan = before
                if not self._dispatched(call, list(fitting.values())):
                    raise
            if extent(call) in self.plan.calls:
                self._follow(call)
        self.monitoring.plan(self.plan, calls)
        self.called |= self.monitoring.read

    def _sets(self, call: ast.Call, functions: Sequence[dict[str, Any]]) -> bool:
        """Whether a run assigns what the program has computed to a variable: it becomes the assignment alone."""
        fetches = self.asked(call)[0] if functions else None
        if not isinstance(fetches, ast.Call) or any(f["name"] or len(f["values"]) != 1 for f in functions):
            return False
        of = self.inference.of(fetches.func)
        given = {str(k.arg): k.value for k in fetches.keywords}
        if any(isinstance(v, Path) and v.path in ("assign", "compat.v1.assign") for v in of):
            given |= dict(zip(("ref", "value"), fetches.args, strict=False))
        elif isinstance(fetches.func, ast.Attribute) and fetches.func.attr == "assign":
            given |= {"ref": fetches.func.value, **dict(zip(("value",), fetches.args, strict=False))}
        variable = self._value(given["ref"]) if given.keys() >= {"ref", "value"} else None
        code = self.variables.get(variable.name) if isinstance(variable, Variable) else None
        if code is None or any(not f["values"][0].startswith(f"{code}.assign(") for f in functions):
            return False
        self.plan.sets[extent(call)] = code, given["value"]
        return True

    def _dispatched(self, call: ast.Call, functions: Sequence[dict[str, Any]]) -> bool:
        """Whether a function can find out, while the program runs, what a run computes: it is called then."""
        wanted = [f for f in self.functions if self._shapes(call, f)]
        told = [f for f in wanted if f["name"] or f["values"]]
        if len(told) < len(wanted) or any(f.get("iterates") or f.get("taken") for f in wanted):
            return False
        if self.is_minimization(call) or any("?" in shape for f in wanted for shape in self._shapes(call, f)):
            return False
        self._labeled()
        self.dispatched += [f for f in told if f not in self.dispatched]
        self.plan.calls[extent(call)] = Replaced(functions[0], [], True, run=self.run)
        return True

    def _follow(self, call: ast.Call) -> None:
        """Have the names in what a run fetches and is fed carry labels, as far as only the running program knows it."""
        replaced, (fetches, feed) = self.plan.calls[extent(call)], self.asked(call)
        if replaced.run or replaced.key is not None:
            self.carriers.follow(fetches, whole=True)
        if feed is not None and (replaced.run or replaced.named is not None):
            self.carriers.follow(feed, whole=True)

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether it stands for one part of the graph, or list of parts, to which nothing is added."""
        grows = False
        if isinstance(node, ast.Name):
            sources = self.scopes.of[node].find(node.id)
            bases = [b for b, _ in self.scopes.stored if isinstance(b, ast.Name) and b.id == node.id]
            grows = any(self.scopes.of[b].find(b.id) is sources for b in bases)
        return not grows and self.facts.handles(node, self.label) is not None

    def _find_writers(self) -> None:
        """Find the calls that make writers of event files, and that hand them summaries."""
        for call in [n for n in ast.walk(self.tree) if isinstance(n, ast.Call)]:
            if any(isinstance(v, Path) and summaries.is_name(v.path) for v in self.inference.of(call.func)):
                self.plan.writers.add(extent(call))
            elif summaries.is_adding(call, self.adding):
                if "other" in set().union(*(self.adding.get(n, ()) for n in lines_of(call))):
                    raise Unsafe(f"line {call.lineno}: it makes summaries of its own that are no scalars")
                self.plan.adds.add(extent(call))

    def _does(self, call: ast.Call, function: dict[str, Any], is_unseen: bool) -> tuple[Any, ...]:
        """The key of a call where a function computes what it asks for; equal where that is the same."""
        positions = () if is_unseen else tuple([f in function["returns"] and function["returns"].index(f)
                                            for f in function["fetches"]])  # fmt: skip
        shapes = () if is_unseen else tuple(self._shapes(call, function))
        return function["name"], tuple(function["values"]), tuple(function["fed"]), positions, shapes

    def _shapes(self, call: ast.Call, function: dict[str, Any]) -> list[str]:
        """How the results were put together where a call asked for what a function computes; empty if it did not."""
        at = list(extent(call))
        return next((list(shapes) for where, shapes in function["calls"] if where == at), [])

    def _chosen(self, call: ast.Call, functions: Sequence[dict[str, Any]], is_unseen: bool) -> Replaced:
        """A run of which its fetches or its feeds tell, while the program runs, what it computes."""
        fetches = self.asked(call)[0]
        differ = len({(*f["feeds"].values(), None, *f["fed"]) for f in functions}) > 1
        each = [self._replaced(call, f, is_unseen, differ) for f in functions]
        alike = {(tuple(r.leaves), r.several, r.form, len(r.function["returns"])) for r in each}
        asked = {tuple(f["fetches"]) for f in functions}
        told = {tuple(f["fed"]) for f in functions}
        one = (len(asked), len(told)) in {(1, len(functions)), (len(functions), 1)}
        if len(alike) > 1 or each[0].form or not one:
            raise Unsafe(f"line {call.lineno}: what is run depends on how the program runs")
        keys: list[Any] = [tuple(map(self.label, f["fed"])) for f in functions]
        if len(asked) > 1:
            keys = [tuple(map(self.label, f["fetches"])) for f in functions]
            each[0].key = fetches
            for name in (n for n in ast.walk(fetches) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)):
                text = self.facts.handles(name, self.label) if self._is_left(name) else None
                if text is not None:
                    self.plan.facts[extent(name)] = text
            if not each[0].several:
                keys = [key for (key,) in keys]
        each[0].choices = {repr(key): r.function for key, r in zip(keys, each, strict=True)}
        return each[0]

    def _loads(self, call: ast.Call) -> bool:
        """Whether it is ``variable.load(value, session)``."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "load" or not call.args:
            return False
        return any(isinstance(v, Instance) and issubclass(v.kind, Variable) for v in self.inference.of(call.func.value))

    def label(self, name: str) -> str:
        """The name in tape code of a tensor that is fed, or that is fetched by a name of the program's."""
        named = {p for f in self.functions for p, x in f["feeds"].items() if x == name}
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

    def _is_run(self, call: ast.Call) -> bool:
        if self._is_count(call):
            return True
        if self.is_minimization(call):
            return True
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in RUNS:
            return False
        if extent(call.func) in self.plan.facts:  # tf.app.run
            return False
        base = self.inference.of(call.func.value)
        return not base or any(self._is_graphs(v) for v in base)

    def is_minimization(self, call: ast.Call) -> bool:
        """Whether it is ``ScipyOptimizerInterface.minimize``, which is one run here."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "minimize":
            return False
        of = self.inference.of(call.func.value)
        return any(isinstance(v, Instance) and issubclass(v.kind, ScipyOptimizerInterface) for v in of)

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
        if self.is_minimization(call):
            return call.func.value, call.args[1] if len(call.args) > 1 else keywords.get("feed_dict")
        session = any(
            isinstance(v, Instance) and issubclass(v.kind, SESSIONS) for v in self.inference.of(call.func.value)
        )
        session = session or (call.func.attr == "run" and bool(call.args) and not isinstance(call.args[0], ast.Dict))
        if session:
            fetches = call.args[0] if call.args else keywords["fetches"]
            return fetches, call.args[1] if len(call.args) > 1 else keywords.get("feed_dict")
        return call.func.value, call.args[0] if call.args else keywords.get("feed_dict")

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

    def _replaced(self, call: ast.Call, function: dict[str, Any], is_unseen: bool, chosen: bool = False) -> Replaced:
        feed = self.asked(call)[1]
        if function.get("iterates"):
            return self._iterated(call, function)
        iterators = [self.iterating.iterator_on(t["line"]) for t in function.get("taken", ()) if t["handle"] is None]
        elements = {name for t in function.get("taken", ()) for name in t["names"]}
        fed = [name for name in function["fed"] if name not in elements]
        try:
            told = self._told(feed, call)
            if len(told) != len(fed) or chosen:
                raise Unsafe(f"line {call.lineno}: what is fed depends on how the program runs")
        except Unsafe:
            if feed is None or not self._labeled():
                raise
            told = []
        used = {*function["feeds"].values(), *(t["handle"] for t in function.get("taken", ()))}
        given = list(function["feeds"].values())
        for at in {at for at, _, form in told if form}:
            of = [name for name, (other, _, _) in zip(fed, told, strict=False) if other == at]
            first = given.index(of[0]) if of[0] in given else len(given)
            if given[first : first + len(of)] != of:
                raise Unsafe(
                    f"line {call.lineno}: only a part of a structure that is fed is needed, or in another order"
                )
        for name, (at, value, _) in zip(function["fed"], told, strict=False):
            if name not in used and isinstance(at, int) and not is_pure(value):  # what stands elsewhere stays there
                raise Unsafe(f"line {call.lineno}: it feeds something that is not needed ({ast.unparse(value)})")
        shapes = self._shapes(call, function)
        flat: list[int | None] = [
            function["returns"].index(f) if f in function["returns"] else None for f in function["fetches"]
        ]
        if is_unseen:
            shapes = ["[" + "".join(f"@{i}, " for i in range(len(flat))) + "]"]
        if len(shapes) != 1 or "?" in shapes[0]:
            raise Unsafe(f"line {call.lineno}: a fetch is a structure that is made elsewhere")
        (shape,) = shapes
        several = not shape.startswith("@")
        nested = several and (shape[0] not in "[(" or re.search(r"[\[({]", shape[1:]) is not None)
        replaced = Replaced(function, flat, several, [f for f, _, _ in told], shape if nested else "")
        replaced.starred = {at: form for at, _, form in told if form}
        replaced.named = feed if fed and not told else None
        if replaced.named is not None and any(self.label(x) != p for p, x in function["feeds"].items()):
            raise Unsafe(f"line {call.lineno}: what is fed has several names")
        replaced.iterators = iterators
        if replaced.named is not None and elements:
            raise Unsafe(f"line {call.lineno}: what is fed depends on how the program runs")
        return replaced

    def _iterated(self, call: ast.Call, function: dict[str, Any]) -> Replaced:
        """A run that starts iterators, names one, or fetches what comes next."""
        fetches, feed = self.asked(call)
        if feed is not None:
            raise Unsafe(f"line {call.lineno}: a data set is made of what is fed")
        kinds = function["iterates"]
        replaced = Replaced(function, [None], False)
        if "next" in kinds:
            replaced.iterators = [self.iterating.iterator_on(taken["line"]) for taken in function["taken"]]
            return replaced
        parts = leaves_of(fetches)
        if len(parts) != len(kinds):
            raise Unsafe(f"line {call.lineno}: what is run is made elsewhere")
        replaced.iterators = [part for part, kind in zip(parts, kinds, strict=True) if kind]
        return replaced

    def _labeled(self) -> bool:
        """Have the keys of all feeds be labels; whether there are any."""
        fed = {x for f in self.functions for x in f["fed"]}
        keys = [k for n in ast.walk(self.tree) if isinstance(n, ast.Dict) for k in n.keys if k is not None]
        keys += [n.slice for n in ast.walk(self.tree) if isinstance(n, ast.Subscript)]
        loops = [n.target for n in ast.walk(self.tree) if isinstance(n, ast.For)]
        changing = {n.id for target in loops for n in ast.walk(target) if isinstance(n, ast.Name)}
        for key in [k for k in keys if not (isinstance(k, ast.Name) and k.id in changing)]:
            name = graph_name(self._value(key)) if isinstance(key, (ast.Name, ast.Attribute, ast.Subscript)) else None
            if name in fed:
                self.plan.facts[extent(key)] = repr(self.label(str(name)))
        return bool(fed)

    def _handled(self, left: Callable[[], list[ast.expr]]) -> bool:
        """Whether parts of the graph are only named, for runs to come: labels stand for them then."""
        while found := left():
            for whole in found:
                while (
                    isinstance(above := self._above.get(whole), (ast.Attribute, ast.Subscript)) and above.value is whole
                ):
                    whole = above
                text = self.facts.handles(whole, self.label)
                if text is None and isinstance(getattr(whole, "ctx", None), ast.Load):
                    held = self._value(whole)
                    text = None if held is None else labeled(held, self.label)
                text = self._unneeded(whole, text) or text
                if text is not None:
                    self.plan.facts[extent(whole)] = text
                    break
            else:
                return False
        return True

    def _unneeded(self, given: ast.expr, label: str | None) -> str:
        """``None`` where it is given to a function of the program that does not read it any more; empty otherwise."""
        above = self._above[given]
        call = self._above[above] if isinstance(above, ast.keyword) else above
        functions = self.inference.of(call.func) if isinstance(call, ast.Call) and call.func is not given else ()
        given_as = above if isinstance(above, ast.keyword) else given
        parameters = [self._parameter(v.node, call, given_as) for v in functions if isinstance(v, Local)]
        if not parameters or None in parameters or len(parameters) < len(functions):
            return ""
        read = [self.reads(*p) for p in parameters if p is not None]
        if any(read) and label is not None:
            return ""
        # a function that stands below may not be planned yet
        self.unread += [p for p in parameters if p is not None]
        return "None"

    def _parameter(self, node: Any, call: Any, given: ast.AST) -> tuple[Any, str] | None:
        """The function of the program, and its parameter, that a call gives something to."""
        if isinstance(node, ast.ClassDef):
            found = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            node = found[0] if found else None
        before = call.args[: call.args.index(given)] if given in call.args else []
        if not isinstance(node, ast.FunctionDef) or any(isinstance(a, ast.Starred) for a in before):
            return None
        if isinstance(given, ast.keyword):
            return node, str(given.arg)
        names = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
        at = call.args.index(given) if given in call.args else len(names)
        at += next((shift for known, shift in self.inference.calls.get(node, ()) if known is call), 0)
        return (node, names[at]) if at < len(names) else None

    def _parts(self, key: ast.expr) -> tuple[list[str], str]:
        """Endings that tell the parts of one key apart that is fed, a structure perhaps; and how its value is given."""
        value = self._value(key)
        if isinstance(value, SparseTensor):  # its indices, values and shape
            return ["", " values", " shape"], ""
        if isinstance(value, (tuple, list)) and is_graphs(value):
            plain = all(graph_name(x) is not None for x in value)
            return ["", *(f" {i}" for i in range(1, len(nest.flatten(value))))], "*" if plain else "*flatten"
        return [""], ""

    def _told(self, feed: ast.expr | None, call: ast.Call) -> list[tuple[str | int, ast.expr, str]]:
        """The feeds, in order: an expression, or which element of the dict that stands there; its value; `_parts`."""
        if feed is None:
            return []
        feeds: dict[str, tuple[str | int, ast.expr, str]] = {}
        named = isinstance(feed, ast.Name)
        pairs = enumerate(zip(feed.keys, feed.values, strict=True)) if isinstance(feed, ast.Dict) else []
        for number, (key, value) in [(0, (None, feed))] if named else pairs:
            if key is not None:
                parts, form = self._parts(key)
                feeds |= {key_of(key) + part: (number, value, form) for part in parts}
            elif isinstance(value, ast.Name):
                node = self._written(value, call)
                for inner, given in zip(node.keys, node.values, strict=True):
                    if inner is not None:
                        place = f'{value.id}["{key_of(inner)}"]'
                        parts, form = self._parts(inner)
                        feeds |= {key_of(inner) + part: (place, given if named else value, form) for part in parts}
            else:
                raise Unsafe(f"line {call.lineno}: what is fed depends on how the program runs")
        return list(feeds.values())

    def _written(self, name: ast.Name, call: ast.Call) -> ast.Dict:
        """The dict that a name stands for, whose keys become strings, or several with the same keys."""
        sources = self.scopes.of[name].find(name.id) or []
        nodes = [source.node if isinstance(source, Expression) else None for source in sources]
        keys = {ast.unparse(ast.Tuple([k for k in n.keys if k])) if isinstance(n, ast.Dict) else "" for n in nodes}
        node = nodes[0] if len(keys) == 1 else None
        named = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id == name.id]
        every = [n for n in named if self.scopes.of[n].find(n.id) is sources]
        fed = {c for c in ast.walk(self.tree) if isinstance(c, ast.Call) and self._is_run(c)}
        feeds = [self.asked(c)[1] for c in fed]
        starred = [v for d in feeds if isinstance(d, ast.Dict) for k, v in zip(d.keys, d.values, strict=True) if not k]
        told = {id(node) for node in [*feeds, *starred]}
        only_fed = all(isinstance(n.ctx, ast.Store) or id(n) in told for n in every)
        if not isinstance(node, ast.Dict) or None in node.keys or not only_fed:
            raise Unsafe(f"line {call.lineno}: what is fed is made elsewhere ({name.id})")
        for each in nodes:
            assert isinstance(each, ast.Dict)
            self.plan.feeds[extent(each)] = [key_of(k) for k in node.keys if k is not None]
        return node

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

    # ---- expressions -------------------------------------------------------------------------------------------------

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
        held = [v for v in self.inference.of(name) if not isinstance(v, Made)]
        return not self._is_session(name) and any(self._is_graphs(v) for v in held)

    def reads(self, function: Any, name: str) -> bool:
        """Whether what stays of a function reads one of its names."""
        raise NotImplementedError

    def _is_left(self, node: ast.expr) -> bool:
        """Whether an expression is of the graph, and not of the converted module; of a composed one its parts tell."""
        values = self.inference.of(node)
        if self.iterating.takes_next(node):
            return True
        if node in self.iterating.inside:
            return any(isinstance(v, Path) for v in values) or is_graphs(self._value(node))
        if self.iterating.names_iterator(node, self.scopes):
            return False
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) or node.id in self._labels or self.carriers.holds(node):
                return False
            of_graph = any(self._is_graphs(v) for v in values) or (not values and is_graphs(self._value(node)))
            return of_graph and not self._is_session(node) and not self._is_here(node)
        if isinstance(node, ast.Call):
            if self._is_run(node):
                return bool(self.inference.of(node.func))  # one that was never reached
            if self._local_build(node) or self.builds_elsewhere(node):
                return True
        if isinstance(node, ast.Attribute) and self._is_session(node.value):
            return True
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        told = any(self._is_graphs(v) for n in names for v in self.inference.of(n))
        told = told or any(isinstance(n, ast.expr) and extent(n) in self.plan.facts for n in ast.walk(node))
        return not told and not self._is_session(node) and any(self._is_graphs(v) for v in values)

    def _is_session(self, node: ast.expr) -> bool:
        """Whether it can only be a session, which `_check_names` looks at."""
        values = self.inference.of(node)
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

    def _local_build(self, node: ast.Call) -> bool:
        """Whether it calls a function of the program that only builds."""
        local = [v.node for v in self.inference.of(node.func) if isinstance(v, Local)]
        return any(self._builds(n) for n in local)

    def builds_elsewhere(self, node: ast.Call) -> bool:
        """Whether it calls what another module of the program's own has, and that added to the graph."""
        name: ast.expr = node.func
        while isinstance(name, (ast.Attribute, ast.Call)):
            name = name.value if isinstance(name, ast.Attribute) else name.func
        known = [v for v in self.inference.of(node.func) if not isinstance(v, Foreign)]
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
        if node in self.carriers.functions:
            return False
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


def _initializers(functions: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The function that sets variables anew, of those that a run stands for which first initializes them."""
    first = [f for f in functions if not (f["name"] or f["values"] or f.get("iterates"))]
    later = [f for f in functions if f["name"]]
    if not first or len(later) != 1 or len(first) + 1 < len(functions):
        return None
    return later[0] if not (later[0]["returns"] or later[0]["fed"]) else None


def lines_of(node: ast.expr) -> range:
    """The lines on which an expression stands."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def leaves_of(fetches: ast.expr) -> list[ast.expr]:
    """The elements that are fetched, one by one."""
    return list(fetches.elts) if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]


def key_of(node: ast.expr) -> str:
    """``"x"`` for ``self.x`` and ``graph["x"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


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
