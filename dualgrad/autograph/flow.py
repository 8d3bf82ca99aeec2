"""Rewrites the statements of a function: branches and loops become calls of operators with their parts as functions.

``if a: y = b`` becomes a function with that body, in which `y` is ``nonlocal``, and ``ag__.if_stmt(a, body, ...)``.
What the operator finds in `a` decides then: a Python value runs one of the functions, as Python would; a tensor that
has no contents yet makes them the branches of ``tf.cond`` (`dualgrad.autograph.operators`). Everything made here
stands at the line of the statement it was made from.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from dualgrad.autograph import analysis, jumps
from dualgrad.autograph.analysis import CHANGES, CONTROL, Liveness, inside, is_place, names, parameters, root
from dualgrad.autograph.expressions import Expressions, operator, placed

_JUMPS = (ast.Return, ast.Break, ast.Continue)
_WAITS = (ast.Yield, ast.YieldFrom, ast.Await)

_PLACE = """
    if ag__.is_defined({0}):
        {1} = {0}
    else:
        try:
            del {1}
        except (AttributeError, KeyError, IndexError):
            pass"""
"""Sets what is no variable, but an attribute or an element."""


def filled(template: str, at: ast.AST, **parts: Any) -> list[ast.stmt]:
    """Statements of a template, at the place of `at`, with nodes or lists of statements in place of names."""
    body = ast.parse(template).body
    for s in body:
        for n in ast.walk(s):
            if hasattr(n, "lineno"):
                placed(n, at)
    fill = _Fill(parts)
    return [x for s in body for x in fill.statements(s)]


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def statements(self, s: ast.stmt) -> list[ast.stmt]:
        made = self.visit(s)
        return made if isinstance(made, list) else [made]

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self.parts.get(node.value.id), list):
            return self.parts[node.value.id]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        return self.parts.get(node.id, node)


class Rewriting:
    """One function, being rewritten.

    Parameters
    ----------
    node : ast.FunctionDef
        Changed in place.
    around : set of str
        Names of the functions around it that may be undefined.
    libraries : frozenset of str
        Names of modules whose functions are called as they are.
    """

    def __init__(
        self, node: ast.FunctionDef, around: frozenset[str] = frozenset(), libraries: frozenset[str] = frozenset()
    ) -> None:
        self.node = node
        self.count = 0
        self.globals = analysis.declared(node.body, ast.Global)
        self.outer = analysis.declared(node.body, ast.Nonlocal)
        own = set(parameters(node)) | set().union(*[names(s)[1] for s in node.body])
        self.around, self.libraries = around - (own - self.outer), libraries - own

    def rewrite(self) -> None:
        """Rewrite the function."""
        node = self.node
        text = ast.get_docstring(node, clean=False) is not None
        head, body = node.body[: int(text)], node.body[int(text) :]
        if not body:
            return
        body = jumps.lowered(body, _Staying(body))
        self.live = Liveness(body)
        unsure = self._unsure(body)
        self.expressions = Expressions(self.around | unsure, self._nested, self.libraries)
        declarations = [s for s in body if isinstance(s, ast.Global | ast.Nonlocal)]
        rest = [s for s in body if not isinstance(s, ast.Global | ast.Nonlocal)]
        made = self.block(rest, self.globals | self.outer)
        first = [filled(f"{name} = ag__.undefined({name!r})", node.body[0])[0] for name in sorted(unsure)]
        node.body = [*head, *declarations, *first, *made]

    def _unsure(self, body: Sequence[ast.stmt]) -> set[str]:
        """Variables of the function that branches and loops assign to and that may have no value before."""
        sure, seen = set(parameters(self.node)), set[str]()
        for s in body:
            reads, writes = names(s)
            if isinstance(s, ast.Assign | ast.FunctionDef | ast.Import | ast.ImportFrom):
                sure |= writes - seen - reads
            seen |= reads | writes
        changed = {n for s in body for c in _controls(s) for n in names(c)[1] if n.isidentifier()}
        return changed - sure - self.globals - self.outer

    def _nested(self, node: ast.FunctionDef) -> None:
        if not any(isinstance(n, _WAITS) for s in node.body for n in inside(s)):
            Rewriting(node, frozenset(self.around | self.expressions.unsure), self.libraries).rewrite()

    # ---- statements --------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], after: set[str]) -> list[ast.stmt]:
        """Some statements, of whose variables those in `after` are needed later."""
        made: list[ast.stmt] = []
        for s in reversed(body):
            before = self.live.before(s, after)
            made[:0] = self.statement(s, after)
            after = before
        return made or [ast.Pass()]

    def statement(self, s: ast.stmt, after: set[str]) -> list[ast.stmt]:
        """One statement."""
        if isinstance(s, CONTROL) and not _has(s, (*_JUMPS, *_WAITS)):
            return self._if(s, after) if isinstance(s, ast.If) else self._loop(s, after)
        if isinstance(s, (*CONTROL, ast.Try, ast.TryStar, ast.With, ast.Match)):
            return [self._around(s, after)]
        if isinstance(s, ast.Delete) and all(isinstance(t, ast.Name) for t in s.targets):
            deleted = [t.id for t in s.targets if isinstance(t, ast.Name)]
            if not self.expressions.unsure.isdisjoint(deleted):
                return [filled(f"{name} = ag__.undefined({name!r})", s)[0] for name in deleted]
        return self.expressions.statement(s)

    def _around(self, s: Any, after: set[str]) -> ast.stmt:
        """A statement that stays, with what is in it rewritten."""
        # an exception or a jump may leave it anywhere
        later = after if isinstance(s, ast.With) else after | self.live.names(s)[0]
        if isinstance(s, ast.If | ast.While):
            s.test = self.expressions.visit(s.test)
            what = {ast.If: "a branch", ast.While: "a loop"}[type(s)]
            reason = f"{what} that holds a jump out of `try` or `match`, or `yield`, is not rewritten"
            s.test = filled("ag__.unrewritten(TEST, WHY)", s, TEST=s.test, WHY=ast.Constant(reason))[0].value  # type: ignore[attr-defined]
        elif isinstance(s, ast.For):
            s.iter = self.expressions.visit(s.iter)
        elif isinstance(s, ast.With):
            s.items = [self.expressions.visit(item) for item in s.items]
        elif isinstance(s, ast.Match):
            s.subject = self.expressions.visit(s.subject)
        for part in (s, *getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(part, field, None), list) and getattr(part, field):
                    setattr(part, field, self.block(getattr(part, field), later))
        return s

    def _if(self, s: ast.If, after: set[str]) -> list[ast.stmt]:
        leaves = [b.certain and bool(b.flags) for b in getattr(s, "ends", ())]
        needed = self.live.block(s.body, after) | self.live.block(s.orelse, after)
        changed = self._changed([*s.body, *s.orelse])
        state, outputs = self._state(changed, after, needed)
        bars = self._bars([*s.body, *s.orelse])
        parts = {"BODY": self.block(s.body, after), "ORELSE": self.block(s.orelse, after)}
        template = """
