"""Choices, loops and random numbers as code: functions for branches, loops over rows, `tf.random`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.frontend.initializers import GlorotUniform
from dualgrad.migrate.convert.items import DrawItem, FlowItem, operands, source
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.spelling import path
from engine.core.tensor_shape import TensorShape
from engine.core.trace import Symbol
from engine.core.variable import Variable

_RANDOM = {
    "uniform": ("random.uniform", ("shape", "minval", "maxval", "dtype")),
    "normal": ("random.normal", ("shape", "mean", "stddev", "dtype")),
    "truncated_normal": ("random.truncated_normal", ("shape", "mean", "stddev", "dtype")),
    "gamma": ("random.gamma", ("shape", "alpha", "beta", "dtype")),
    "poisson": ("random.poisson", ("shape", "lam", "dtype")),
    "multinomial": ("random.categorical", ("rows", "num_samples", "output_dtype")),
    "shuffle": ("random.shuffle", ("rows",)),
    "dropout": ("nn.dropout", ("tensor", "dropped", "noise_shape")),
}
"""Of each random function of graphs that of tapes, and which of the former's local names are its arguments."""
_DEFAULTS = {
    "minval": 0,
    "maxval": None,
    "mean": 0.0,
    "stddev": 1.0,
    "beta": None,
    "noise_shape": None,
    "output_dtype": None,
}


def written_draw(body: Any, item: DrawItem) -> ast.expr | None:
    """The call of a random function, or None if there is no such function."""
    call = item.call
    if call.function not in _RANDOM:
        return None
    target, names = _RANDOM[call.function]
    args: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for name in names:
        value = call.arguments[name]
        if name in _DEFAULTS and not isinstance(value, Symbol) and value == _DEFAULTS[name]:
            continue
        if name == "dtype" and value is not None and literal_dtype(value) == "float32":
            continue
        code = coded(body, value)
        if name in ("shape", "rows", "tensor", "dropped", "lam", "num_samples", "alpha") and not keywords:
            args.append(code)
        else:
            keywords.append(ast.keyword("dtype" if name == "output_dtype" else name, code))
    if call.seed is not None:
        keywords.append(ast.keyword("seed", literal(call.seed)))
    if body.module.is_initial and call.function == "uniform" and _is_by_fans(call):
        kept = [k for k in keywords if k.arg in ("dtype", "seed")]
        return ast.Call(ast.Call(path("tf.compat.v1.glorot_uniform_initializer"), [], kept), args, [])
    return ast.Call(path(f"tf.{target}"), args, keywords)


def _is_by_fans(call: Any) -> bool:
    """Whether the bounds of a first value are those that follow from its shape, whatever formula rounded them."""
    low, high = call.arguments["minval"], call.arguments["maxval"]
    if not (isinstance(low, float) and isinstance(high, float) and call.result._aval.shape is not None):
        return False
    spread = np.float32(GlorotUniform().spread(tuple(call.result._aval.shape)))
    return bool(np.float32(high) == spread and np.float32(low) == -spread)


def literal_dtype(x: Any) -> str:
    """The name of what says a dtype."""
    return str(getattr(x, "name", x))


def coded(body: Any, x: Any) -> ast.expr:
    """An argument that a program gave, as code."""
    if isinstance(x, Variable):
        value: ast.expr = body.module.variable(source(x))
        return value
    if isinstance(x, Symbol):
        expression: ast.expr = body.operand(x, literals=True)
        return expression
    if isinstance(x, TensorShape):
        return literal([d if d is None else int(d) for d in x.as_list()])
    if isinstance(x, (list, tuple)):
        return ast.List([coded(body, i) for i in x], ast.Load())
    if hasattr(x, "tolist"):
        return literal(x.tolist())
    return literal(x)


def write_flow(body: Any, item: FlowItem) -> None:
    """Add the statements for a choice or a loop."""
    kind = item.call.node.op.name
    if kind == "cond_op":
        body.take(operands(item.call))
    body.flush()
    {"cond_op": _write_cond, "while_op": _write_while, "scan_op": _write_scan}[kind](body, item)


def _function(body: Any, item: FlowItem, index: int, name: str, parameters: Sequence[str]) -> ast.expr:
    """A function of the program's, for one of the regions: a lambda if it is one expression."""
    region = item.call.closure.regions[index]
    names = {id(x): p for x, p in zip(region.bound, parameters, strict=True)}
    statements = body.inner(item.call, names, region.results, item.call.closure.effects[index])
    return function_here(body, item, name, parameters, statements)


