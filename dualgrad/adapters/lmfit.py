"""lmfit: fits of named parameters, of which some may be fixed, bounded, or tied to others by expressions."""

from __future__ import annotations

import copy
import functools
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


def _kept() -> Cache[Any, Any]:
    return Cache("slopes of lmfit's expressions", 64, key="names of parameters, expressions; functions of lmfit alone")


_SLOPES = _kept()


@functools.cache
def _known() -> dict[str, Any]:
    """What expressions see in fresh parameters."""
    import lmfit

    return dict(lmfit.Parameters()._asteval.symtable)


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
        self._slopes = _kept()
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
        kept = self._slopes.get(key)
        if kept is None:
            columns = [[self.names.index(name) for name in names] for names in (free, [name for name, _ in tied])]
            kept = self._slopes.put(key, (*columns, _slopes_of(params, *key) if tied and free else None))
        found = whole.take(kept[0], 1)
        return found if kept[2] is None else found + whole.take(kept[1], 1) @ kept[2](values)


def _slopes_of(params: Any, free: Any, given: Any, tied: Any) -> Callable[[Any], np.ndarray]:
    """The Jacobian of the tied parameters, as a function of all values; made once for the same expressions."""
    names = params._asteval.user_defined_symbols()
    is_plain = all(n in params or params._asteval.symtable[n] is _known().get(n) for n in names)
    found = _SLOPES.get((free, given, tied)) if is_plain else None
    if found is None:
        found = _made(copy.deepcopy(params)._asteval, free, given, _ordered(params, dict(tied)), [n for n, _ in tied])
        if is_plain:
            _SLOPES.put((free, given, tied), found)
    return found


def _ordered(params: Any, left: dict[str, str]) -> list[tuple[str, str]]:
    """Expressions in an order in which each finds what it needs."""
    order = []
    while left:
        name = next(n for n in left if not left.keys() & set(params[n]._expr_deps))
        order.append((name, left.pop(name)))
    return order


def _made(
    interpreter: Any, free: Any, given: Any, order: list[tuple[str, str]], tied: list[str]
) -> Callable[[Any], np.ndarray]:
    """The Jacobian of expressions: lmfit's interpreter runs them on tensors, once if it can."""

    def evaluated(*values: Any) -> list[Any]:
        symbols = interpreter.symtable
        symbols.update(zip(given, values, strict=True))
        for name, expression in order:
            symbols[name] = interpreter(expression, raise_errors=True)
        return [symbols[name] for name in tied]

    def slopes(*values: Any) -> Any:
        columns = [jvp(evaluated, values, [np.float64(n == name) for n in given])[1] for name in free]
        return np.stack([np.stack(column) for column in columns], 1)

    try:
        closed = build([Aval((), float64)] * len(given), lambda trace, values: [trace.operand(slopes(*values), float64)])
    except (TypeError, SymbolicArrayError):
        # an expression that decides by numbers
        return lambda values: np.asarray(slopes(*[np.float64(values[name]) for name in given]))
    return lambda values: np.asarray(closed.run(*[np.asarray(values[name], np.float64) for name in given])[0])


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

    residual = Residual(function, params)
    slope = {"leastsq": "Dfun"}.get(method, "jac")
    rule: Any = residual.jacobian
    if method not in ("leastsq", "least_squares"):
        rule = lambda p, *more: 2.0 * residual.jacobian(p, *more).T @ residual(p, *more)  # noqa: E731
    return lmfit.minimize(residual, params, method=method, args=args, **{slope: rule}, **kws)
