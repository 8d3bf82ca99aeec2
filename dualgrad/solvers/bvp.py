"""`for_bvp`: boundary value problems for `scipy.integrate.solve_bvp`, with their Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.solvers.closures import Closure, as_value, closure
from dualgrad.solvers.matrices import compiled_blocks, pushed_along_units
from engine.closed.function import ClosedFunction, build, plain
from engine.core.aval import Aval, format_shape
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.dtypes import float64
from engine.core.eager import EagerTensor
from engine.core.value import shape_of
from engine.ops.joining import stack
from engine.ops.shape import transpose
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.transforms.functions import opened


class SciPyBVP:
    """A boundary value problem as `scipy.integrate.solve_bvp` wants it: made by `for_bvp`.

    Parameters
    ----------
    fun, bc : callable
        See `for_bvp`.
    """

    def __init__(self, fun: Callable[..., Any], bc: Callable[..., Any]) -> None:
        self._fun, self._bc = fun, bc

    def fun(self, x: np.ndarray, y: np.ndarray, p: Any = None) -> np.ndarray:
        """``dy/dx`` at all points of a mesh, shape (n, m)."""
        made, values = self._slopes(x, y, p)
        return made.closed.run(*values)[0]

    def fun_jac(self, x: np.ndarray, y: np.ndarray, p: Any = None) -> Any:
        """Its derivative with respect to `y`, shape (n, n, m); with parameters a pair of it and that, (n, k, m)."""
        made, values = self._slopes(x, y, p)
        of_y, *of_p = _mesh_blocks(made.closed, p is not None).run(*values)
        return (of_y, of_p[0]) if of_p else of_y

    def bc(self, ya: np.ndarray, yb: np.ndarray, p: Any = None) -> np.ndarray:
        """Conditions at the ends, which are to be zero, shape (n + k,)."""
        made, values = self._ends(ya, yb, p)
        return made.closed.run(*values)[0]

    def bc_jac(self, ya: np.ndarray, yb: np.ndarray, p: Any = None) -> tuple[np.ndarray, ...]:
        """Its derivatives with respect to both ends, and to the parameters if there are any."""
        made, values = self._ends(ya, yb, p)
        wanted = range(2 if p is None else 3)
        return tuple([compiled_blocks(made.closed, [i]).run(*values)[0] for i in wanted])

    def _slopes(self, *given: Any) -> tuple[Closure, list[Any]]:
        return _closed("fun", self._fun, given, np.shape(given[1]))

    def _ends(self, *given: Any) -> tuple[Closure, list[Any]]:
        return _closed("bc", self._bc, given, (np.size(given[0]) + (0 if given[2] is None else np.size(given[2])),))


def _closed(name: str, function: Callable[..., Any], given: Sequence[Any], shape: Any) -> tuple[Closure, list[Any]]:
    """The function for arguments of these shapes, and all that its program takes. A known one is not made again."""
    arrays = [np.asarray(a, np.float64) for a in given if a is not None]

    def result(*values: Any) -> Any:
        leaves = [as_value(y, float64) for y in opened(function(*values))[0]]
        if len(leaves) == 1 and shape_of(leaves[0]) != ():
            return leaves[0]
        return stack([y + 0.0 * values[0] if len(shape) == 2 and shape_of(y) == () else y for y in leaves], 0)

    made = closure(result, [Aval(a.shape, float64) for a in arrays], f"for_bvp: {name}", float64)
    found = shape_of(made.closed.results[0])
    if found != shape:
        raise ShapeError(f"for_bvp: `{name}` must give shape {format_shape(shape)}; got {format_shape(found)}")
    captured = []
    for x in made.captured:
        if not isinstance(x, EagerTensor):
            raise InvalidArgumentError(f"for_bvp: `{name}` uses {x!r}, whose value is not known; use eager tensors")
        captured.append(x._array)
    return made, [*arrays, *captured]


def _mesh_blocks(closed: ClosedFunction, with_parameters: bool) -> ClosedFunction:
    """The derivatives at each point of the mesh: what happens at one point depends on that point alone."""

    def make() -> ClosedFunction:
        avals = [plain(p.aval) for p in closed.parameters]
        n, m = avals[1].shape or (0, 0)

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            pushed = closed.pushforward([1], [0])[0]
            units = EagerTensor(np.repeat(np.eye(n or 0)[:, :, None], m or 0, 2))
            with batch_level() as level:
                found = pushed.inline(None, [*values, Batched(units, level, n)])[1]
                blocks = [unbatch(found, level, n or 0)]
            if with_parameters:
                shape: Any = avals[2].shape
                blocks += pushed_along_units(closed, 2, values, shape[0], shape)
            return [transpose(b, [1, 0, 2]) for b in blocks]

        return build(avals, function)

    return closed.derived(("mesh", with_parameters), make)


def for_bvp(fun: Callable[..., Any], bc: Callable[..., Any]) -> SciPyBVP:
    """A boundary value problem ``dy/dx = fun(x, y)``, ``bc(y(a), y(b)) = 0`` for `scipy.integrate.solve_bvp`.

    Parameters
    ----------
    fun : callable
        ``fun(x, y)``, or ``fun(x, y, p)`` with unknown parameters, for all points of a mesh at once, as SciPy has it: x
        has shape (m,), y and the result (n, m). The result may be a list of its rows. At a point it must depend on `x`
        and `y` at that point alone.
    bc : callable
        ``bc(ya, yb)``, or ``bc(ya, yb, p)``, gives a vector of n + k numbers, or a list of them.

    Returns
    -------
    SciPyBVP
        With the methods ``fun``, ``bc``, ``fun_jac`` and ``bc_jac``.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from scipy.integrate import solve_bvp
    >>> p = tf.for_bvp(lambda x, y: [y[1], -tf.exp(y[0])], lambda ya, yb: [ya[0], yb[0]])
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> found = solve_bvp(p.fun, p.bc, x, np.zeros((2, 5)), fun_jac=p.fun_jac, bc_jac=p.bc_jac)
    >>> found.status, round(float(found.sol(0.5)[0]), 4)
    (0, 0.1405)
    """
    return SciPyBVP(fun, bc)
