"""lmfit: fits of named parameters, of which some may be fixed, bounded, or tied to others by expressions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from engine.function_transforms import jacrev
from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.errors import InvalidArgumentError


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
        self.names, self._tied = sorted(function.unpacked(function.x0)), copy.deepcopy(params)
        if sorted(params) != self.names:
            raise InvalidArgumentError(f"lmfit: the function takes {self.names}; got parameters {sorted(params)}")

    def __call__(self, params: Any, *args: Any) -> np.ndarray:
        """The residual for parameters."""
        return np.atleast_1d(self.function.fun([params[name].value for name in self.names], *args))

    def jacobian(self, params: Any, *args: Any) -> np.ndarray:
        """Its Jacobian, a column for each parameter that varies, with what others follow from it by expressions."""
        free = [name for name, p in params.items() if p.vary and not p.expr]
        tied = [name for name, p in params.items() if p.expr]
        values = [params[name].value for name in self.names]
        whole = np.atleast_2d(self.function.jac(values, *args))
        found = whole[:, [self.names.index(name) for name in free]]
        if not tied or not free:
            return found
        fixed = {name: p.value for name, p in params.items() if not p.expr}
        at = np.array([params[name].value for name in free])
        slopes = jacrev(lambda x: self._evaluated(tied, {**fixed, **dict(zip(free, x, strict=True))}))(at)
        return found + whole[:, [self.names.index(name) for name in tied]] @ np.stack([np.asarray(s) for s in slopes])

    def _evaluated(self, tied: list[str], values: dict[str, Any]) -> list[Any]:
        """The parameters that are tied, from the others: lmfit's interpreter runs the expressions on tensors."""
        interpreter = self._tied._asteval
        interpreter.symtable.update(values)
        left = list(tied)
        while left:
            name = next(n for n in left if not set(left) & set(self._tied[n]._expr_deps))
            values[name] = interpreter.symtable[name] = interpreter(self._tied[name].expr, raise_errors=True)
            left.remove(name)
        return [values[name] for name in tied]


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
