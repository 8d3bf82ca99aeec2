"""Which parts of a graph program stay when its graph has become functions: the plan that `host_program` carries out.

A statement stays if nothing of TensorFlow is left in it once its runs of sessions are calls of functions. A statement
that only makes parts of the graph goes. Where neither is sure, `Unsafe` says which line and why.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from dualgrad.migrate.check.scopes import FUNCTIONS, Imported
from dualgrad.migrate.check.values import Box, Instance, Local, Made, Many
from dualgrad.migrate.convert.edits import Place, Plan, Unsafe, extent, place
from dualgrad.migrate.convert.expressions import graph_name, is_pure
from dualgrad.migrate.convert.facts import LOOKING, METHODS, is_graphs, plain
from dualgrad.migrate.convert.notes import GENERATORS
from dualgrad.migrate.convert.runs import Runs
from dualgrad.migrate.convert.sizes import Said, Sizes
from dualgrad.migrate.convert.summaries import kept_arguments
from graph_api.summaries import FileWriter

_EFFECTS = (
    "add_graph add_meta_graph add_meta_graph_and_variables add_run_metadata add_session_log add_summary copyfile "
    "dump export_meta_graph load_weights makedirs mkdir open remove rename restore rmtree run_loop save "
    "save_weights savefig savetxt savez system tofile unlink write write_graph writelines"
)
EFFECTS = frozenset(_EFFECTS.split())
"""Methods and functions that do more than build: they read or write files."""
COLLECTS = {"add", "append", "extend", "insert", "setdefault", "update"}
"""Methods of lists, sets and dicts that collect."""
_GONE = frozenset({"tensorflow", "__future__"})
_LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.Compare)
_NUMBERS = re.compile(r"(?<![\w.:])\d+(?:\.\d+)?(?![\w:])")
"""Those in a text that are no part of a name, such as ``add_1:0``."""
BLOCKS = (ast.If, ast.For, ast.While, ast.Try, ast.With)


class Planner(Runs):
    """Makes the plan for one program."""

    def make_plan(self) -> Plan:
        """The plan.

        Raises
        ------
        Unsafe
            If there is none that is surely right.
        """
        self._find_runs()
        self._block(self.tree.body)
        gone, self._sizes_seen = set(self.plan.gone), dict[Place, list[tuple[ast.expr, Any]]]()
        self._drop_unused()
        self.plan.sizes = dict(self._sizes())
        if self.plan.sizes:
            self.plan.gone = gone
            self._drop_unused()
        self._check_names()
        self._restore()
        self._find_unread()
        return self.plan

    # ---- statements --------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], again: bool | None = None) -> bool:
        """Plan for a block, which may run `again` (by default, as the one around it); whether something stays."""
        before = self._again
        self._again = before if again is None else again
        for statement in body:
            if not self._statement(statement):
                self.plan.gone.add(place(statement))
        for text, following in pairwise(body[1:]):
            said = text.value if isinstance(text, ast.Expr) else None
            if isinstance(said, ast.Constant) and place(following) in self.plan.gone:  # a text that says what that is
                self.plan.gone.add(place(text))
        if not self._again:
            self._once.append(body)
        self._again = before
        return any(place(s) not in self.plan.gone or place(s) in self.plan.hosted for s in body)

    def _statement(self, node: ast.stmt) -> bool:
        """Plan for a statement; whether it stays."""
        before = self.plan.copy()
        once, again = list(self._once), self._again
        try:
            return self._planned(node)
        except Unsafe:
            self.plan, self._once, self._again = before, once, again
            if not self._tells(node) and not self._is_unreached(node):
                raise
            return True

    def _is_unreached(self, node: ast.stmt) -> bool:
        """Whether the run never came to a statement of a function or branch, which says so then."""
        if not self.notes.states.keys().isdisjoint(_lines(node)) or isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return False
        said = f"line {node.lineno} was not reached when the program was converted: {ast.unparse(node)}"
        self.plan.unrolled[place(node)] = [f"raise NotImplementedError({said.partition(chr(10))[0]!r})"]
        return True

    def _planned(self, node: ast.stmt) -> bool:
        opened = [node.value] if isinstance(node, (ast.Assign, ast.Expr)) else []
        opened += [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        if self.conversion.begun and any(isinstance(n, ast.Call) and self._is_session(n) for n in opened):
            self.plan.hosted[place(node)] = [self.conversion.begun]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            kept = [i for i, name in enumerate(_imported(node)) if name.partition(".")[0] not in _GONE]
            if kept and len(kept) < len(node.names) and isinstance(node, ast.Import):
                self.plan.trimmed[place(node)] = kept
            return bool(kept)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self._definition(node)
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, BLOCKS):
            return self._compound(node)
        runs = [n for n in ast.walk(node) if isinstance(n, ast.Call) and self._is_run(n)]
        if self._initializes(node, runs) or self._shows_graph(node):
            return False
        if any(extent(r) not in self.plan.calls and self._is_left(r) for r in runs) and self._is_unreached(node):
            return True
        if self._only_shows(node):
            self.plan.said[place(node)] = self.notes.printed_by(_lines(node))
            return True
        if isinstance(node, ast.Expr) and self.plan.facts.get(extent(node.value)) == "[]":
            return False
        if name := self.iterating.name_given(node):
            self.plan.named[place(node)] = name
            return True

        chooses = self.carriers.any_in(node) or any(
            extent(run) in self.plan.calls and self.plan.calls[extent(run)].run for run in runs
        )

        def found() -> list[ast.expr]:
            own = [n for n in self._expressions(node) if self._is_left(n)]
            return own or (self._named_here([node]) if chooses else [])

        left = found()
        if not left:
            return not isinstance(node, ast.Assert) or extent(node.test) not in self.plan.facts
        if any(extent(run) in self.plan.calls for run in runs):
            if self._handled(found):
                return True
            raise Unsafe(f"line {node.lineno}: it uses the graph beside running it ({ast.unparse(left[0])})")
        if not self.carriers.any_in(node) and self._only_builds(node):
            said = "" if self._again else self.notes.printed_by(_lines(node))
            if said:
                self.plan.said[place(node)] = said
            return bool(said)
        if not self._acts(node) and self._handled(found):
            return True
        raise Unsafe(f"line {node.lineno}: it does something with the graph itself ({ast.unparse(left[0])})")

    def _initializes(self, node: ast.stmt, runs: Sequence[ast.Call]) -> bool:
        """Whether it runs the initializers of variables, which tape code does when it makes them."""
        if not isinstance(node, ast.Expr) or node.value not in runs:
            return False
        call = self.plan.calls.get(extent(node.value))
        if call is None or call.function["name"] is not None or call.function["values"]:
            return False
        if call.function.get("iterates"):
            return False
        if self._again:
            raise Unsafe(f"line {node.lineno}: variables are initialized more than once")
        return True

    def _shows_graph(self, node: ast.stmt) -> bool:
        """Whether it writes the graph to an event file, of which there is none in tape code."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "add_graph":
            return False
        of = self.inference.values_of(call.func.value)
        return any(isinstance(v, Instance) and issubclass(v.kind, FileWriter) for v in of)

    def _only_builds(self, node: ast.stmt) -> bool:
        if self._acts(node) or self.runs(node):
            return False
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Assert, ast.Delete)):
            return True
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return False
        function = node.value.func
        if isinstance(function, ast.Name) and function.id == "print":
            return False
        of = self.inference.values_of(function)
        container = isinstance(function, ast.Attribute) and any(
            isinstance(v, (Box, Many)) for v in self.inference.values_of(function.value)
        )
        if container and isinstance(function, ast.Attribute):
            self._collected.update(n.id for n in ast.walk(function.value) if isinstance(n, ast.Name))
        of_graph = any(self._is_graphs(v) for v in of) or self.local_build(node.value)
        return container or of_graph or self.builds_elsewhere(node.value)

    def _acts(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether it, or a function of the program that it calls, reads or writes files."""
        inside = [n for s in ast.walk(node) if isinstance(s, ast.stmt) and place(s) in self.plan.unrolled
                  for n in ast.walk(s)]  # fmt: skip
        for call in (n for n in ast.walk(node) if isinstance(n, ast.Call) and n not in inside):
            called = [v.node for v in self.inference.values_of(call.func) if isinstance(v, Local)]
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            rows = name == "write" and len(call.args) == 2 and ast.unparse(call.func) != "os.write"  # of a TensorArray
            if not called and name in EFFECTS and not rows:
                return True
            if any(inner not in seen and self._acts(inner, seen | {inner}) for inner in called):
                return True
        return False

    def _only_shows(self, node: ast.stmt) -> bool:
        """Whether it prints what the graph is made of, once, and nothing else."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"):
            return False
        names = [n for argument in call.args for n in ast.walk(argument) if isinstance(n, ast.Name)]
        graphs = all(
            self.scopes.of[n].find(n.id) is None
            or isinstance(self.names.get(n.id), ModuleType)
            or n.id in self._collected
            or any(self._is_graphs(v) for v in self.inference.values_of(n))
            for n in names
        )
        plain = all(k.arg in ("sep", "end") and isinstance(k.value, ast.Constant) for k in call.keywords)
        runs = self.runs(node) or any(isinstance(n, ast.Call) and self._is_run(n) for n in ast.walk(node))
        looks = any(isinstance(n, ast.expr) and self._is_left(n) for n in ast.walk(node))
        looks = looks or any(n.id in self._collected for n in names)
        shows = looks and not runs and graphs and plain and not self._acts(node)
        return shows and not self._again and bool(self.notes.printed_by(_lines(node)))

    def _tells(self, node: ast.stmt) -> bool:
        """Keep of a statement that only looks at the graph, once, what it prints and what values it leaves."""
        inside = list(ast.walk(node))
        calls = [n for n in inside if isinstance(n, ast.Call)]
        if self._again or self.runs(node) or isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Return)):
            return False
        if self._acts(node) or not all(self._only_looks(call) for call in calls):
            return False
        left = any(self._is_left(n) for n in inside if isinstance(n, ast.expr))
        if not left or any(isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)) for n in inside):
            return False
        changed = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        changed |= {n.value.id for n in inside if isinstance(n, (ast.Attribute, ast.Subscript))
                    and isinstance(n.value, ast.Name)}  # fmt: skip
        known = {name: plain(self.names[name]) for name in sorted(changed & self.names.keys())}
        self.plan.said[place(node)] = self.notes.printed_by(_lines(node))
        self.plan.given[place(node)] = {name: text for name, text in known.items() if text is not None}
        return True

    def _only_looks(self, call: ast.Call) -> bool:
        """Whether a call does no more than build a graph, look at it, print, or collect."""
        if self._is_run(call) and self.inference.values_of(getattr(call.func, "value", call)):
            return False
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in METHODS | COLLECTS:
                return True
            base = self.names.get(getattr(call.func.value, "id", ""))
            if base is np or base is random or isinstance(base, GENERATORS):
                return True
        elif isinstance(call.func, ast.Name) and call.func.id in LOOKING | {"print", "next", "iter"}:
            return True
        values = self.inference.values_of(call.func)
        if any(isinstance(v, (Local, Made)) for v in values):
            return all(self._builds(v.node) for v in values if isinstance(v, (Local, Made)))
        return bool(values) and all(self._is_graphs(v) for v in values)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
        """A function or class stays if it runs something, or has nothing to do with the graph."""
        starts = getattr(node, "name", "") == "__init__" and self.inference.owner(node) is not None
        left = any(self._is_left(n) for statement in node.body for n in self._expressions(statement))
        starts = starts or getattr(node, "name", "") in self.instances.objects
        if left and not self.runs(node) and not starts:
            return False
        head = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        calls = 0 if isinstance(node, ast.ClassDef) else self.notes.called[head]
        kept = self._block(node.body, None if isinstance(node, ast.ClassDef) else calls > 1)
        if kind := self.instances.constructors.get(node):
            kept = self._takes_parts(node, kind)
        if not kept and starts:
            self.plan.hollow.add(place(node))
        return kept or starts

    def _takes_parts(self, start: ast.AST, kind: str) -> bool:
        """Have a constructor take the labels of its object where it made the first part of the graph."""
        body: list[ast.stmt] = start.body  # type: ignore[attr-defined]
        at = next((place(s) for s in body if place(s) in self.plan.gone and _sets_attributes(s)), None)
        if at is None:
            raise Unsafe(f"line {body[0].lineno}: the parts of the graph of a {kind} are made elsewhere")
        self.plan.gone.discard(at)
        self.plan.unrolled[at] = [f"vars(self).update(next({self.instances.table(kind)}))"]
        return True

    def read_attributes(self) -> set[str]:
        """The names of attributes that what stays reads."""
        kept = self._remaining(self.tree)
        return {n.attr for n in kept if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}

    def _with(self, node: ast.With) -> bool:
        of_graph = [
            item
            for item in node.items
            if any(self._is_left(n) or self._is_session(n) for n in self._expressions(item.context_expr))
        ]
        if not of_graph:
            return self._block(node.body)
        if len(of_graph) < len(node.items):
            raise Unsafe(f"line {node.lineno}: a with statement that is half of the graph's")
        kept = self._block(node.body)
        if kept:
            self.plan.opened.add(place(node))
            names = [i.optional_vars.id for i in node.items if isinstance(i.optional_vars, ast.Name)]
            self.plan.emptied[place(node)] = names
        return kept

    def _compound(self, node: Any) -> bool:
        header = [getattr(node, name, None) for name in ("test", "iter", "target")]

        def found() -> list[ast.expr]:
            return [n for h in header if h is not None for n in self._expressions(h) if self._is_left(n)]

        runs = any(isinstance(n, ast.Call) and extent(n) in self.plan.calls for n in ast.walk(node))
        built = any(isinstance(r.key, ast.Call) for n in ast.walk(node) if isinstance(n, ast.Call)
                    and (r := self.plan.calls.get(extent(n))) is not None)  # fmt: skip
        if (found() or built) and runs and self._unrolled(node):
            return True
        if (
            found()
            and (runs or _fills(node) or self.carriers.any_in(node))
            and self._handled(lambda: found() or self._named_here(header))
            and isinstance(node, ast.For)
        ):
            self._labels.update(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        left = found()
        bodies = [node.body, node.orelse, *(h.body for h in getattr(node, "handlers", ()))]
        again = True if isinstance(node, (ast.For, ast.While)) else None
        kept = [self._block(body, again) for body in bodies if body]
        kept.append(bool(getattr(node, "finalbody", ())) and self._block(node.finalbody))
        if left and any(kept):
            raise Unsafe(f"line {node.lineno}: what is repeated or chosen depends on the graph")
        if left or (not any(kept) and all(is_pure(h) for h in header if h is not None)):
            return False
        if not kept[0]:
            raise Unsafe(f"line {node.lineno}: only a part of it would be left")
        return True

    def _named_here(self, header: Sequence[Any]) -> list[ast.expr]:
        """The variables that are named beside other parts of the graph."""
        every = [n for h in header if h is not None for n in self._expressions(h)]
        names = [n for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        return [n for n in names if graph_name(self._value(n)) and not self.carriers.holds(n)]

    def _unrolled(self, node: ast.stmt) -> bool:
        """Whether a loop does no more than run something of each part of the graph that it goes through, unseen."""
        (only, *others) = node.body if isinstance(node, ast.For) else [node]
        call = only.value if isinstance(only, ast.Expr) else None
        if others or not isinstance(call, ast.Call) or extent(call) not in self.plan.calls:
            return False
        fitting = [f for f in self.functions if self._shapes(call, f)]
        if any(f["fed"] or not f["name"] for f in fitting) or self._acts(node):
            return False
        self.plan.unrolled[place(node)] = [f"{f['name']}()" for f in fitting]
        return True

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """Set generators that lines drew from that go as they were when the next line was reached."""
        order = {line: number for number, line in enumerate(self.notes.states)}
        reached = list(self.notes.states)
        left_out = self.plan.gone | self.plan.said.keys()
        gone = {n for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and place(node) in left_out
                for n in _lines(node)}  # fmt: skip
        # a line of several statements, of which one stays that seeds or draws, is not left out
        gone -= {n for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and place(node) not in left_out
                 and re.search(r"random|seed|rng", ast.unparse(node)) and node.lineno == node.end_lineno
                 for n in _lines(node)}  # fmt: skip
        again = [window for body in self._once for window in self._drawn_again(body, order)]
        for body in self._once:
            since = min((order[n] for s in body for n in _lines(s) if n in order), default=0)
            if any(first < since < last for first, last in again):
                continue
            inside: set[int] = set()
            for statement in body:
                here = min((order[n] for n in _lines(statement) if n in order), default=None)
                if here is None:
                    continue
                since = max([since, *(last for _, last in again if last <= here)])
                if place(statement) in self.plan.gone - self.plan.hosted.keys():
                    continue
                since = next((n for n in range(since, here) if reached[n] in gone and reached[n] not in inside), here)
                inside = set(_lines(statement))  # what goes in there was looked at there
                if since < here:
                    window = [self.notes.states[line] for line in reached[since:here]]
                    first = {name: state for states in reversed(window) for name, state in states.items()}
                    moved = self._moved_by(gone - inside, reached[since : here + 1])
                    first = {name: state for name, state in first.items() if name in moved}
                    self._set(statement, first, self.notes.states[reached[here]])
                since = here

    def _moved_by(self, gone: set[int], reached: Sequence[int]) -> set[str]:
        """The generators that lines which go draw from, or functions of the program that these lines call."""
        moved: set[str] = set()
        called: set[str] = set()
        for line, following in pairwise(reached):
            if line in gone:
                called = self._called_on(line)
            elif not called & self._functions_on.get(line, set()):
                called = set()
            if line in gone or called:
                before, after = self.notes.states[line], self.notes.states[following]
                moved |= {name for name, state in before.items() if after.get(name, state) is not state}
        return moved

    @cached_property
    def _functions_on(self) -> dict[int, set[str]]:
        """By line, the names of the functions around it, also of the class that a constructor is of."""
        found: dict[int, set[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1):
                    found.setdefault(line, set()).add(node.name)
        return found

    def _called_on(self, line: int) -> set[str]:
        """The functions of the program that a line may call, and those that they call."""
        found: set[str] = set()
        todo = [n for n in ast.walk(self.tree) if isinstance(n, ast.stmt) and line in _lines(n) and not _is_block(n)]
        named = {n.name: n for n in ast.walk(self.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        while todo:
            inside = list(ast.walk(todo.pop()))
            said = {getattr(n, "id", getattr(n, "attr", "")) for n in inside} & named.keys() - found
            found |= said
            todo += [named[name] for name in said]
        return found

    def _drawn_again(self, body: Sequence[ast.stmt], order: dict[int, int]) -> Iterator[tuple[int, int]]:
        """From when to when statements went on of which others draw the same."""
        reached = [(min(at), place(s)) for s in body if (at := [order[n] for n in _lines(s) if n in order])]
        ends = [at for at, _ in reached[1:]] + [len(order)]
        yield from ((at, end) for (at, where), end in zip(reached, ends, strict=False) if where in self.plan.hosted)

    def _set(self, statement: ast.stmt, before: dict[str, Any], after: dict[str, Any]) -> None:
        moved = {name: state for name, state in after.items() if name in before and state is not before[name]}
        used = self._generators()
        free = self.notes.unseeded()
        if found := {name: state for name, state in moved.items() if name in used and name not in free}:
            self.plan.restored[place(statement)] = found

    def _generators(self) -> set[str]:
        """The generators that what stays may draw from."""
        nodes = [n for n in self._remaining(self.tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
        makers = {"RandomState", "default_rng", "Generator", "seed"}
        return self._read() | {ast.unparse(n.value) for n in nodes if n.attr not in makers}

    def _remaining(self, node: ast.AST) -> Iterator[ast.AST]:
        """The part of a node that stays."""
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt) and place(inner) in self.plan.gone:
                yield from (n for e, _ in self.plan.sizes.get(place(inner), ()) for n in ast.walk(e))
                continue
            if isinstance(inner, ast.stmt) and place(inner) in self.plan.said.keys() | self.plan.unrolled.keys():
                continue
            if isinstance(inner, ast.withitem) and isinstance(node, ast.With) and place(node) in self.plan.opened:
                continue
            if isinstance(inner, ast.expr) and extent(inner) in self.plan.facts:
                continue
            yield inner
            if isinstance(inner, ast.Call) and extent(inner) in self.plan.writers:
                for value in kept_arguments(inner):
                    yield value
                    yield from self._remaining(value)
            elif isinstance(inner, ast.Call) and extent(inner) in self.plan.sets:
                value = self.plan.sets[extent(inner)][1]
                yield value
                yield from self._remaining(value)
            elif isinstance(inner, ast.Call) and extent(inner) in self.plan.calls:
                for value in self.feed_values(inner):
                    if extent(value) not in self.plan.facts:
                        yield value
                        yield from self._remaining(value)
            elif isinstance(inner, ast.Dict) and extent(inner) in self.plan.feeds:
                for value in inner.values:
                    yield value
                    yield from self._remaining(value)
            else:
                yield from self._remaining(inner)

    def reads(self, function: Any, name: str) -> bool:
        """Whether what stays of a function reads one of its names."""
        sources = self.scopes.inside[function].bound[name]
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
            and self.scopes.of[n].find(name) is sources
            for n in self._remaining(function)
        )  # fmt: skip

    def _find_unread(self) -> None:
        """Find the names that a run gives and that nobody reads where they stand."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and extent(node.value) in self.plan.calls:
                names = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                around = self._around.get(node, [self.tree])[0]
                told = {name for n in ast.walk(around) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
                read = {n.id for n in ast.walk(around) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
                self.plan.unread[place(node)] = names - read - told

    def _read(self) -> set[str]:
        kept = list(self._remaining(self.tree))
        changed = {n.target for n in kept if isinstance(n, ast.AugAssign)}
        names = [n for n in kept if isinstance(n, ast.Name)]
        return self.needed | {n.id for n in names if isinstance(n.ctx, ast.Load) or n in changed}

    def _drop_unused(self) -> None:
        """Functions, imports and plain values that nothing uses any more go too."""
        while True:
            read = self._read()
            unused = [n for n in self._remaining(self.tree) if isinstance(n, ast.stmt) and self._is_unused(n, read)]
            if not unused:
                return
            self.plan.gone.update(place(n) for n in unused)

    def _sizes(self) -> Iterator[tuple[Place, list[tuple[ast.expr, Any]]]]:
        """By statement that goes and that has built the graph, the numbers that data decides which stays."""
        sizes, known = Sizes(self.tree, self.scopes, self.names, self._value), set[Any]()
        looked_up = self._looked_up()
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.stmt) or place(node) not in self.plan.gone:
                continue
            is_plain = not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))
            if not is_plain or not self._stays(self._above[node]) or not self._has_graph(node):
                continue
            if not looked_up and (said := self.conversion.said.get(node.lineno)) is not None and said.is_whole():
                continue
            told = [pair for pair in sizes.within(node) if not (self._varies(pair[0]) or sizes.is_sliced(pair[0]))]
            whole = {ast.unparse(e): (e, v) for e, v in told if any(map(self._stays, sizes.roots(e)))}
            self._sizes_seen[place(node)] = list(whole.values())
            around = self._around.get(node, [self.tree])[0]
            found = {text: pair for e, _ in whole.values() for text, pair in sizes.counted(e, self._stays).items()}
            found = {text: pair for text, pair in found.items() if (around, text) not in known}
            known |= {(around, text) for text in found}
            if found:
                yield place(node), list(found.values())

    def _varies(self, node: ast.expr) -> bool:
        """Whether a loop of the program gives a name of an expression one number after the other."""
        return any(isinstance(n, ast.Name) and self.facts.is_set_in_loop(n, self.tree) for n in ast.walk(node))

    def _looked_up(self) -> bool:
        """Whether a number that the program asked its graph for stands in what stays, and not in the program's text."""
        texts = [*self.plan.facts.values(), *(t for given in self.plan.given.values() for t in given.values())]
        numbers = {n for text in [*texts, *self.plan.said.values()] for n in _NUMBERS.findall(text)}
        told = {str(n.value) for n in ast.walk(self.tree) if isinstance(n, ast.Constant)}
        return not numbers <= told

    def sayable(self) -> dict[int, Said]:
        """By line, the statements whose numbers the module can say in names of the program; none if none is new."""
        nodes = {place(n): n for n in ast.walk(self.tree) if isinstance(n, ast.stmt)}
        sizes, found = Sizes(self.tree, self.scopes, self.names, self._value), {}
        for where, numbers in [pair for pair in self._sizes_seen.items() if pair[1]]:
            names = [n for e, _ in numbers for n in ast.walk(e) if isinstance(n, ast.Name)]
            final = all(self.facts.is_final(n) or isinstance(self.names.get(n.id), ModuleType) for n in names)
            inside = list(ast.walk(nodes[where]))
            plain = not isinstance(nodes[where], BLOCKS) and not any(isinstance(n, _LOOPS) for n in inside)
            plain = plain and nodes[where] not in self._around and all(type(v) in (int, float) for _, v in numbers)
            if final and plain:
                known = self.conversion.said.get(where[0])
                constants = known.constants if known else []
                apart = {ast.unparse(e) for e, _ in constants}
                within = {
                    id(i) for n in inside if isinstance(n, ast.expr) and ast.unparse(n) in apart for i in ast.walk(n)
                }
                parts = [n for n in inside if isinstance(n, ast.expr) and id(n) not in within]
                told = {sizes.number(n) for n in parts if not any(True for _ in sizes.roots(n))}
                numbers_told = {v for v in told if type(v) in (int, float)}
                found[where[0]] = Said(where, numbers, numbers_told, constants=constants)
        return {**self.conversion.said, **found} if found else {}

    def _stays(self, node: ast.AST) -> bool:
        """Whether a node is in what stays; what was put together of several ones is not."""
        while not isinstance(node, ast.Module):
            if node not in self._above or (isinstance(node, ast.stmt) and place(node) in self.plan.gone):
                return False
            node = self._above[node]
        return True

    def _has_graph(self, node: ast.stmt) -> bool:
        """Whether something of the graph is in a statement that goes."""
        return any(isinstance(n, ast.expr) and (self._is_left(n) or is_graphs(self._value(n))) for n in ast.walk(node))

    def _is_unused(self, node: ast.stmt, read: set[str]) -> bool:
        if isinstance(node, FUNCTIONS) and not isinstance(node, ast.Lambda):
            called = node.name in read | self.called or (node.name == "main" and self._has_main())
            return not called and not node.name.startswith("__") and node.col_offset == 0
        if isinstance(self._above.get(node), ast.ClassDef):
            return False  # an attribute, whoever asks for it
        if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            known = is_pure(node.value) or extent(node.value) in self.plan.facts or place(node) in self.read_again
            return known and not any(isinstance(t, ast.Name) and t.id in read | self.called for t in node.targets)
        if isinstance(node, ast.For):
            names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            empty = all(place(inner) in self.plan.gone for inner in [*node.body, *node.orelse])
            return empty and is_pure(node.iter) and names.isdisjoint(read)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return not any((a.asname or a.name.partition(".")[0]) in {*read, *self.called, "*"} for a in node.names)
        return isinstance(node, ast.ClassDef) and node.name not in read | self.called

    def _has_main(self) -> bool:
        """Whether ``tf.app.run()`` calls `main`."""
        return any(text == "tf.compat.v1.app.run" for text in self.plan.facts.values())

    def _check_names(self) -> None:
        """Every name that is still used must be bound by what stays, where it is used."""
        for function, name in self.unread:
            if place(function) not in self.plan.gone and self.reads(function, name):
                raise Unsafe(f"line {function.lineno}: {name}, which is a part of the graph, is used by what stays")
        kept = list(self._remaining(self.tree))
        bound = {key for n in kept for key in self._binds(n)}
        given = {name for names in self.plan.given.values() for name in names} | {*self.plan.named.values()}
        module = self.scopes.module
        for n in kept:
            if not isinstance(n, ast.Name) or not isinstance(n.ctx, ast.Load) or n.id in given:
                continue
            sources = self.scopes.of[n].find(n.id)
            if sources is None or id(sources) in bound or any(isinstance(s, Imported) for s in sources):
                continue
            if n.id in self.provided and sources is module.bound.get(n.id):
                continue
            if not (self._opened(sources, n.id) or self._sessions(n)):
                raise Unsafe(f"line {n.lineno}: it uses {n.id}, which is a part of the graph")
            bound.add(id(sources))
        for name in sorted(self.needed - self.provided):
            sources = module.bound.get(name)
            if sources and id(sources) not in bound and not any(isinstance(s, Imported) for s in sources):
                raise Unsafe(f"line {self._given_on(name)}: it uses {name}, which is a part of the graph")
        read = self._read()
        self.plan.emptied = {p: [n for n in names if n in read] for p, names in self.plan.emptied.items()}
        for texts in self.plan.given.values():
            for name in texts.keys() - read:
                del texts[name]

    def _binds(self, node: ast.AST) -> Iterator[int]:
        """The names that a node gives: what `Scope.find` has for them, by identity."""
        here, names = self.scopes.of.get(node), []
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names = [node.id]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.asname or a.name.partition(".")[0] for a in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            names = [node.name] if node.name else []
        if isinstance(node, FUNCTIONS):
            arguments = self.scopes.inside[node].bound
            yield from (id(arguments[a.arg]) for a in ast.walk(node.args) if isinstance(a, ast.arg))
        yield from (id(here.find(name)) for name in names if here is not None)

    def _given_on(self, name: str) -> int:
        """The first line that gives a name."""
        stores = [n.lineno for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id == name]
        return min(stores, default=1)

    def _opened(self, sources: Any, name: str) -> bool:
        """Whether an opened ``with`` statement gives this name, which says then that there are no sessions."""
        return any(
            name in names and self.scopes.of[node].find(name) is sources
            for node in ast.walk(self.tree) if isinstance(node, ast.With)
            and (names := self.plan.emptied.get(place(node), ()))
        )  # fmt: skip

    def _sessions(self, used: ast.Name) -> bool:
        """Whether a name stands for a session; the statements that give it one are kept in another form then."""
        found = False
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [used.id]:
                same = self.scopes.of[node].find(used.id) is self.scopes.of[used].find(used.id)
                if same and self._is_session(node.value):
                    self.plan.emptied[place(node)] = [used.id]
                    self.plan.gone.discard(place(node))
                    found = True
        return found


def _fills(node: ast.stmt) -> bool:
    """Whether a loop does no more than set elements of what is named by what it goes through."""
    if not isinstance(node, ast.For):
        return False
    names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    targets = [t for s in node.body if isinstance(s, ast.Assign) for t in s.targets]
    keys = [t.slice for t in targets if isinstance(t, ast.Subscript)]
    return len(keys) == len(node.body) and all(isinstance(k, ast.Name) and k.id in names for k in keys)


def _is_block(node: ast.stmt) -> bool:
    return isinstance(node, (*BLOCKS, *FUNCTIONS, ast.ClassDef))


def _sets_attributes(node: ast.stmt) -> bool:
    """Whether a statement may set attributes of an object: it does, or calls a method."""
    return any(isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "self" for n in ast.walk(node))


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]


def _lines(node: ast.stmt) -> range:
    """Those that are reached when it is."""
    is_definition = isinstance(node, (*FUNCTIONS, ast.ClassDef))
    return range(node.lineno, node.lineno + 1 if is_definition else (node.end_lineno or node.lineno) + 1)