def function_here(body: Any, item: Any, name: str, parameters: Sequence[str], statements: list[Any]) -> ast.expr:
    """A function inside of another one: a lambda if it is one expression, else its name."""
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    if len(statements) == 1 and isinstance(statements[0].code, ast.Return) and statements[0].code.value is not None:
        return ast.Lambda(arguments, statements[0].code.value)
    function_name = body.scope.free(name)
    body.add(function_named(function_name, arguments, statements), item)
    return ast.Name(function_name)


def function_named(name: str, arguments: ast.arguments, body: list[Any]) -> ast.stmt:
    """The definition of a function of `Statement`s."""
    made: Any = ast.FunctionDef  # whose arguments differ from Python to Python
    function: ast.stmt = made(name=name, args=arguments, body=body, decorator_list=[])
    return function


def _assign(body: Any, item: FlowItem, outputs: Sequence[Any], value: ast.expr, plain: bool) -> None:
    """Give names to the results; `plain` if a lone one comes bare."""
    names = body.names_for(outputs)
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
    target = targets[0] if plain and len(targets) == 1 else ast.Tuple(targets, ast.Store())
    body.add(ast.Assign([target], value), item)


def _write_cond(body: Any, item: FlowItem) -> None:
    true = _function(body, item, 0, "true_fn", ())
    false = _function(body, item, 1, "false_fn", ())
    call = ast.Call(path("tf.cond"), [body.value(operands(item.call)[0]), true, false], [])
    _assign(body, item, item.outputs, call, plain=True)


def _write_while(body: Any, item: FlowItem) -> None:
    call = item.call
    initial = operands(call)
    given = initial[: len(call.closure.regions[0].bound)]
    names = body.fresh([body.label(x) if x.node.op.name != "constant" else "i" for x in given])
    test = _function(body, item, 0, "condition", names)
    step = _function(body, item, 1, "body", names)
    start = ast.List([body.value(x) for x in initial], ast.Load())
    _assign(body, item, _returned(item), ast.Call(path("tf.while_loop"), [test, step, start], []), plain=False)


def _returned(item: FlowItem) -> list[Any]:
    count = len(operands(item.call))
    return item.outputs[:count]


def _write_scan(body: Any, item: FlowItem) -> None:
    """A loop over rows. Where the states are the results it is `tf.scan`; without states `tf.map_fn`."""
    call = item.call
    given = operands(call)
    (region,) = call.closure.regions
    rows = call.node.params["sequences"]
    carries = len(given) - rows
    states, results = region.results[:carries], region.results[carries:]
    if not carries and not call.node.params["backwards"]:
        _write_map(body, item, given)
        return
    same = [a is b for a, b in zip(states, results, strict=False)]
    unused = not any(body.is_used(x) for x in item.outputs[:carries])
    if not results or (unused and len(results) == carries and all(same)):
        _write_fold(body, item, given, carries)
        return
    draws = any(call.first <= draw.first < call.last for draw in body.module.capture.draws)
    used = [draws or body.is_used(x) for x in item.outputs[carries:]]  # what draws takes its random numbers
    outputs, results = [list(itertools.compress(xs, used)) for xs in (item.outputs[carries:], results)]
    names = body.fresh([body.label(x, "state" if i < carries else "row") for i, x in enumerate(given)])
    for name, x in zip(names[:carries], given, strict=False):
        body.add(ast.Assign([ast.Name(name, ast.Store())], body.value(x)), item)
    lists = body.fresh([f"all_{label}" if (label := body.label(r, "_")) != "_" else "outputs" for r in results])
    for name in lists:
        body.add(ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())), item)
    unstacked: list[ast.expr] = [ast.Call(path("tf.unstack"), [body.value(x)], []) for x in given[carries:]]
    loop = unstacked[0] if rows == 1 else ast.Call(ast.Name("zip"), unstacked, [])
    if call.node.params["backwards"]:
        loop = ast.Call(ast.Name("reversed"), [loop if rows == 1 else ast.Call(ast.Name("list"), [loop], [])], [])
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names[carries:]]
    bound = {id(x): n for x, n in zip(region.bound, names, strict=True)}
    inside = body.inner(call, bound, [*states, *results], call.closure.effects[0])
    values = _values_of(inside.pop().code)
    for name, value in zip(lists, values[carries:], strict=True):
        inside.append(body.statement(ast.Expr(ast.Call(path(f"{name}.append"), [value], []))))
    if carries:
        # what the next step contributes to a gradient is added up there, before it is added to what others do
        for i, x in enumerate(region.bound[:carries]):
            if _is_used_again(call, x):
                values[i] = ast.Call(path("tf.identity"), [values[i]], [])
        stored = [ast.Name(n, ast.Store()) for n in names[:carries]]
        one = carries == 1
        target = stored[0] if one else ast.Tuple(list(stored), ast.Store())
        inside.append(
            body.statement(ast.Assign([target], values[0] if one else ast.Tuple(values[:carries], ast.Load())))
        )
    body.add(ast.For(targets[0] if rows == 1 else ast.Tuple(targets, ast.Store()), loop, inside, []), item)
    body.name_as(item.outputs[:carries], names[:carries])
    for x, n in zip(outputs, lists, strict=True):
        listed: ast.expr = ast.Name(n)
        if call.node.params["backwards"]:
            listed = ast.Subscript(listed, ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))), ast.Load())
        body.let(x, ast.Call(path("tf.stack"), [listed], []), item)


