"""How each op is spelled in tape code: a public function of `tape_api`, or an operator, with its arguments.

There is no list of ops here. The tables of names say which public functions lie in the module of an op; a candidate
call is *tried*: it runs on symbols of a scratch trace, and counts only if that makes the same op, with the same
parameters, of the same operands. `adapters` proposes calls where the parameters of op and function differ; what it
proposes is tried as well.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

import tape_api
from dualgrad import lazy_names as common
from dualgrad.frontend.legacy import Old
from dualgrad.frontend.namespace import OPS
from dualgrad.migrate.convert.adapters import INDEX, SHAPES, Inner, Named, Ref, Slices, adapted
from dualgrad.migrate.convert.literals import bits, literal, literal_of
from engine.control.deferred_call import Call
from engine.core import nest
from engine.core.aval import Aval
from engine.core.op import Node, Op, distinct
from engine.core.structural import broadcast_like_op
from engine.core.trace import Symbol, Trace, constant
from engine.numpy_api.operators import _BINARY, _COMPARISONS
from engine.ops.indexed_slices import IndexedSlices
from graph_api.control_flow.flow import assert_op, print_op, python_call, stateless_python_call
from tape_api.names import TABLE

_OPERATORS = {
    "add": ("+", operator.add), "sub": ("-", operator.sub), "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv),
    "floordiv": ("//", operator.floordiv), "mod": ("%", operator.mod), "pow": ("**", operator.pow),
    "lt": ("<", operator.lt), "le": ("<=", operator.le), "gt": (">", operator.gt), "ge": (">=", operator.ge),
}  # fmt: skip
_UNARY = {"negative": ("-", operator.neg)}
PYTHON_CALLS = (python_call, stateless_python_call)
_LEFT_OUT = frozenset({"name", "draw"})
_ONLY = "[0]"
"""The part of a list that is its only element."""


@dataclass(frozen=True)
class Spelling:
    """A call that makes a node.

    Attributes
    ----------
    target : str
        The public name (``"nn.relu"``), or an operator's symbol.
    args, kwargs
        Its arguments; `Ref` stands for an operand of the node.
    literals : bool
        Whether small constants among the operands are given as Python data.
    field : str
        Which part of the result it is, if it is a part: an attribute, or the only element of a list.
    """

    target: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    literals: bool = True
    field: str = ""


def spelled(node: Node) -> Spelling | None:
    """The call that makes a node's results, or None if nothing public does."""
    try:
        key = (node.op.module, node.op.name, _key(node.params), tuple(map(_operand_key, node.inputs)))
    except TypeError:
        return _looked_for(node)
    if key not in _found:
        _found[key] = _looked_for(node)
    return _found[key]


def _looked_for(node: Node) -> Spelling | None:
    if isinstance(recipe := node.params.get("recipe"), Call):
        return _deferred(node, recipe)
    candidates = [*_candidates(node)]
    if node.op.multi and len(node.outputs) == 1:
        candidates += [replace(c, field=_ONLY) for c in candidates if not c.field]
    plain = (
        [replace(c, literals=False) for c in candidates] if any(literal_of(x) is not None for x in node.inputs) else []
    )
    spelling = next((c for c in [*candidates, *plain] if _makes(node, c)), None)
    if spelling is None:
        return None
    for name in spelling.kwargs:
        shorter = replace(spelling, kwargs={k: v for k, v in spelling.kwargs.items() if k != name})
        spelling = shorter if _makes(node, shorter) else spelling
    return spelling


_found: dict[Any, Spelling | None] = {}


