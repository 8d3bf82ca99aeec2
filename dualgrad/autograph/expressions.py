"""Rewrites expressions: calls, ``and``, ``or``, ``not``, chained comparisons, conditional expressions, ``assert``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dualgrad.autograph.analysis import inside, is_place, names, parameters, root

_KEPT = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
_COMPARISONS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is_",
    ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip


def placed(n: Any, at: Any) -> None:
    """Put a node at the first line of another one: a call counts as where its function ends."""
    last = getattr(at, "test", getattr(at, "iter", at))
    n.lineno = n.end_lineno = at.lineno
    n.col_offset = at.col_offset
    n.end_col_offset = last.end_col_offset if last.end_lineno == at.lineno else at.col_offset + 1


def operator(name: str, arguments: list[ast.expr], at: ast.AST) -> ast.Call:
    """``ag__.name(arguments)``."""
    made = ast.Call(ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load()), arguments, [])
    for n in (made, made.func, made.func.value):  # type: ignore[attr-defined]
        placed(n, at)
    return made


def is_operator(node: ast.AST) -> bool:
    """Whether a node is one that `operator` made."""
    if isinstance(node, ast.Call):
        return is_operator(node.func)
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ag__"


def later(value: ast.expr) -> ast.Lambda:
    """``lambda: value``."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(empty, value), value)


class Expressions(ast.NodeTransformer):
    """Rewrites what is within statements.

    Parameters
    ----------
    unsure : set of str
        Variables that may have no value where they are read.
    nested : callable
        Rewrites a function that is defined within the function.
    libraries : frozenset of str
        Names of modules whose functions are called as they are.
    """

    def __init__(
        self,
        unsure: set[str] | frozenset[str],
        nested: Callable[[ast.FunctionDef], None],
        libraries: frozenset[str] = frozenset(),
    ) -> None:
        self.unsure, self.nested, self.libraries = set(unsure), nested, libraries

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement that is no branch or loop."""
        before: list[ast.stmt] = []
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id in self.unsure:
            before.append(
                ast.copy_location(ast.Expr(self.visit(ast.copy_location(ast.Name(s.target.id, ast.Load()), s))), s)
            )
        return [*before, self.visit(s)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function in the function."""
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self._defaults(node.args)
        self.nested(node)
        return node

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        """Leave it as it is."""
        return node

    visit_ClassDef = visit_AsyncFunctionDef  # noqa: N815

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]

    def _shadowed(self, hidden: set[str], node: Any) -> Any:
        before, self.unsure = self.unsure, self.unsure - hidden
        made = self.generic_visit(node)
        self.unsure = before
        return made

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """A lambda; its body is rewritten as well."""
        self._defaults(node.args)
        before, self.unsure = self.unsure, self.unsure - set(parameters(node))
        node.body = self.visit(node.body)
        self.unsure = before
        return node

    def _comprehension(self, node: Any) -> Any:
        return self._shadowed(set().union(*[names(g.target)[1] for g in node.generators]), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_Name(self, node: ast.Name) -> Any:
        """A variable that may have no value."""
        if isinstance(node.ctx, ast.Load) and node.id in self.unsure:
            return operator("ld", [node], node)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        """A call, of the rewritten function if it is one of the user's."""
        kept = is_operator(node.func) or ast.unparse(node.func) == "super"
        kept = kept or (is_place(node.func) and root(ast.unparse(node.func)) in self.libraries)
        self.generic_visit(node)
        if not kept:
            node.func = operator("call", [node.func], node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """``and``, ``or``."""
        kept = any(isinstance(n, _KEPT) for n in inside(node))
        self.generic_visit(node)
        if kept:
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return operator(name, [later(v) for v in node.values], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``not``."""
        self.generic_visit(node)
        return operator("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """``a if c else b``."""
        kept = any(isinstance(n, _KEPT) for part in (node.body, node.orelse) for n in inside(part))
        self.generic_visit(node)
        return node if kept else operator("if_exp", [node.test, later(node.body), later(node.orelse)], node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``a < b < c``."""
        kept = any(isinstance(n, _KEPT) for n in inside(node))
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return operator(_COMPARISONS[type(node.ops[0])], [node.left, *node.comparators], node)
        if kept or len(node.ops) == 1:
            return node
        rest: list[ast.expr] = []
        for op, value in zip(node.ops, node.comparators, strict=True):
            rest += [ast.copy_location(ast.Constant(_COMPARISONS[type(op)]), value), later(value)]
        return operator("chain", [node.left, *rest], node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``y: T = x``, which a variable from around must not be."""
        if isinstance(node.target, ast.Name):
            made = ast.Assign([node.target], self.visit(node.value)) if node.value else ast.Pass()
            return ast.copy_location(made, node)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        """``assert``."""
        self.generic_visit(node)
        message = [later(node.msg)] if node.msg else []
        made = ast.copy_location(ast.Expr(operator("assert_stmt", [node.test, *message], node)), node)
        # with python -O there is none
        return ast.copy_location(ast.If(ast.copy_location(ast.Name("__debug__", ast.Load()), node), [made], []), node)