def ag__body_N():
    DECLARED
    BODY
def ag__orelse_N():
    DECLARED
    ORELSE
ag__.if_stmt(TEST, ag__body_N, ag__orelse_N, ag__.state(NAMES, ag__get_N, ag__set_N, BARS), COUNT, LEAVES)
"""
        test = self.expressions.visit(s.test)
        return self._filled(
            template,
            s,
            changed,
            state,
            bars,
            TEST=test,
            COUNT=ast.Constant(outputs),
            LEAVES=ast.parse(repr(tuple(leaves)), mode="eval").body,
            **parts,
        )

    def _loop(self, s: ast.While | ast.For, after: set[str]) -> list[ast.stmt]:
        head = self.live.head(s, after)
        options, body = self._options(s)
        parts = [*body, *([s.test] if isinstance(s, ast.While) else [s.target])]
        changed = self._changed(parts)
        state, _ = self._state(changed, head, set())
        bars = self._bars(parts)
        made = self.block(body, head)
        if isinstance(s, ast.While):
            template = """
def ag__test_N():
    DECLARED
    return TEST
def ag__body_N():
    DECLARED
    BODY
ag__.while_stmt(ag__test_N, ag__body_N, ag__.state(NAMES, ag__get_N, ag__set_N, BARS), OPTIONS)
"""
            test = self.expressions.visit(s.test)
            return self._filled(template, s, changed, state, bars, TEST=test, BODY=made, OPTIONS=options)
        going = getattr(s, "goes_on", None)
        template = f"""
def ag__body_N(ag__item):
    DECLARED
    TARGET = ag__item
    BODY