def _key(params: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([(name, distinct(value)) for name, value in sorted(params.items())])


def _operand_key(x: Any) -> Hashable:
    if literal_of(x) is not None:
        value = np.asarray(x.node.params["value"])
        return value.dtype.str, value.shape, bits(value)
    return x.aval.dtype, x.aval.shape, x.aval.value  # a known shape may leave nothing to do


# ---- candidates ------------------------------------------------------------------------------------------------------


def _candidates(node: Node) -> Iterator[Spelling]:
    op = node.op
    for name, function in {**_BINARY, **_COMPARISONS}.items():
        if name in _OPERATORS and len(node.inputs) == 2 and _made_by(function, op):
            yield Spelling(_OPERATORS[name][0], (Ref(0), Ref(1)))
    if op.name in _UNARY:
        yield Spelling(_UNARY[op.name][0], (Ref(0),))
    for target, args, kwargs in adapted(node):
        target, _, part = target.partition("().")
        yield Spelling(target, args, kwargs, field=part)
    for path, row in _rows(op):
        yield from _bound(node, path, row)


def _deferred(node: Node, recipe: Call) -> Spelling | None:
    """The call that a graph puts off until shapes are known: of the same function, with what it was given."""
    function = inspect.unwrap(recipe.function)
    rows = _by_module().get(function.__module__, ())
    name = next((name for name, f in rows if not isinstance(f, Op) and inspect.unwrap(f) is function), None)
    several = isinstance(recipe.results, (list, tuple))
    flat = list(recipe.results) if several else [recipe.results]
    if name is None or len(flat) != len(node.outputs) or several != (len(node.outputs) > 1):
        return None
    leaves = nest.flatten(recipe.arguments)
    for i, at in enumerate(recipe.positions):
        leaves[at] = Ref(i)
    args, kwargs = nest.pack_sequence_as(recipe.arguments, leaves)
    parameters = inspect.signature(function).parameters
    arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    plain = {n: v for n, v in arguments.items() if n not in _LEFT_OUT and not _is_same(parameters[n].default, v)}
    return _ordered(name, parameters, plain)


def _made_by(function: Any, op: Op) -> bool:
    return function is op or (not isinstance(function, Op) and getattr(function, "__module__", "") == op.module)


@functools.cache
def _by_module() -> dict[str, list[tuple[str, Any]]]:
    """The public names of the tape API with the engine's function of each, by the function's module."""
    by_module: dict[str, list[tuple[str, Any]]] = {}
    for row, names in TABLE:
        function = row.function if isinstance(row, Old) else row
        module = function.module if isinstance(function, Op) else function.__module__
        by_module.setdefault(module, []).append((names.split()[0], function))
    # what tape_api loads when it is first used
    for where, names in (*common.BOTH, *common.VERSION2):
        module, _, one = where.partition(":")
        if module.startswith(OPS):
            for name in names.split():
                function = getattr(import_module(module), one or name.rpartition(".")[2])
                by_module.setdefault(module, []).append((name, function))
    return by_module


def _rows(op: Op) -> list[tuple[str, Any]]:
    """The functions that may apply an op, the likeliest first."""
    by_module = _by_module()
    rows = by_module.get(op.module, [])
    others = [row for module, found in by_module.items() if module != op.module for row in found]
    own = op.title

    def unlike(row: tuple[str, Any]) -> tuple[bool, bool, bool]:
        name = getattr(row[1], "name", None) or getattr(row[1], "__name__", "")
        return row[1] is not op, name != own, not str(name).startswith(own)

    return [*sorted(rows, key=unlike), *sorted(others, key=unlike)]


def _bound(node: Node, path: str, function: Any) -> Iterator[Spelling]:
    """Calls of a function with the operands and parameters of a node, matched by name and order."""
    refs = _operands(node)
    if isinstance(function, Op):
        if not node.params and len(refs) == len(function.args):
            yield Spelling(path, tuple(refs))
        return
    parameters = _parameters(function)
    free = [p for p in parameters.values() if p.name not in node.params and p.name not in _LEFT_OUT]
    if len(refs) > len(free) or any(p.default is p.empty for p in free[len(refs) :]):
        return
    arguments = {p.name: ref for p, ref in zip(free, refs, strict=False)}
    arguments |= {
        name: value
        for name, value in node.params.items()
        if name in parameters and not _is_same(parameters[name].default, value)
    }
    ranks = dict.fromkeys(len(x.aval.shape) for x in [*node.inputs[:1], *node.outputs] if x.aval.shape is not None)
    for values in _variants(arguments, ranks):
        yield _ordered(path, parameters, values)


@functools.cache
def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _operands(node: Node) -> list[Any]:
    """A reference to each operand; those that a starred name takes are one list."""
    refs: list[Any] = [Ref(i) for i in range(len(node.inputs))]
    star = next((i for i, a in enumerate(node.op.args) if a.startswith("*")), None)
    return refs if star is None else [*refs[:star], refs[star:]]


def _variants(given: dict[str, Any], ranks: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments as people write them: one axis is no tuple, and is counted from the first unless it is the last."""
    plain = {k: v[0] if isinstance(v, tuple) and len(v) == 1 and type(v[0]) is int else v for k, v in given.items()}
    axes = plain.get("axis")
    if isinstance(axes, tuple) and all(type(a) is int for a in axes):
        yield from (plain | {"axis": tuple([a % rank for a in axes])} for rank in ranks if rank)
    elif type(axes) is int and axes < -1:
        yield from (plain | {"axis": axes % rank} for rank in ranks if rank)
    yield plain
    if plain != given:
        yield given


def _ordered(path: str, parameters: Mapping[str, Any], given: dict[str, Any]) -> Spelling:
    """Operands and what must be given by position as far as possible, everything else by name."""
    args = []
    for name, parameter in parameters.items():
        if name not in given or not (_holds_ref(given[name]) or parameter.default is parameter.empty):
            break
        args.append(given[name])
    return Spelling(path, tuple(args), {n: given[n] for n in [*parameters][len(args) :] if n in given})


def _holds_ref(x: Any) -> bool:
    return isinstance(x, Ref) or (isinstance(x, list) and any(_holds_ref(i) for i in x))


def _is_same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and bool(np.all(default == value))


# ---- trying one ------------------------------------------------------------------------------------------------------


def _makes(node: Node, candidate: Spelling) -> bool:
    """Whether a call makes the node."""
    trace = Trace()
    operands = [_stand_in(trace, x, candidate.literals) for x in node.inputs]
    try:
        made = call(candidate, operands)
    except Exception:  # noqa: BLE001  (whatever is wrong with it, it is not the call looked for)
        return False
    several = isinstance(made, (list, tuple))
    results = list(made) if several else [made]
    if several and len(node.outputs) == 1:
        return False  # the name is of the element, not of the list
    if not results or not all(isinstance(r, Symbol) for r in results):
        return False
    again = results[0].node
    if any(r.node is not again or r.index != i for i, r in enumerate(results)) or not same_node(node, again):
        return False
    if len(results) != len(node.outputs):
        return False
    if any(step is not again and step.op.stateful for step in trace.nodes if step.op.name != "placeholder"):
        return False
    return all(
        _is_operand(*trio) or ((node.op.name, i) in SHAPES and _key_of_aval(trio[0]) == _key_of_aval(trio[2]))
        for i, trio in enumerate(zip(again.inputs, operands, node.inputs, strict=True))
    )


def _key_of_aval(x: Any) -> Hashable:
    return x.aval.dtype, x.aval.shape


def same_node(node: Node, again: Node) -> bool:
    """Whether nodes apply the same op with the same parameters to as many operands."""
    defaults = _defaults(node.op)
    if again.op is not node.op or not same_params(defaults | again.params, defaults | node.params):
        return False
    return len(again.inputs) == len(node.inputs)


@functools.cache
def _defaults(op: Op) -> dict[str, Any]:
    """The values of parameters that an op is not given."""
    try:
        parameters = inspect.signature(op.kernel).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}


def _stand_in(trace: Trace, x: Any, literals: bool) -> Any:
    """The argument for an operand: Python data for a small constant, else a symbol."""
    literal = literal_of(x) if literals else None
    if literal is not None:
        return literal
    aval = x.aval
    return trace.placeholder(Aval(aval.shape, aval.dtype, aval.value))


def _is_operand(again: Any, given: Any, original: Any) -> bool:
    if isinstance(given, Symbol):
        return again is given
    if again.node.op is not constant:
        return False
    one, other = np.asarray(again.node.params["value"]), np.asarray(original.node.params["value"])
    return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)


def same_params(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether parameters are equal, and of the same types."""
    try:
        return _key(one) == _key(other)
    except TypeError:
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)


def call(spelling: Spelling, operands: Sequence[Any]) -> Any:
    """The result of a call for given operands."""
    args = [_filled(a, operands) for a in spelling.args]
    symbols = dict(_OPERATORS.values())
    if len(args) == 1 and spelling.target in ("-",):
        return operator.neg(args[0])
    if spelling.target in symbols:
        return symbols[spelling.target](*args)
    if spelling.target == INDEX:
        return args[0][args[1]]
    function: Callable[..., Any] = operator.attrgetter(spelling.target)(tape_api)
    result = function(*args, **{k: _filled(v, operands) for k, v in spelling.kwargs.items()})
    if spelling.field == _ONLY:
        (only,) = result
        return only
    return getattr(result, spelling.field) if spelling.field else result


def _filled(x: Any, operands: Sequence[Any]) -> Any:
    if isinstance(x, Ref):
        return operands[x.index]
    if isinstance(x, Named):
        return x.function
    if isinstance(x, Inner):
        return operator.attrgetter(x.target)(tape_api)(*[_filled(a, operands) for a in x.args], **x.kwargs)
    if isinstance(x, Slices):
        return IndexedSlices(operands[x.values.index], operands[x.indices.index])
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([_filled(i, operands) for i in x])
    if isinstance(x, slice):
        return slice(*[_filled(part, operands) for part in (x.start, x.stop, x.step)])
    return x


# ---- as code ---------------------------------------------------------------------------------------------------------

_BINARY_NODES: dict[str, Any] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
}  # fmt: skip
_COMPARE_NODES: dict[str, Any] = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE}


