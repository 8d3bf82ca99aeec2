"""Analysis of what statements read and write, and of what is needed after them: variables of branches and loops.

Jumps have become flags before (`dualgrad.autograph.jumps`), so a walk backwards over the statements is enough. The
name of an attribute, ``self.x``, counts as a variable where it is assigned to, one that is always needed afterwards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

_CHANGES = "add append appendleft clear discard extend insert pop popitem popleft remove reverse setdefault sort update"
CHANGES = frozenset(_CHANGES.split())
"""Methods of Python's containers that change them."""

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONTROL = (ast.If, ast.While, ast.For)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that runs when it runs: not the bodies of functions and classes in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            yield child
        else:
            yield from inside(child)


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """The names of the parameters of a function."""
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x is not None]]
    return [x.arg for x in every]


def declared(body: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names that statements declare to be global, or nonlocal."""
    return {name for s in body for n in inside(s) if isinstance(n, kind) for name in n.names}


def is_place(node: ast.AST) -> bool:
    """Whether a node is ``a.b``, ``a["b"]`` or one of such a place."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return False
    return isinstance(node, ast.Attribute | ast.Subscript) and (
        isinstance(node.value, ast.Name) or is_place(node.value)
    )


def root(place: str) -> str:
    """``self`` of ``self.a.b``."""
    return re.split(r"[.\[]", place)[0]


def free(node: Scope) -> tuple[set[str], set[str]]:
    """The names that a function or class takes from around it, and those of them that it assigns to."""
    if isinstance(node, ast.Lambda):
        body: Sequence[ast.AST] = [node.body]
    else:
        body = node.body
    reads, writes = set[str](), set[str]()
    for s in body:
        r, w = names(s)
        reads |= r
        writes |= w
    outer = declared(body, ast.Nonlocal) | declared(body, ast.Global)
    own = writes - outer
    if not isinstance(node, ast.ClassDef):
        own |= set(parameters(node))
    return (reads | (writes & outer)) - own, writes & outer


def names(node: ast.AST | None) -> tuple[set[str], set[str]]:
    """The names that a statement or expression reads and writes; of functions that it defines, the free ones."""
    reads, writes = set[str](), set[str]()
    if node is None:
        return reads, writes

    def visit(n: ast.AST) -> None:
        if isinstance(n, SCOPES):
            heads = [*getattr(n, "decorator_list", ()), *getattr(n, "bases", ())]
            if not isinstance(n, ast.ClassDef):
                heads += [d for d in (*n.args.defaults, *n.args.kw_defaults) if d is not None]
                heads += [k for k in [getattr(n, "returns", None)] if k is not None]
            reads.update(free(n)[0])
            if not isinstance(n, ast.Lambda):
                writes.add(n.name)
            for head in heads:
                visit(head)
            return
        if isinstance(n, COMPREHENSIONS):
            targets = set().union(*[names(g.target)[1] for g in n.generators])
            inner, kept = set[str](), set[str]()
            for child in ast.iter_child_nodes(n):
                r, w = names(child)
                inner |= r
                kept |= w
            reads.update(inner - targets)
            writes.update(kept - targets)
            return
        if isinstance(n, ast.Name):
            (reads if isinstance(n.ctx, ast.Load) else writes).add(n.id)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            reads.add(n.target.id)
        elif is_place(n):
            if isinstance(n.ctx, ast.Store):  # type: ignore[attr-defined]
                writes.add(ast.unparse(n))
        elif isinstance(n, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and n.name:
            writes.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            writes.add(n.rest)
        elif isinstance(n, ast.Import | ast.ImportFrom):
            writes.update((a.asname or a.name).partition(".")[0] for a in n.names)
        for child in ast.iter_child_nodes(n):
            visit(child)

    visit(node)
    return reads, writes


class Liveness:
    """Which names are needed where, in one function.

    A function that is defined in it and a lambda it gives a name read what they take from around them wherever that
    name is read.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.closures: dict[str, tuple[set[str], set[str]]] = {}
        for s in body:
            for n in inside(s):
                if isinstance(n, ast.FunctionDef):
                    self.closures[n.name] = free(n)
                elif isinstance(n, ast.Assign) and any(isinstance(x, ast.Lambda) for x in inside(n.value)):
                    lambdas = [free(x)[0] for x in inside(n.value) if isinstance(x, ast.Lambda)]
                    for t in n.targets:
                        if isinstance(t, ast.Name):
                            self.closures[t.id] = set().union(*lambdas), set()
        self.shared = set().union(*[writes for _, writes in self.closures.values()])

    def names(self, node: ast.AST | None) -> tuple[set[str], set[str]]:
        """The names that are read and written, by closures that are read here, too."""
        reads, writes = names(node)
        left = list(reads)
        while left:
            r, w = self.closures.get(left.pop(), ((), ()))
            left += [name for name in r if name not in reads]
            reads.update(r)
            writes.update(w)
        return reads, writes

    def block(self, body: Sequence[ast.stmt], after: set[str]) -> set[str]:
        """Names needed before some statements, by those needed `after` them."""
        for s in reversed(body):
            after = self.before(s, after)
        return after

    def before(self, s: ast.stmt, after: set[str]) -> set[str]:
        """Names needed before a statement."""
        if isinstance(s, ast.If):
            return self.names(s.test)[0] | self.block(s.body, after) | self.block(s.orelse, after)
        if isinstance(s, ast.While | ast.For):
            return self.head(s, after) | (self.names(s.iter)[0] if isinstance(s, ast.For) else set())
        if isinstance(s, ast.With):
            inner = self.block(s.body, after)
            for item in reversed(s.items):
                inner = (inner - names(item.optional_vars)[1]) | self.names(item.context_expr)[0]
            return inner
        reads, writes = self.names(s)
        if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return | ast.FunctionDef):
            return (after - {name for name in writes if name not in self.shared}) | reads
        return after | reads

    def head(self, s: ast.While | ast.For, after: set[str]) -> set[str]:
        """Names needed before each iteration of a loop."""
        test = s.test if isinstance(s, ast.While) else getattr(s, "goes_on", None)
        head = after | self.names(test)[0] | self.block(s.orelse, after)
        while True:
            inner = self.block(s.body, head)
            if isinstance(s, ast.For):
                inner -= {name for name in names(s.target)[1] if name not in self.shared}
            if inner <= head:
                return head
            head = head | inner