ag__.for_stmt(ITER, {"None" if going is None else "lambda: GOING"}, ag__body_N, \
ag__.state(NAMES, ag__get_N, ag__set_N, BARS), OPTIONS)
"""
        if isinstance(s.iter, ast.Call):
            # over a range of a length that is not known there is no tensor
            s.iter.func = operator("iterated", [s.iter.func], s.iter.func)
        named: dict[str, Any] = {"ITER": self.expressions.visit(s.iter), "TARGET": s.target, "GOING": going}
        return self._filled(template, s, changed, state, bars, BODY=made, OPTIONS=options, **named)

    def _options(self, s: ast.While | ast.For) -> tuple[ast.expr, list[ast.stmt]]:
        """The function that gives what ``set_loop_options`` in a loop says, and the rest of the body."""
        for i, first in enumerate(s.body[:2]):
            call = first.value if isinstance(first, ast.Expr) else None
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "set_loop_options":
                made = filled("lambda: OPTIONS", call, OPTIONS=call)[0].value  # type: ignore[attr-defined]
                call.func = filled("dict", call)[0].value  # type: ignore[attr-defined]
                return made, [*s.body[:i], *s.body[i + 1 :]]
        return ast.copy_location(ast.Constant(None), s), s.body

    # ---- variables ---------------------------------------------------------------------------------------------------

    def _changed(self, parts: Sequence[ast.AST]) -> set[str]:
        return set().union(*[self.live.names(part)[1] for part in parts])

    def _state(self, changed: set[str], after: set[str], needed: set[str]) -> tuple[list[str], int]:
        """The variables that go through an operator; so many of them are its results."""
        results = {name for name in changed if name in after or not name.isidentifier()}
        return [*sorted(results), *sorted((changed & needed) - results)], len(results)

    def _filled(
        self, template: str, s: ast.stmt, changed: set[str], state: list[str], bars: ast.expr, **parts: Any
    ) -> list[ast.stmt]:
        self.count += 1
        plain = sorted(name for name in changed if name.isidentifier())
        declared: list[ast.stmt] = []
        for kind, chosen in (
            (ast.Global, [n for n in plain if n in self.globals]),
            (ast.Nonlocal, [n for n in plain if n not in self.globals]),
        ):
            if chosen:
                declared.append(kind(chosen))
        sure = {n for n in state if n.isidentifier() and n not in self.globals | self.outer}
        values = [n if n in sure else f"ag__.read(lambda: {n}, {n!r})" for n in state]
        targets = [n if n.isidentifier() else f"ag__value_{i}" for i, n in enumerate(state)]
        later = "".join(_PLACE.format(t, n) for t, n in zip(targets, state, strict=True) if not n.isidentifier())
        functions = f"""
def ag__get_N():
    return ({"".join(f"{v}, " for v in values)})
def ag__set_N(ag__values):
    DECLARED
    ({"".join(f"{t}, " for t in targets)}) = ag__values{later}
"""
        named = {"NAMES": ast.parse(repr(tuple(state)), mode="eval").body, "BARS": bars, "DECLARED": declared}
        text = (functions + template).replace("_N", f"_{self.count}")
        made = filled(text, s, **named, **parts)
        for m in made:
            ast.fix_missing_locations(m)
        return made

    def _bars(self, parts: Sequence[ast.AST]) -> ast.expr:
        """The source of ``((what, line, object), ...)``: what only Python does in branches and loops."""
        found: list[str] = []
        changed = self._changed(parts)
        every: list[Any] = [n for part in parts for n in inside(part)]
        for n in every:
            what, base = "", None
            if isinstance(n, ast.Subscript | ast.Attribute) and is_place(n) and isinstance(n.ctx, ast.Store):
                if root(ast.unparse(n)) in changed:
                    what = "an attribute or element of what is assigned to there is assigned to"
            elif isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load):
                what, base = "an element is assigned to", n.value
            elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in CHANGES:
                what, base = f"`{n.func.attr}` is called", n.func.value
            elif isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load):
                what = "an attribute is assigned to"
            elif isinstance(n, ast.Raise) and any(n in _straight(part) for part in parts):
                what = "`raise` is there"
            if not what:
                continue
            while isinstance(base, ast.Subscript | ast.Attribute) and not is_place(base):
                base = base.value
            known = isinstance(base, ast.Name) or (base is not None and is_place(base))
            thunk = f"lambda: {ast.unparse(base)}" if known and base is not None else "None"
            if base is None or known:
                found.append(f"({what!r}, {n.lineno}, {thunk}), ")
        return ast.parse(f"({''.join(dict.fromkeys(found))})", mode="eval").body


class _Staying:
    """Which branches and loops stay as they are, as something in them cannot be rewritten."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        blocked = [n for s in body for n in inside(s) if isinstance(n, ast.Try | ast.TryStar | ast.Match)]
        # its way out would pass by the flags
        self.returns = any(isinstance(x, ast.Return) for n in blocked for x in inside(n))

    def __call__(self, s: ast.stmt) -> bool:
        if isinstance(s, ast.Try | ast.TryStar | ast.Match):
            return True
        if not isinstance(s, CONTROL):
            return False
        if _has(s, _WAITS) or (self.returns and _has(s, (ast.Return,))):
            return True
        blocked = [n for n in inside(s) if isinstance(n, ast.Try | ast.TryStar | ast.Match)]
        return any(_has(n, _JUMPS) for n in blocked)


def _has(node: ast.AST, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(n, kinds) for n in inside(node))


def _controls(s: ast.AST) -> list[ast.AST]:
    """The outermost branches and loops in a statement."""
    if isinstance(s, CONTROL):
        return [s]
    return [c for n in inside(s) if n is not s and isinstance(n, CONTROL) for c in [n]]


def _straight(node: ast.AST) -> list[ast.AST]:
    """Nodes that run for certain when a statement runs to its end."""
    if isinstance(node, (*CONTROL, ast.Try, ast.TryStar, ast.Match)):
        return []
    return [node, *[x for child in ast.iter_child_nodes(node) for x in _straight(child)]]