def code(spelling: Spelling, operands: Sequence[ast.expr], whole: Callable[[Any], ast.expr] | None = None) -> ast.expr:
    """The call as an expression, with expressions for the operands; `whole` gives those for gradients of rows."""
    args = [_coded(a, operands, whole) for a in spelling.args]
    target = spelling.target
    if target == "-" and len(args) == 1:
        return ast.UnaryOp(ast.USub(), args[0])
    power = args[-1].value if target == "**" and isinstance(args[-1], ast.Constant) else None
    if isinstance(power, float) and power.is_integer():
        args[1] = ast.Constant(int(power))  # it takes the dtype of the base
    if target in _BINARY_NODES:
        return ast.BinOp(args[0], _BINARY_NODES[target](), args[1])
    if target in _COMPARE_NODES:
        return ast.Compare(args[0], [_COMPARE_NODES[target]()], [args[1]])
    if target == INDEX:
        return ast.Subscript(args[0], args[1], ast.Load())
    keywords = [ast.keyword(k, _coded(v, operands, whole)) for k, v in spelling.kwargs.items()]
    made = ast.Call(path(f"tf.{target}"), args, keywords)
    if spelling.field == _ONLY:
        return ast.Subscript(made, ast.Constant(0), ast.Load())
    return ast.Attribute(made, spelling.field, ast.Load()) if spelling.field else made


