"""lmfit: fits of named parameters, of which some may be fixed, bounded, or tied to others by expressions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import engine.numpy_api.operators  # noqa: F401 - expressions are of Python's operators
from engine.closed.function import build
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.function_transforms import jvp
from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.cache import Cache
from engine.runtime.errors import InvalidArgumentError, SymbolicArrayError

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
        self._made: Cache[Any, Any] = Cache("columns of lmfit's parameters", 64, key="names of parameters, expressions")
        if sorted(params) != self.names:
            raise InvalidArgumentError(f"lmfit: the function takes {self.names}; got parameters {sorted(params)}")

    def __call__(self, params: Any, *args: Any) -> np.ndarray:
        """The residual for parameters."""
        return np.atleast_1d(self.function.fun([params[name].value for name in self.names], *args))

    def jacobian(self, params: Any, *args: Any) -> np.ndarray:
        """Its Jacobian, a column for each parameter that varies, with what others follow from it by expressions."""
        values = {name: p.value for name, p in params.items()}
        whole = np.atleast_2d(self.function.jac([values[name] for name in self.names], *args))
        told = [(name, p.expr, p.vary) for name, p in params.items()]
        tied = tuple([(name, expression) for name, expression, _ in told if expression])
        given = tuple([name for name, expression, _ in told if not expression])
        free = tuple([name for name, expression, varies in told if varies and not expression])
        key = free, given, tied
        kept = self._made.get(key)
        if kept is None:
            columns = [[self.names.index(name) for name in names] for names in (free, [name for name, _ in tied])]
            kept = self._made.put(key, (*columns, _slopes_of(params, *key) if tied and free else None))
        own, others, slopes = kept
        found = whole.take(own, 1)
        return found if slopes is None else found + whole.take(others, 1) @ slopes(values)


def _slopes_of(params: Any, free: Any, given: Any, tied: Any) -> Callable[[Any], np.ndarray]:
    """The Jacobian of the tied parameters as a function of all values: lmfit's interpreter runs expressions on tensors.

    It does so once for the same expressions, unless these decide by numbers.
    """
    seen = params._asteval
    named = tuple([(n, seen.symtable[n]) for n in seen.user_defined_symbols() if n not in params])
    key: Any = (free, given, tied, named)
    try:
        if (found := _SLOPES.get(key)) is not None:
            return found
    except TypeError:
        # something that is compared by its contents
        key = None
    interpreter, left, order = copy.deepcopy(params)._asteval, dict(tied), []
    symbols = interpreter.symtable
    while left:
        order.append(next(n for n in left if not left.keys() & set(params[n]._expr_deps)))
        del left[order[-1]]

    def evaluated(*values: Any) -> list[Any]:
        symbols.update(zip(given, values, strict=True))
        for name in order:
            symbols[name] = interpreter(expressions[name], raise_errors=True)
        return [symbols[name] for name in expressions]

    def slopes(*values: Any) -> Any:
        columns = [jvp(evaluated, values, [np.float64(n == name) for n in given])[1] for name in free]
        return np.stack([np.stack(column) for column in columns], 1)

    expressions, run = dict(tied), slopes
    try:
        closed = build(
            [Aval((), float64)] * len(given), lambda trace, values: [trace.operand(slopes(*values), float64)]
        )
        run = lambda *values: closed.run(*map(np.asarray, values))[0]  # noqa: E731
    except (TypeError, SymbolicArrayError):
        pass
    made = lambda values: np.asarray(run(*[np.float64(values[name]) for name in given]))  # noqa: E731
    return made if key is None else _SLOPES.put(key, made)


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