def _is_used_again(call: Any, x: Any) -> bool:
    """Whether the body of a loop uses a value more than once."""
    nodes = call.graph.nodes[call.first : call.last]
    return sum(x is y for node in nodes for y in node.inputs) > 1


def _values_of(code: ast.stmt) -> list[ast.expr]:
    assert isinstance(code, ast.Return) and code.value is not None
    return list(code.value.elts) if isinstance(code.value, ast.Tuple) else [code.value]


def _write_map(body: Any, item: FlowItem, given: Sequence[Any]) -> None:
    rows = _row_function(body, item, given, 0)
    dtypes = [literal(x.dtype) for x in item.outputs]
    several = len(dtypes) > 1
    signature = ast.Tuple(dtypes, ast.Load()) if several else dtypes[0]
    is_said = several or given[0].dtype is not item.outputs[0].dtype
    keywords = [ast.keyword("fn_output_signature", signature)] if is_said else []
    _assign(body, item, item.outputs, ast.Call(path("tf.map_fn"), rows, keywords), plain=True)


def _write_fold(body: Any, item: FlowItem, given: Sequence[Any], carries: int) -> None:
    """`tf.scan`, or without stacked results `tf.foldl`."""
    backwards = item.call.node.params["backwards"]
    stacked = item.outputs[carries:]
    target = "tf.scan" if stacked else "tf.foldr" if backwards else "tf.foldl"
    args = _row_function(body, item, given, carries)
    initial = [body.value(x) for x in given[:carries]]
    keywords = [ast.keyword("initializer", initial[0] if carries == 1 else ast.Tuple(initial, ast.Load()))]
    if stacked and backwards:
        keywords.append(ast.keyword("reverse", ast.Constant(True)))
    _assign(body, item, stacked or item.outputs, ast.Call(path(target), args, keywords), plain=True)


def _row_function(body: Any, item: FlowItem, given: Sequence[Any], carries: int) -> list[ast.expr]:
    """The function of a state and a row that a loop calls, and the rows."""
    call = item.call
    (region,) = call.closure.regions
    names = body.fresh([body.label(x) if i < carries else f"{body.label(x)}_row" for i, x in enumerate(given)])
    bound = {id(x): n for x, n in zip(region.bound, names, strict=True)}
    results = region.results[:carries] or region.results
    inside = body.inner(call, bound, results, call.closure.effects[0])
    parameters = []
    for group, label in ((names[:carries], "state"), (names[carries:], "row")):
        if len(group) > 1:
            parameters += body.fresh([label])
            unpacked = ast.Tuple([ast.Name(n, ast.Store()) for n in group], ast.Store())
            inside.insert(0, body.statement(ast.Assign([unpacked], ast.Name(parameters[-1]))))
        else:
            parameters += group
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    if len(inside) == 1 and isinstance(inside[0].code, ast.Return):
        (value,) = _values_of(inside[0].code) if len(results) == 1 else (inside[0].code.value,)
        function: ast.expr = ast.Lambda(arguments, value or ast.Constant(None))
    else:
        name = body.scope.free("step" if carries else "of_row")
        body.add(function_named(name, arguments, inside), item)
        function = ast.Name(name)
    elems = [body.value(x) for x in given[carries:]]
    return [function, elems[0] if len(elems) == 1 else ast.Tuple(elems, ast.Load())]
