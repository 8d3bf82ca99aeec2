"""A ``ScipyOptimizerInterface`` as one call of `optim.minimize`, with functions for the loss and the constraints."""

from __future__ import annotations

import ast
from typing import Any

from dualgrad.migrate.convert.flows import function_here
from dualgrad.migrate.convert.literals import literal

CALLBACKS = "callbacks"
"""The parameter of a function that minimizes by which callbacks are handed on."""
IMPORT = "from optim import minimize\n"


def write_minimization(body: Any, item: Any) -> None:
    """Add the statements for a minimization.

    Parameters
    ----------
    body : Body
        Of the function.
    item : MinimizeItem
    """
    call, module = item.call, body.module
    body.flush()
    options = dict(call.options)
    variables = module.listed(call.variables, [module.variable(v.handle) for v in call.variables])
    args: list[ast.expr] = [function_here(body, item, "loss", (), body.again([call.loss])), variables]
    keywords = [ast.keyword("method", literal(options.pop("method")))] if options.get("method") else []
    options.pop("method", None)
    if call.bounds:
        pairs: list[ast.expr] = [
            ast.Tuple([_data(module, x) for x in pair], ast.Load()) for pair in call.bounds.values()
        ]
        keys: list[ast.expr | None] = [
            ast.Call(ast.Attribute(module.variable(v.handle), "ref", ast.Load()), [], []) for v in call.bounds
        ]
        keywords.append(ast.keyword("bounds", ast.Dict(keys, pairs)))
    for name, tensors in (("equalities", call.equalities), ("inequalities", call.inequalities)):
        if tensors:
            each = [function_here(body, item, "constraint", (), body.again([x])) for x in tensors]
            keywords.append(ast.keyword(name, ast.List(each, ast.Load())))
    if call.watched:
        keywords.append(ast.keyword("fetches", function_here(body, item, "fetched", (), body.again(call.watched))))
    keywords += [ast.keyword(name, _data(module, value)) for name, value in options.items()]
    keywords.append(ast.keyword(None, ast.Name(CALLBACKS)))
    module.minimizes = True
    body.add(ast.Expr(ast.Call(ast.Name("minimize"), args, keywords)), item)


def _data(module: Any, value: Any) -> ast.expr:
    """An option: plain data, or an array from the file beside the module."""
    import numpy as np

    if isinstance(value, dict):
        return ast.Dict([literal(k) for k in value], [_data(module, v) for v in value.values()])
    if isinstance(value, np.ndarray):
        return module.array(value, "option")
    return literal(value)