def path(dotted: str) -> ast.expr:
    """The expression ``a.b.c``."""
    first, *rest = dotted.split(".")
    value: ast.expr = ast.Name(first)
    for name in rest:
        value = ast.Attribute(value, name, ast.Load())
    return value


def _coded(x: Any, operands: Sequence[ast.expr], whole: Callable[[Any], ast.expr] | None = None) -> ast.expr:
    if isinstance(x, Ref):
        return operands[x.index]
    if isinstance(x, Named):
        return ast.Name(x.name)
    if isinstance(x, Inner):
        keywords = [ast.keyword(k, literal(v)) for k, v in x.kwargs.items()]
        return ast.Call(path(f"tf.{x.target}"), [_coded(a, operands, whole) for a in x.args], keywords)
    if isinstance(x, Slices) and whole is not None:
        return whole(x.whole)
    if isinstance(x, list):
        return ast.List([_coded(i, operands, whole) for i in x], ast.Load())
    if isinstance(x, tuple):
        return ast.Tuple([_coded(i, operands, whole) for i in x], ast.Load())
    if isinstance(x, slice):
        return ast.Slice(*[None if p is None else _coded(p, operands) for p in (x.start, x.stop, x.step)])
    return literal(x)


def composed(node: Any, operands: Sequence[ast.expr]) -> ast.expr | None:
    """An expression for an op that no single call makes."""
    if node.op is broadcast_like_op and not any(node.params.values()):
        return ast.Call(path("tf.broadcast_to"), [operands[0], ast.Call(path("tf.shape"), [operands[1]], [])], [])
    if node.op in PYTHON_CALLS:
        return _python_call(node, operands)
    if node.op is print_op and node.params["times"].left is None:
        options = [("message", node.params["message"]), ("summarize", node.params["summarize"])]
        keywords = [ast.keyword(k, ast.Constant(v)) for k, v in options if v not in ("", 3)]
        data = ast.List(list(operands[1:]), ast.Load())
        return ast.Call(path("tf.compat.v1.Print"), [operands[0], data], keywords)
    if node.op is not assert_op:
        return None
    return _assertion(node.params["message"], operands[0])


