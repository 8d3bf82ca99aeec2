"""Mistakes that can be put into a program: each changes its text in one place, and leaves the rest as it stands."""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Mistake:
    """Another text in one place of a program.

    Attributes
    ----------
    kind : str
        What is changed: "operator", "axis", "feed".
    line : int
    start, end : int
        The bytes that it replaces.
    new : str
        What stands there then.
    """

    kind: str
    line: int
    start: int
    end: int
    new: str

    def made(self, text: str) -> str:
        """A program with this mistake."""
        raw = text.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()

    def shown(self, text: str) -> str:
        """The mistake in a line."""
        old = text.encode()[self.start : self.end].decode()
        whole = text.splitlines()[self.line - 1].strip()
        return f"line {self.line}, {self.kind}: {_short(old)} -> {_short(self.new)}   in: {whole}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) < 70 else line[:67] + "...")


OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**", ast.Mod: "%"}
OTHER_OPERATOR = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "**": "*", "%": "//"}
COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
}  # fmt: skip
OTHER_NAME = {
    "relu": "tanh", "tanh": "sigmoid", "sigmoid": "tanh", "softmax": "sigmoid", "softplus": "relu", "exp": "tanh",
    "reduce_mean": "reduce_sum", "reduce_sum": "reduce_mean", "reduce_max": "reduce_min", "reduce_min": "reduce_max",
    "maximum": "minimum", "minimum": "maximum", "argmax": "argmin", "argmin": "argmax", "zeros": "ones", "sum": "mean",
    "ones": "zeros", "zeros_like": "ones_like", "ones_like": "zeros_like", "square": "abs", "abs": "square", "log":
    "log1p", "sqrt": "square", "sin": "cos", "cos": "sin", "assign": "assign_add", "assign_add": "assign",
    "assign_sub": "assign_add", "mean": "sum", "max": "min", "min": "max", "greater": "greater_equal", "less":
    "less_equal", "less_equal": "less", "greater_equal": "greater", "equal": "not_equal", "cumsum": "cumprod", "randn":
    "rand", "normal": "uniform", "random_normal": "random_uniform", "random_uniform": "random_normal", "append":
    "insert", "l2_loss": "reduce_sum", "truncated_normal": "random_normal", "elu": "relu", "floor": "ceil",
}  # fmt: skip
OTHER_DTYPE = {
    "float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32", "bool": "int32", "uint8": "int8",
}  # fmt: skip
OTHER_TEXT = {"SAME": "VALID", "VALID": "SAME"}
AXES = ("axis", "axes", "batch_dims", "num_or_size_splits", "dim", "keepdims", "perm", "depth")


def mistakes(text: str) -> list[Mistake]:
    """All that can be made in a program, in order.

    Examples
    --------
    >>> {"pass", "x = a - 2", "x = a + 3"} <= {m.made("x = a + 2") for m in mistakes("x = a + 2")}
    True
    """
    found = _Finder(text).all()
    return sorted(
        {m for m in found if m.made(text) != text and _compiles(m.made(text))}, key=lambda m: (m.start, -m.end, m.new)
    )


def chosen(text: str, count: int, seed: object) -> list[Mistake]:
    """Some of them: of each kind about as many."""
    draw = random.Random(str(seed))
    kinds: dict[str, list[Mistake]] = defaultdict(list)
    for mistake in mistakes(text):
        kinds[mistake.kind].append(mistake)
    for some in kinds.values():
        draw.shuffle(some)
    picked: list[Mistake] = []
    while len(picked) < count and kinds:
        for kind in draw.sample(sorted(kinds), len(kinds)):
            picked.append(kinds[kind].pop())
            if not kinds[kind]:
                del kinds[kind]
    return picked[:count]


