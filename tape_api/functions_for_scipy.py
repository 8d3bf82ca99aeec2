"""`for_scipy` and `for_ode`: functions of tensors for SciPy's solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dualgrad.solvers.traced import Traced
from engine.jacobian.views.for_scipy import SciPyFunction, SciPyODE
from engine.jacobian.views.points import Packing, example_arrays, is_real
from engine.jacobian.views.results import Format, Mode


def for_scipy(
    function: Callable[..., Any],
    x0: Any,
    *,
    format: Format = "dense",
    mode: Mode = "auto",
    sparsity: Any = None,
    max_bytes: int | None = None,
    executor: Any = None,
    fixed_pattern: bool = False,
    index_dtype: Any = np.int32,
) -> SciPyFunction:
    """A function of tensors as `scipy.optimize` wants it: NumPy in, NumPy out, with all derivatives.

    Parameters
    ----------
    function : callable
        ``function(point, *args, **kwargs)``. It gives a scalar tensor (to minimize), or a tensor, or a structure
        of them (residuals, constraints). It may branch on values. If it does not, and uses nothing that could be
        another thing the next time, it is traced: at once if it applies many ops, else when it has been called often.
    x0 : array, tensor, variable, or structure of these
        An example point. SciPy's flat vectors are unpacked into tensors of its shapes and dtypes before they reach
        `function`. Numbers that are neither tensors nor arrays are float64. Complex numbers are two real ones each in
        SciPy's vectors, real part and imaginary part, as ``z.view(np.float64)`` has them; so are those of the results
        then. Of a real point complex results, and their Jacobian, are complex.
    format : "dense", "csr", "csc", "coo" or "operator"
        Of Jacobians and Hessians. SciPy takes sparse ones in `least_squares`, in `solve_ivp` by BDF and Radau, and in
        `minimize` by Newton-CG and trust-constr (with trust-ncg and trust-krylov use `hessp` or ``"dense"``); operators
        in `least_squares` and in `minimize` by trust-constr; in `root` dense ones only.
    mode, sparsity, max_bytes, executor
        As in `GradientTape.jacobian`.
    fixed_pattern : bool
        Whether sparse Jacobians and Hessians have the entries of ``jac_sparsity()`` and ``hess_sparsity()``, in this
        order, at every point: solvers that ask for the structure once and then for values want it.
    index_dtype : dtype
        Of the indices of sparse matrices: int32, which is int64 only where the numbers do not fit, or int64.

    Returns
    -------
    SciPyFunction
        With the methods ``fun``, ``jac`` (the gradient of a scalar), ``fun_and_jac``, ``grad``, ``hess``, ``hessp``,
        ``weighted_hess`` (of constraints), ``jac_sparsity``, ``hess_sparsity`` and ``unpacked``, and the flat vector
        ``x0``.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from scipy.optimize import least_squares, minimize
    >>> def rosenbrock(x):
    ...     return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    >>> p = tf.for_scipy(rosenbrock, np.zeros(20), format="csr")
    >>> found = minimize(p.fun, p.x0, jac=p.jac, hess=p.hess, method="Newton-CG", options={"xtol": 1e-8})
    >>> np.abs(found.x - 1.0).max() < 1e-6
    np.True_
    >>> p.hess(p.x0).nnz
    58

    Residuals of a line through three points, its parameters in a dict:

    >>> times, values = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])
    >>> def misses(line, times, values):
    ...     return line["slope"] * times + line["start"] - values
    >>> p = tf.for_scipy(misses, {"slope": 0.0, "start": 0.0})
    >>> found = least_squares(p.fun, p.x0, p.jac, args=(times, values))
    >>> {name: round(float(value), 6) for name, value in p.unpacked(found.x).items()}
    {'slope': 2.0, 'start': 1.0}
    """
    options: dict[str, Any] = {"format": format, "mode": mode, "max_bytes": max_bytes, "executor": executor}
    options |= {"sparsity": sparsity, "fixed_pattern": fixed_pattern, "index_dtype": index_dtype}
    return _made(function, x0, (), **options)


def _made(function: Callable[..., Any], x0: Any, given: Sequence[Any], **options: Any) -> SciPyFunction:
    """The function for arguments like those given, as long as no call has told others."""
    arrays, pack = example_arrays(x0), Packing(x0)
    return SciPyFunction(Traced(function, pack, arrays[0].dtype, is_real(x0), arrays, given), arrays, pack, **options)


def for_ode(
    function: Callable[..., Any], y0: Any, *, banded: bool | tuple[int, int] = False, **options: Any
) -> SciPyODE:
    """The right-hand side of ``dy/dt = function(t, y)`` as `scipy.integrate.solve_ivp` wants it, with its Jacobian.

    Parameters
    ----------
    function : callable
        ``function(t, y, *args)``; it gives tensors in the shapes of `y0`. `t` is a tensor too.
    y0 : array, tensor, or structure of these
        The initial point.
    banded : bool or pair of int
        Whether `jac` gives the diagonals of a banded Jacobian, as LSODA takes them:
        ``solve_ivp(p.fun, span, p.y0, "LSODA", jac=p.jac, lband=p.lband, uband=p.uband)``. How many there are below and
        above the main one is found from the structure of the function, unless it is said here.
    **options
        As in `for_scipy`. BDF, Radau and LSODA take Jacobians, the former two sparse ones as well.

    Returns
    -------
    SciPyODE
        With the methods ``fun(t, y)``, ``jac(t, y)``, ``jac_sparsity()`` and ``unpacked``, and the flat vector ``y0``.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from scipy.integrate import solve_ivp
    >>> p = tf.for_ode(lambda t, y: -50.0 * (y - tf.cos(t)), [0.0])
    >>> found = solve_ivp(p.fun, (0.0, 1.0), p.y0, method="BDF", jac=p.jac, rtol=1e-6)
    >>> exact = (2500 * np.cos(1.0) + 50 * np.sin(1.0)) / 2501
    >>> abs(found.y[0, -1] - exact) < 1e-5
    np.True_
    """
    return SciPyODE(_made(partial(_state_first, function), y0, (0.0,), **options), banded)


def _state_first(function: Callable[..., Any], y: Any, t: Any, *args: Any) -> Any:
    """A right-hand side as a function of the state first."""
    return function(t, y, *args)