_ASSERTIONS: dict[type, str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip
_TESTS = {"tf.equal": "equal", "tf.not_equal": "none_equal"}
_SAID = re.compile(r"\s*Condition x \S+ \S+ did not hold (element-wise|for every single element):?$")
"""The words that TensorFlow 1 adds to a message, as TensorFlow 2 does by itself."""


def _assertion(message: str, condition: ast.expr) -> ast.expr:
    """The call that asserts a condition: of the comparison that it is, if it is one, of all elements."""
    each = next(iter(_operands_of(condition, "tf.reduce_all")), condition)
    name, args = "equal", [condition, ast.Constant(True)]
    if isinstance(each, ast.Compare) and type(each.ops[0]) in _ASSERTIONS:
        name, args = _ASSERTIONS[type(each.ops[0])], [each.left, each.comparators[0]]
    elif test := next((t for t in _TESTS if _operands_of(each, t)), ""):
        name, args = _TESTS[test], _operands_of(each, test)
    message = _SAID.sub("", message) if name != "equal" or args[0] is not condition else message.removesuffix(":")
    keywords = [ast.keyword("message", ast.Constant(message))] if message else []
    return ast.Call(path(f"tf.debugging.assert_{name}"), args, keywords)


def _operands_of(code: ast.expr, function: str) -> list[ast.expr]:
    """The operands that a function is given, if an expression is its call with nothing but operands."""
    is_call = isinstance(code, ast.Call) and not code.keywords and ast.unparse(code.func) == function
    return list(code.args) if is_call else []  # type: ignore[attr-defined]


def _python_call(node: Any, operands: Sequence[ast.expr]) -> ast.expr | None:
    """The call of a Python function of arrays; None if the function has no name at the top of the program."""
    function, dtypes = node.params["func"], [literal(dtype) for dtype in node.params["dtypes"]]
    own = _called_own(function)
    if own is None:
        return None
    returned = dtypes[0] if len(dtypes) == 1 else ast.List(dtypes, ast.Load())
    return ast.Call(path("tf.numpy_function"), [own, ast.List(list(operands), ast.Load()), returned], [])


def _called_own(function: Any) -> ast.expr | None:
    """A function of the program's, or of NumPy's, as it can be named at the top of a module."""
    name = str(getattr(function, "__name__", ""))
    if getattr(np, name, None) is function:
        return path(f"np.{name}")
    if not isinstance(function, FunctionType) or function.__module__ != "__main__":
        return None
    names = [name for name, value in function.__globals__.items() if value is function]
    return ast.Name(names[0]) if names else None