def _compiles(text: str) -> bool:
    try:
        compile(text, "mistake", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


Place = ast.stmt | ast.expr | ast.keyword


class _Finder:
    """Finds places for mistakes in a text."""

    def __init__(self, text: str) -> None:
        self.raw = text.encode()
        self.tree = ast.parse(text)
        starts = [0]
        for line in self.raw.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.functions = [n.name for n in self.tree.body if isinstance(n, ast.FunctionDef)]

    def all(self) -> Iterator[Mistake]:
        for node in ast.walk(self.tree):
            for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
                if isinstance(body, list):
                    yield from self.of_statements(body)
            for kind in type(node).__mro__[:-2]:
                yield from getattr(self, f"of_{kind.__name__}", lambda _: ())(node)

    # ---- places ------------------------------------------------------------------------------------------------------

    def span(self, node: Place) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def source(self, node: Place) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def put(self, kind: str, node: Place, new: str) -> Mistake:
        return Mistake(kind, node.lineno, *self.span(node), new)

    def between(self, kind: str, one: Place, other: Place, old: str, new: str) -> Iterator[Mistake]:
        """Put something in place of what stands between two nodes."""
        start, end = self.span(one)[1], self.span(other)[0]
        pattern = rf"(?<![\w*/]){re.escape(old)}(?![\w*/])"
        match = re.search(pattern.encode(), re.sub(rb"#[^\n]*", lambda m: b" " * len(m[0]), self.raw[start:end]))
        if match:
            yield Mistake(kind, one.end_lineno or 0, start + match.start(), start + match.end(), new)

    def swapped(self, kind: str, one: Place, other: Place) -> Mistake:
        (a, b), (c, d) = self.span(one), self.span(other)
        new = self.raw[c:d] + self.raw[b:c] + self.raw[a:b]
        return Mistake(kind, one.lineno, a, d, new.decode())

    # ---- statements --------------------------------------------------------------------------------------------------

    def of_statements(self, body: list[ast.stmt]) -> Iterator[Mistake]:
        plain = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.For, ast.If, ast.With, ast.While, ast.Continue)
        movable = [isinstance(s, (*plain, ast.Break)) and not _is_docstring(s) for s in body]
        for i, statement in enumerate(body):
            if movable[i]:
                yield self.put("a line left out", statement, "pass")
            if movable[i] and i + 1 < len(body) and movable[i + 1]:
                yield self.swapped("two lines swapped", statement, body[i + 1])
            if isinstance(statement, (ast.AugAssign, ast.Expr, ast.Assign)) and movable[i]:
                indent = " " * statement.col_offset
                source = self.source(statement)
                yield self.put("a line twice", statement, f"{source}\n{indent}{source}")

    def of_If(self, node: ast.If) -> Iterator[Mistake]:
        if "__name__" not in self.source(node.test):  # of that, the comparison will do
            yield self.put("condition", node.test, f"not ({self.source(node.test)})")

    def of_IfExp(self, node: ast.IfExp) -> Iterator[Mistake]:
        yield self.put("condition", node.test, f"(not ({self.source(node.test)}))")

    def of_While(self, node: ast.While) -> Iterator[Mistake]:
        yield self.put("condition", node.test, "False")

    def of_Return(self, node: ast.Return) -> Iterator[Mistake]:
        if isinstance(node.value, (ast.Name, ast.Call, ast.BinOp)):
            yield self.put("result", node.value, f"1.5 * ({self.source(node.value)})")

    def of_For(self, node: ast.For) -> Iterator[Mistake]:
        given = self.source(node.iter)
        yield self.put("loop", node.iter, f"list({given})[1:]")
        yield self.put("loop", node.iter, f"list({given})[:-1]")
        yield self.put("loop", node.iter, f"list({given})[::-1]")

    def of_AugAssign(self, node: ast.AugAssign) -> Iterator[Mistake]:
        old = OPERATORS.get(type(node.op))
        if old:
            yield from self.between("operator", node.target, node.value, f"{old}=", f"{OTHER_OPERATOR[old]}=")

    # ---- expressions -------------------------------------------------------------------------------------------------

    def of_BinOp(self, node: ast.BinOp) -> Iterator[Mistake]:
        old = OPERATORS.get(type(node.op))
        if old:
            yield from self.between("operator", node.left, node.right, old, OTHER_OPERATOR[old])
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult)):
            yield self.put("operands swapped", node, f"({self.source(node.right)}) {old or '@'} "
                           f"({self.source(node.left)})")  # fmt: skip
        yield self.put("operand left out", node, f"({self.source(node.left)})")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Iterator[Mistake]:
        if isinstance(node.op, (ast.USub, ast.Not)):
            yield self.put("operator", node, f"({self.source(node.operand)})")

    def of_BoolOp(self, node: ast.BoolOp) -> Iterator[Mistake]:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from self.between("operator", node.values[0], node.values[1], old, new)

    def of_Compare(self, node: ast.Compare) -> Iterator[Mistake]:
        pair = COMPARISONS.get(type(node.ops[0]))
        if pair:
            yield from self.between("comparison", node.left, node.comparators[0], *pair)

    def of_Constant(self, node: ast.Constant) -> Iterator[Mistake]:
        value = node.value
        if isinstance(value, bool):
            yield self.put("flag", node, str(not value))
        elif isinstance(value, int):
            yield self.put("constant", node, str(value + 1))
            yield self.put("constant", node, str(value - 1) if value else "2")
        elif isinstance(value, float):
            yield self.put("constant", node, repr(value * 2 or 1.0))
            yield self.put("constant", node, repr(value * 1.001 or 0.001))
            if value and abs(value) < 1e30:
                yield self.put("last digit", node, repr(float(np.nextafter(np.float32(value), np.float32(np.inf)))))
        elif isinstance(value, str) and value in OTHER_TEXT:
            yield self.put("text", node, f'"{OTHER_TEXT[value]}"')

    def of_keyword(self, node: ast.keyword) -> Iterator[Mistake]:
        named = node.arg or ""
        if named in AXES and isinstance(node.value, ast.Constant):
            yield self.put("axis", node.value, {"-1": "0", "0": "1", "1": "0"}.get(self.source(node.value), "0"))
        elif named in AXES and self.source(node.value) == "-1":
            yield self.put("axis", node.value, "0")
        if "seed" in named:
            yield self.put("seed", node.value, f"{self.source(node.value)} + 1")

    def of_Call(self, node: ast.Call) -> Iterator[Mistake]:
        of_print = isinstance(node.func, ast.Name) and node.func.id == "print"
        kind = "feed" if isinstance(node.func, ast.Name) and node.func.id in self.functions else "arguments"
        for one, other in pairwise(node.args):
            if not of_print:
                yield self.swapped(f"{kind} swapped", one, other)
        for i, one in enumerate(node.args if kind == "feed" else ()):
            yield self.put("feed", one, f"0.5 * np.asarray({self.source(one)})")
            if i:
                yield self.put("feed", one, self.source(node.args[0]))
        for first, second in pairwise(node.keywords):
            if first.arg and second.arg:
                yield self.swapped(f"{kind} swapped", first.value, second.value)
        named = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if any(word in named for word in ("seed", "RandomState", "default_rng")) and node.args:
            yield self.put("seed", node.args[0], f"{self.source(node.args[0])} + 1")
        parts: list[Place] = [*node.args, *node.keywords]
        if node.keywords and len(parts) > 1:
            # an argument of its own accord
            yield Mistake("argument left out", node.lineno, self.span(parts[-2])[1], self.span(parts[-1])[1], "")
        if isinstance(node.func, ast.Name) and node.func.id in self.functions and len(self.functions) > 1:
            at = self.functions.index(node.func.id)
            yield self.put("dispatch", node.func, self.functions[at - 1])
        if len(node.args) == 1 and not node.keywords and isinstance(node.func, ast.Attribute) and not of_print:
            yield self.put("call left out", node, f"({self.source(node.args[0])})")

    def of_Attribute(self, node: ast.Attribute) -> Iterator[Mistake]:
        for kind, table in (("function", OTHER_NAME), ("dtype", OTHER_DTYPE)):
            if node.attr in table and isinstance(node.ctx, ast.Load):
                base = self.source(node.value)
                yield self.put(kind, node, f"{base}.{table[node.attr]}")

    def of_Dict(self, node: ast.Dict) -> Iterator[Mistake]:
        for one, other in pairwise(node.values):
            yield self.swapped("feed swapped", one, other)
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield self.put("feed", value, f"0.5 * np.asarray({self.source(value)})")
        if len(node.keys) > 1:
            yield Mistake("feed", node.lineno, self.span(node.values[-2])[1], self.span(node.values[-1])[1], "")

    def of_Tuple(self, node: ast.Tuple) -> Iterator[Mistake]:
        for one, other in pairwise(node.elts):
            yield self.swapped("elements swapped", one, other)

    def of_List(self, node: ast.List) -> Iterator[Mistake]:
        yield from self.of_Tuple(node)  # type: ignore[arg-type]
        rows = [e for e in node.elts if isinstance(e, ast.Tuple) and e.elts]
        for one, other in pairwise(rows):
            # a table of functions: which one is called
            yield self.put("dispatch", one.elts[0], self.source(other.elts[0]))
            yield self.put("dispatch", other.elts[0], self.source(one.elts[0]))

    def of_Slice(self, node: ast.Slice) -> Iterator[Mistake]:
        if node.lower is not None:
            yield self.put("index", node.lower, f"({self.source(node.lower)}) + 1")
        if node.upper is not None:
            yield self.put("index", node.upper, f"({self.source(node.upper)}) - 1")

    def of_Subscript(self, node: ast.Subscript) -> Iterator[Mistake]:
        if isinstance(node.slice, (ast.Name, ast.BinOp)) and isinstance(node.ctx, ast.Load):
            yield self.put("index", node.slice, f"({self.source(node.slice)}) - 1")

    def of_FunctionDef(self, node: ast.FunctionDef) -> Iterator[Mistake]:
        given = [a.arg for a in node.args.args if a.arg != "self"]
        loads = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        names = [
            *dict.fromkeys(
                given + [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            )
        ]
        for n in loads:
            if n.id in names and len(names) > 1:
                yield self.put("name", n, names[names.index(n.id) - 1])

    def of_Module(self, node: ast.Module) -> Iterator[Mistake]:
        variables = [
            n.targets[0].id for n in node.body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and "Variable(" in self.source(n)
        ]  # fmt: skip
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in variables and len(variables) > 1:
                yield self.put("variable", n, variables[variables.index(n.id) - 1])


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
