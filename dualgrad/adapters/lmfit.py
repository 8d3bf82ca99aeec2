"""lmfit: fits of named parameters, of which some may be fixed, bounded, or tied to others by expressions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

import engine.numpy_api.operators  # noqa: F401 - expressions are of Python's operators
from engine.closed.function import build
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.core.op import distinct
from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.cache import Cache, cached
from engine.runtime.errors import InvalidArgumentError, SymbolicArrayError
from engine.transforms.functions import jvp

WITHOUT = ("ampgo", "basin", "brute", "cobyla", "diff", "dual", "emcee", "nelder", "powell", "shgo")
"""Beginnings of methods that take no gradient."""
SECOND = ("dogleg", "trust-exact", "trust-krylov", "trust-ncg")
_SLOPES: Cache[Any, Callable[[Any], np.ndarray]] = Cache(
    "slopes of lmfit's expressions", 64, key="names of parameters, expressions, and what these name besides"
)


class Residual:
    """A residual as lmfit calls it, and its Jacobian with respect to the parameters that vary.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``, of a dict with a number for each name.
    params : lmfit.Parameters
    """

    def __init__(self, function: SciPyFunction, params: Any) -> None:
        self.function = function.like(format="dense", fixed_pattern=False)
        self.names = sorted(function.unpacked(function.x0))
        if sorted(params) != self.names:
            raise InvalidArgumentError(f"lmfit: the function takes {self.names}; got parameters {sorted(params)}")

    def __call__(self, params: Any, *args: Any) -> np.ndarray:
        """The residual for parameters."""
        return np.atleast_1d(self.function.fun([params[name].value for name in self.names], *args))

    def jacobian(self, params: Any, *args: Any) -> np.ndarray:
        """Its Jacobian, a column for each parameter that varies, with what others follow from it by expressions."""
        values = {name: p.value for name, p in params.items()}
        whole = np.atleast_2d(self.function.jac([values[name] for name in self.names], *args))
        tied = {name: p.expr for name, p in params.items() if p.expr}
        given = tuple([name for name in params if name not in tied])
        free = tuple([name for name in given if params[name].vary])
        own, others = ([self.names.index(name) for name in names] for names in (free, tied))
        found = whole.take(own, 1)
        return found + whole.take(others, 1) @ _slopes(params, free, given, tied)(values) if tied and free else found


@cached(1 << 8)
def _names_in(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression.strip())) if isinstance(node, ast.Name)}


def _slopes(params: Any, free: Any, given: Any, tied: Any) -> Callable[[Any], np.ndarray]:
    """The Jacobian of the tied parameters as a function of all values, which is made once if it depends on no more."""
    named = {name for text in tied.values() for name in _names_in(text)}.difference(params)
    known = [(name, params._asteval.symtable.get(name)) for name in sorted(named)]
    try:
        # a function of Python's, or what holds others, may be something else the next time
        facts = [(n, v if isinstance(v, (np.ufunc, BuiltinFunctionType)) else distinct(v)) for n, v in known]
    except TypeError:
        return _slopes_of(params, free, given, tied)
    key = free, given, tuple(tied.items()), tuple(facts)
    found = _SLOPES.get(key)
    return _SLOPES.put(key, _slopes_of(params, free, given, tied)) if found is None else found


def _slopes_of(params: Any, free: Any, given: Any, tied: Any) -> Callable[[Any], np.ndarray]:
    """The same: lmfit's interpreter runs the expressions on tensors, once unless these decide by numbers."""
    interpreter, left, order = copy.deepcopy(params)._asteval, dict(tied), []
    while left:
        order.append(next(n for n in left if not left.keys() & set(params[n]._expr_deps)))
        del left[order[-1]]

    def evaluated(*values: Any) -> list[Any]:
        interpreter.symtable.update(zip(given, values, strict=True))
        for name in order:
            interpreter.symtable[name] = interpreter(tied[name], raise_errors=True)
        return [interpreter.symtable[name] for name in tied]

    def slopes(*values: Any) -> Any:
        columns = [jvp(evaluated, values, [np.float64(n == name) for n in given])[1] for name in free]
        return np.stack([np.stack(column) for column in columns], 1)

    run = slopes
    try:
        closed = build(
            [Aval((), float64)] * len(given), lambda trace, values: [trace.operand(slopes(*values), float64)]
        )
        run = lambda *values: closed.run(*map(np.asarray, values))[0]  # noqa: E731
    except (TypeError, SymbolicArrayError):
        pass
    return lambda values: np.asarray(run(*[np.float64(values[name]) for name in given]))


def fit(function: SciPyFunction, params: Any, method: str = "leastsq", args: tuple[Any, ...] = (), **kws: Any) -> Any:
    """Fit parameters by lmfit with the exact Jacobian of the residual, or gradient of its sum of squares.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``, of a dict with a number for each name: the residual.
    params : lmfit.Parameters
        With these names.
    method : str
        lmfit's: ``"leastsq"``, ``"least_squares"``, or one of `scipy.optimize.minimize` that takes a gradient.
    args : tuple
        Further arguments of the function.
    **kws
        As of ``lmfit.minimize``.

    Returns
    -------
    lmfit.MinimizerResult
    """
    import lmfit

    residual, given = Residual(function, params), {}
    if method.startswith(SECOND):
        raise InvalidArgumentError(f"lmfit: {method} needs second derivatives, which lmfit hands to it for no bounds")
    if method in ("leastsq", "least_squares"):
        given = {"Dfun" if method == "leastsq" else "jac": residual.jacobian}
    elif not method.startswith(WITHOUT):
        given["jac"] = lambda p, *more: 2.0 * residual.jacobian(p, *more).T @ residual(p, *more)
    return lmfit.minimize(residual, params, method=method, args=args, **given, **kws)
