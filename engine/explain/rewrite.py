"""The user's line, written so that no branch computes what is not finite."""

from __future__ import annotations

import ast
import linecache

from engine.explain.witness import Site

_RISKY = {"sqrt", "log", "log1p", "rsqrt", "reciprocal", "pow", "acos", "asin", "arccos", "arcsin", "divide", "truediv",
          "div", "norm", "acosh", "atanh"}  # fmt: skip
_CHOICES = {"where", "select", "where_v2"}
_ADVICE = {
    "sqrt": "keep its operand above 0: tf.sqrt(tf.maximum(x, 1e-12)), or tf.sqrt(x + 1e-12)",
    "log": "keep its operand above 0: tf.math.log(tf.maximum(x, 1e-12)); tf.math.xlogy for x * log(x); a loss on "
    "logits for log(softmax) and log(sigmoid)",
    "divide": "tf.math.divide_no_nan(x, y), or keep the divisor away from 0",
    "pow": "keep its base above 0: tf.pow(tf.maximum(x, 1e-12), p)",
    "exp": "keep its operand small: subtract the maximum first, or use tf.reduce_logsumexp",
}
_GENERAL = "keep its operand where value and slope are finite: tf.maximum, tf.clip_by_value, or tf.where on the operand"


def remedy(op: str, site: Site | None) -> str:
    """Advice what to write instead of a line on which an op made a NaN or an infinity."""
    rewritten = None if site is None else safe_line(site)
    if rewritten is not None:
        return rewritten
    name = {"power": "pow", "rsqrt": "sqrt", "norm": "sqrt", "truediv": "divide", "reciprocal": "divide"}.get(op, op)
    return _ADVICE.get(name, _GENERAL)


def safe_line(site: Site) -> str | None:
    """The statement at a line with each risky operand inside a `where` made safe by a `where` of its own.

    ``tf.where(x > 0, tf.sqrt(x), 0.0)`` becomes ``tf.where(x > 0, tf.sqrt(tf.where(x > 0, x, tf.ones_like(x))), 0.0)``.
    None where the line holds no such `where`.
    """
    statement = _statement(site)
    return None if statement is None else safe(statement)


def _statement(site: Site) -> ast.stmt | None:
    try:
        tree = ast.parse("".join(linecache.getlines(site.file)))
    except SyntaxError:
        return None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr))
        and node.lineno <= site.line <= (node.end_lineno or node.lineno)
    ]
    return min(around, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def safe(statement: ast.stmt) -> str | None:
    """The text of a statement made safe, or None if there is nothing to do."""
    change = _Safe()
    changed = change.visit(statement)
    return ast.unparse(ast.fix_missing_locations(changed)) if change.done else None


class _Safe(ast.NodeTransformer):
    def __init__(self) -> None:
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _name(node.func) in _CHOICES and len(node.args) == 3:
            condition = node.args[0]
            inner = [_Operands(node.func, condition, chosen) for chosen in (True, False)]
            node.args[1:] = [one.visit(arg) for one, arg in zip(inner, node.args[1:], strict=True)]
            self.done = self.done or any(one.done for one in inner)
            return node
        return self.generic_visit(node)


class _Operands(ast.NodeTransformer):
    """Puts a `where` around the risky operands of a branch."""

    def __init__(self, where: ast.expr, condition: ast.expr, chosen: bool) -> None:
        self.where, self.condition, self.chosen, self.done = where, condition, chosen, False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _name(node.func)
        if name in _RISKY and node.args:
            k = 1 if name in ("divide", "truediv", "div") and len(node.args) > 1 else 0
            node.args[k] = self._guarded(node.args[k])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
            node.right = self._guarded(node.right)
        elif isinstance(node.op, ast.Pow) and not isinstance(node.left, ast.Constant):
            node.left = self._guarded(node.left)
        return node

    def _guarded(self, operand: ast.expr) -> ast.expr:
        self.done = True
        ones = ast.Call(_beside(self.where, "ones_like"), [operand], [])
        both = [operand, ones] if self.chosen else [ones, operand]
        return ast.Call(self.where, [self.condition, *both], [])


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _beside(function: ast.expr, name: str) -> ast.expr:
    """``tf.ones_like`` for ``tf.where``."""
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())
