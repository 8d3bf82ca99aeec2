"""Runs of sessions in a program's text, and the functions that they become, for `plan`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualgrad.migrate.check.scopes import Expression
from dualgrad.migrate.check.values import Instance, Local, Path
from dualgrad.migrate.convert import summaries
from dualgrad.migrate.convert.edits import Place, Replaced, Unsafe, extent
from dualgrad.migrate.convert.expressions import Expressions, graph_name, is_pure, lines_of
from dualgrad.migrate.convert.facts import is_graphs, labeled
from dualgrad.migrate.convert.monitoring import Monitoring
from dualgrad.migrate.convert.program_initializers import read
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core import nest
from engine.core.variable import Variable


class Runs(Expressions):
    """Finds the runs of sessions in a program, and the functions that they become.

    Parameters
    ----------
    source, conversion, provided, notes, names, objects
        See `Expressions`.
    hosted : dict
        By place, statements that make variables and constants there (`program_initializers`).
    """

    def __init__(
        self, source: str, conversion: Any, provided: set[str], notes: Any, names: dict[str, Any],
        objects: Mapping[str, Sequence[Any]], hosted: Mapping[Place, list[str]],
    ) -> None:  # fmt: skip
        super().__init__(source, conversion, provided, notes, names, objects)
        self.conversion = conversion
        self.plan.hosted, self.plan.seeds = dict(hosted), conversion.seeds
        self.needed = read(hosted.values()) | (read(map(dict.values, conversion.inside.values())) - {"self"})
        """Names that hosted statements read."""
        self.read_again: set[Place] = {where for origin, _ in conversion.hosted for where in origin.read}
        """Statements whose values hosted ones say themselves."""
        taken = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | provided | self._imported
        taken |= {n.name for n in ast.walk(self.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        self.run = next(name for name in ("run", "run_functions", "run_functions_of") if name not in taken)
        self._same: dict[ast.Call, ast.Call] = {}
        """Of runs that were never reached, others that ask for the same."""
        self.unread: list[tuple[Any, str]] = []
        """Functions, and their parameters that nothing may read."""
        self.dispatched: list[dict[str, Any]] = []
        """The functions of which only the running program knows which one is meant (`dispatching`)."""
        ends = any(f.get("taken") for f in self.functions)
        monitored = conversion.monitored
        self.monitoring = Monitoring(self.tree, self.inference, monitored, self.variables, self.savers, ends)
        self.called = read([[conversion.text]]) - provided
        """Functions of the program that the converted module calls."""
        self._again = False
        self._collected: set[str] = set()
        """Names of lists and dicts from which lines were left out that add to them."""
        self._once: list[Sequence[ast.stmt]] = []

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
        reached = [c for c in calls if any(self._shapes(c, f) for f in self.functions)]
        asked = {self._asks(c): c for c in reversed(reached)}
        self._same = {c: asked[key] for c in calls if c not in reached and (key := self._asks(c)) in asked}
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
                    raise Unsafe(f"line {call.lineno}: what is run depends on how the program runs")
                if fitting:
                    self.plan.calls[extent(call)] = self._replaced(call, next(iter(fitting.values())), call in unseen)
            except Unsafe:
                self.plan = before
                if not self._dispatched(call, list(fitting.values())):
                    raise
            if extent(call) in self.plan.calls:
                self._follow(call)
        self.monitoring.plan(self.plan, calls)
        self.called |= self.monitoring.read

    def _asks(self, call: ast.Call) -> tuple[Any, ...]:
        """The key of what a run fetches and is fed: equal where that is the same, with names that are given once."""
        fetches, feed = self.asked(call)
        whole = [fetches, *(feed.keys if isinstance(feed, ast.Dict) else [feed])]
        names = [n for part in whole if part is not None for n in ast.walk(part) if isinstance(n, ast.Name)]
        found = [self.scopes.of[n].find(n.id) or (n,) for n in names]
        owners = tuple([self.inference.owner(f) for f in self._around.get(call, ())])
        of = [owners if n.id == "self" else id(f if len(f) == 1 else n) for n, f in zip(names, found, strict=True)]
        return str(getattr(call.func, "attr", "")), *[part and ast.unparse(part) for part in whole], *of

    def _sets(self, call: ast.Call, functions: Sequence[dict[str, Any]]) -> bool:
        """Whether a run assigns what the program has computed to a variable: it becomes the assignment alone."""
        fetches = self.asked(call)[0] if functions else None
        if not isinstance(fetches, ast.Call) or any(f["name"] or len(f["values"]) != 1 for f in functions):
            return False
        of = self.inference.values_of(fetches.func)
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
        fetches, _ = self.asked(call)
        own = fetches if isinstance(call.func, ast.Attribute) and fetches is call.func.value else None
        self.plan.calls[extent(call)] = Replaced(functions[0], [], True, key=own, run=self.run)
        return True

    def _follow(self, call: ast.Call) -> None:
        """Have the names in what a run fetches and is fed carry labels, as far as only the running program knows it."""
        replaced, (fetches, feed) = self.plan.calls[extent(call)], self.asked(call)
        if replaced.run or replaced.key is not None:
            for name in [n for n in ast.walk(fetches) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]:
                whole = next((w for w in self._wholes(name) if self.facts.handles(w, self.label)), None)
                if whole is not None and self._is_left(name):
                    self.plan.facts[extent(whole)] = str(self.facts.handles(whole, self.label))
            self.carriers.follow(fetches, whole=True)
        if feed is not None and (replaced.run or replaced.named is not None):
            self.carriers.follow(feed, whole=True)

    def _find_writers(self) -> None:
        """Find the calls that make writers of event files, and that hand them summaries."""
        for call in [n for n in ast.walk(self.tree) if isinstance(n, ast.Call)]:
            if any(isinstance(v, Path) and summaries.is_name(v.path) for v in self.inference.values_of(call.func)):
                self.plan.writers.add(extent(call))
            elif summaries.is_adding(call, self.conversion.adding):
                if "other" in set().union(*(self.conversion.adding.get(n, ()) for n in lines_of(call))):
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
        at = list(extent(self._same.get(call, call)))
        return next((list(shapes) for where, shapes in function["calls"] if where == at), [])

    def _loads(self, call: ast.Call) -> bool:
        """Whether it is ``variable.load(value, session)``."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "load" or not call.args:
            return False
        return any(
            isinstance(v, Instance) and issubclass(v.kind, Variable) for v in self.inference.values_of(call.func.value)
        )

    def _replaced(self, call: ast.Call, function: dict[str, Any], is_unseen: bool) -> Replaced:
        feed = self.asked(call)[1]
        if function.get("iterates"):
            return self._iterated(call, function)
        iterators = [self.iterating.iterator_of(t, call) for t in function.get("taken", ()) if t["handle"] is None]
        elements = {name for t in function.get("taken", ()) for name in t["names"]}
        fed = [name for name in function["fed"] if name not in elements]
        try:
            told = self._feeds_of(feed, call)
            if len(told) != len(fed):
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
        if replaced.named is not None and {*function["feeds"].values()} != {*function["fed"]}:
            if not isinstance(feed, ast.Name):
                raise Unsafe(f"line {call.lineno}: what is fed is not all needed")
            replaced.fed = [f'{feed.id}["{self.label(name)}"]' for name in fed]
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
            replaced.iterators = [self.iterating.iterator_of(taken, call) for taken in function["taken"]]
            return replaced
        parts = leaves_of(fetches)
        if len(parts) != len(kinds):
            raise Unsafe(f"line {call.lineno}: what is run is made elsewhere")
        replaced.iterators = [part for part, kind in zip(parts, kinds, strict=True) if kind]
        return replaced

    def _keys(self) -> list[ast.expr]:
        """All that the program looks up, or stores under."""
        keys = [k for n in ast.walk(self.tree) if isinstance(n, ast.Dict) for k in n.keys if k is not None]
        return [*keys, *(n.slice for n in ast.walk(self.tree) if isinstance(n, ast.Subscript))]

    def _labeled(self) -> bool:
        """Have the keys of all feeds be labels; whether there are any."""
        fed, keys = {x for f in self.functions for x in f["fed"]}, self._keys()
        loops = [n.target for n in ast.walk(self.tree) if isinstance(n, ast.For)]
        changing = {n.id for target in loops for n in ast.walk(target) if isinstance(n, ast.Name)}
        for key in [k for k in keys if not (isinstance(k, ast.Name) and k.id in changing)]:
            named = isinstance(key, (ast.Name, ast.Attribute, ast.Subscript)) and len(self._parts(key)[0]) == 1
            name = graph_name(self._value(key)) if named else getattr(key, "value", None)  # of "x:0" that text
            if name in fed:
                self.plan.facts[extent(key)] = repr(self.label(str(name)))
        return bool(fed)

    def _handled(self, left: Callable[[], list[ast.expr]]) -> bool:
        """Whether parts of the graph are only named, for runs to come: labels stand for them then."""
        while found := left():
            for part in found:
                whole = self._wholes(part)[0]
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

    def _wholes(self, node: ast.expr) -> list[ast.expr]:
        """Attributes and elements of what an expression gives, the last of all first, and itself."""
        found = [node]
        while (
            isinstance(above := self._above.get(found[0]), (ast.Attribute, ast.Subscript)) and above.value is found[0]
        ):
            found.insert(0, above)
        return found

    def _unneeded(self, given: ast.expr, label: str | None) -> str:
        """``None`` where it is given to a function of the program that does not read it any more; empty otherwise."""
        above = self._above[given]
        call = self._above[above] if isinstance(above, ast.keyword) else above
        functions = self.inference.values_of(call.func) if isinstance(call, ast.Call) and call.func is not given else ()
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

    def _feeds_of(self, feed: ast.expr | None, call: ast.Call) -> list[tuple[str | int, ast.expr, str]]:
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


def _initializers(functions: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The function that sets variables anew, of those that a run stands for which first initializes them."""
    first = [f for f in functions if not (f["name"] or f["values"] or f.get("iterates"))]
    later = [f for f in functions if f["name"]]
    if not first or len(later) != 1 or len(first) + 1 < len(functions):
        return None
    return later[0] if not (later[0]["returns"] or later[0]["fed"]) else None


def leaves_of(fetches: ast.expr) -> list[ast.expr]:
    """The elements that are fetched, one by one."""
    return list(fetches.elts) if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]


def key_of(node: ast.expr) -> str:
    """``"x"`` for ``self.x`` and ``graph["x"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
