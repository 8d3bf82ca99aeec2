"""Functions with gradients of the program's own: `tf.custom_gradient` functions at the top of the converted module.

A graph has such a gradient from `custom_gradient`, from a `gradient_override_map`, or from a `Defun`. What the function
computes is written down like any other part of the graph, and so is its gradient, as the nodes say that it added when
it was first asked. Whatever either takes from around becomes a parameter, which has no gradient.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from dualgrad.migrate.convert.body import Body, Statement
from dualgrad.migrate.convert.flows import function_named
from dualgrad.migrate.convert.identifiers import Scope, identifier, snake
from dualgrad.migrate.convert.items import CustomItem
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.shortening import Function
from dualgrad.migrate.convert.spelling import PYTHON_CALLS
from engine.core.trace import Symbol
from engine.core.variable import read_variable

_LONGEST = 70
"""Characters of a gradient that is a lambda."""

DECORATOR = "@tf.custom_gradient"


def written(module: Any, item: CustomItem) -> Function:
    """The function for a call of one with a gradient of its own.

    Parameters
    ----------
    module : Module
    item : CustomItem
    """
    call = item.call
    results = list(call.node.inputs[call.node.params["count"] :])
    parameters = Scope(module.scope)
    own = call.names if len(call.names) <= call.node.params["count"] else []
    wished = [*own, *[module.names.tensor(_source(x)) for x in item.given[len(own) :]]]
    named = [(parameters.free(identifier(wish)), x) for wish, x in zip(wished, item.given, strict=True)]
    arguments = _arguments(call, named)
    kept = [] if call.pulled is None else _shared_values(call, arguments)
    wanted = [*results, *[x for x in kept if not any(x is r for r in results)]]
    body = _body(module, call, arguments, wanted)
    *statements, last = body.write()
    assert isinstance(last.code, ast.Return) and last.code.value is not None
    values = list(last.code.value.elts) if isinstance(last.code.value, ast.Tuple) else [last.code.value]
    inside = dict(arguments)
    for i, x in enumerate(wanted):
        if any(x is k for k in kept) and not isinstance(values[i], ast.Name):
            name = body.scope.free(module.names.tensor(x))
            statements.append(Statement(ast.Assign([ast.Name(name, ast.Store())], values[i]), None, x.node))
            values[i] = ast.Name(name)
        if isinstance(values[i], ast.Name):
            inside[id(x)] = values[i].id  # type: ignore[attr-defined]
    values = values[: len(results)]
    returned = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    rule = ast.Constant(None) if call.pulled is None else _rule(module, item, inside, statements)
    whole = ast.Tuple([returned, rule], ast.Load())
    name = module.scope.free(_name(call))
    made = Function(name, None, results, named, [], [*statements, Statement(ast.Return(whole), None, last.node)])
    made.decorator = DECORATOR if call.pulled is not None else ""
    if call.pulled is None:
        made.statements[-1].code = ast.Return(returned)
    return made


def _source(x: Any) -> Any:
    """A variable's handle in place of what is read of it: the variable is what the function is given."""
    return x.node.inputs[0] if x.node.op is read_variable else x


def _arguments(call: Any, named: list[tuple[str, Any]]) -> dict[int, str]:
    """By identity, the names of parameters; all reads of a variable are one."""
    arguments: dict[int, str] = {}
    for name, x in named:
        arguments.setdefault(id(x), name)
    handles = {id(x.node.inputs[0]): name for name, x in reversed(named) if x.node.op is read_variable}
    for span in (call, call.pulled):
        for node in call.graph.nodes[span.first : span.last] if span is not None else ():
            for x in [*node.inputs, *node.outputs]:
                if x.node.op is read_variable and id(x.node.inputs[0]) in handles:
                    arguments.setdefault(id(x), handles[id(x.node.inputs[0])])
    return arguments


def _shared_values(call: Any, arguments: dict[int, str]) -> list[Any]:
    """Tensors that the function computes and its gradient uses."""
    numbers = {id(node): i for i, node in enumerate(call.graph.nodes[: call.pulled.last])}
    known = {*arguments, *map(id, call.pulled.cotangents)}
    kept: dict[int, Any] = {}
    todo = [x for x in call.pulled.gradients if isinstance(x, Symbol)]
    while todo:
        x = todo.pop()
        if id(x) in known:
            continue
        known.add(id(x))
        number = numbers[id(x.node)]
        if number >= call.pulled.first:
            todo += x.node.inputs
        elif number >= call.first and x.node.op.name not in ("constant", "variable_handle"):
            kept[id(x)] = x
    return list(kept.values())


def _body(module: Any, span: Any, arguments: dict[int, str], wanted: list[Any]) -> Body:
    within = module.items.within(span)
    return Body(module, within, within.needed(wanted, arguments), arguments, wanted)


def _rule(module: Any, item: CustomItem, inside: dict[int, str], statements: list[Statement]) -> ast.expr:
    """The gradient as a function, whose definition is appended unless it is one expression.

    Raises
    ------
    ValueError
        If it cannot be told which of its arguments is which.
    """
    pulled = item.call.pulled
    if len({id(x) for x in pulled.cotangents}) < len(pulled.cotangents):
        raise ValueError("the gradients that a gradient function of the program's was given are one and the same")
    names = Scope(module.scope)
    names.take(*inside.values())
    own = pulled.names if len(pulled.names) == len(pulled.cotangents) else ["upstream"] * len(pulled.cotangents)
    given = [names.free(identifier(wish)) for wish in own]
    arguments = inside | {id(x): name for x, name in zip(pulled.cotangents, given, strict=True)}
    wanted = [x for x in pulled.gradients if isinstance(x, Symbol)]
    steps = _body(module, pulled, arguments, wanted).write() if wanted else [Statement(ast.Return(ast.Tuple([])))]
    *before, last = steps
    assert isinstance(last.code, ast.Return)
    of = [last.code.value] if len(wanted) == 1 else list(last.code.value.elts)  # type: ignore[union-attr]
    left = iter(of)
    values: list[Any] = [next(left) if isinstance(x, Symbol) else _plain(x) for x in pulled.gradients]
    values += [ast.Constant(None)] * (len(item.given) - len(values))
    value = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    parameters = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    if not before and len(ast.unparse(ast.fix_missing_locations(value))) <= _LONGEST:
        return ast.Lambda(parameters, value)
    before.append(Statement(ast.Return(value), None, last.node))
    name = names.free("gradient" if "grad" in given else "grad")
    statements.append(Statement(function_named(name, parameters, before)))
    return ast.Name(name)


def _plain(x: Any) -> ast.expr:
    return ast.Constant(None) if x is None else literal(x.tolist() if hasattr(x, "tolist") else x)


def _name(call: Any) -> str:
    """The name of the function, or of its gradient; without the number that makes registered names differ."""
    last = call.node.inputs[-1].node
    if last.op in PYTHON_CALLS:
        return f"{identifier(getattr(last.params['func'], '__name__', 'py_func'))}_with_gradient".strip("_")
    own = snake(re.sub(r"\d+$", "", identifier(call.name)).strip("_"))
    of = snake(last.op.type)
    named = own.removesuffix("_grad").removesuffix("_gradient")
    return named if named and named != of else f"own_{of}"
