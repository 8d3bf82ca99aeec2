"""Interpolants that are differentiable in the points, in the values at the knots, and in the knots.

The names and arguments are those of `scipy.interpolate`. They are made of ops: solving for the coefficients, and
finding the interval, whose number carries no derivative. At a knot the derivative is that of the piece to the right.

Source: de Boor, *A Practical Guide to Splines* (1978), ch. IV; Fritsch and Butland, "A method for constructing local
monotone piecewise cubic interpolants" (1984); Akima, "A new method of interpolation" (1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgrad.solvers.closures import as_floating, as_value, static_shape
from engine.core.eager import EagerTensor
from engine.core.value import dtype_of, shape_of
from engine.ops.banded import banded_solve_op
from engine.ops.checked import checked_op
from engine.ops.gather import gather
from engine.ops.joining import concat, stack
from engine.ops.shape import reshape, stop_gradient
from engine.ops.slicing import getitem
from engine.ops.solve import solve
from engine.ops.sorting import searchsorted
from engine.runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from engine.runtime.faces import Shown


def _knots(x: Any, name: str) -> Any:
    x = as_floating(x, f"{name}: argument `x`")
    shape = static_shape(x, f"{name}: argument `x`")
    if len(shape) != 1 or shape[0] < 2:
        raise ShapeError(f"{name}: argument `x` must be a vector of at least 2 knots; got shape {shape}")
    if isinstance(x, EagerTensor) and not np.all(np.diff(x._array) > 0):
        raise InvalidArgumentError(f"{name}: argument `x` must rise from each knot to the next one")
    return x


def _interval(x: Any, at: Any) -> Any:
    """The number of the interval of each point, those outside counted to the first and the last one."""
    n = static_shape(x, "interpolate")[0]
    found = searchsorted(stop_gradient(x), stop_gradient(reshape(at, [-1])), side="right")
    return np.clip(found - 1, 0, n - 2)


def _moved(y: Any, axis: int, n: int, name: str) -> tuple[Any, tuple[int, ...]]:
    """Values with the axis of the knots first and one other, and the shape of the rest."""
    y = as_floating(y, f"{name}: argument `y`")
    y = np.moveaxis(y, axis, 0) if axis % max(len(shape_of(y) or ()), 1) else y
    shape = static_shape(y, f"{name}: argument `y`")
    if not shape or shape[0] != n:
        raise ShapeError(f"{name}: argument `y` must have {n} values along axis {axis}, one for each knot; got {shape}")
    return reshape(y, [n, -1]), shape[1:]


class PPoly(Shown):
    """Piecewise polynomials, as `scipy.interpolate.PPoly`: the base of all splines here.

    Parameters
    ----------
    c : tensor, shape (k, m, ...)
        Coefficients, those of the highest power first.
    x : vector, shape (m + 1,)
        Breakpoints, rising.
    extrapolate : bool or "periodic"
        Whether points outside get the polynomial of the first or last piece; else they get NaN.
    axis : int
        Where the axis of the breakpoints stood in the values, and that of the points stands in results.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.solvers.interpolation import PPoly
    >>> square = PPoly([[1.0], [0.0], [0.0]], [0.0, 2.0])
    >>> square(np.array([1.0, 1.5])).numpy()
    array([1.  , 2.25])
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.x, self.extrapolate, self.axis = _knots(x, "PPoly"), extrapolate, axis
        c = as_value(as_floating(c, "PPoly: argument `c`"), dtype_of(self.x))
        shape = static_shape(c, "PPoly: argument `c`")
        if len(shape) < 2 or shape[1] != static_shape(self.x, "PPoly")[0] - 1:
            raise ShapeError(f"PPoly: argument `c` must have shape (k, m, ...) for m + 1 breakpoints; got {shape}")
        self.c, self._rest = c, shape[2:]

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the derivative of order `nu`, at points of any shape."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        dtype = dtype_of(self.x)
        at = as_value(x, dtype)
        how = self.extrapolate if extrapolate is None else extrapolate
        shape = static_shape(at, "interpolate: argument `x`")
        at = reshape(at, [-1])
        first, last = self.x[0], self.x[-1]
        if how == "periodic":
            at = first + np.mod(at - first, last - first)
        i = _interval(self.x, at)
        step = at - gather(self.x, i)
        pieces = gather(self.c, i, axis=1)
        step = reshape(step, [-1, *[1] * len(self._rest)])
        total = pieces[0]
        for k in range(1, static_shape(self.c, "interpolate")[0]):
            total = total * step + pieces[k]
        if how is False:
            inside = np.logical_and(at >= first, at <= last)
            total = np.where(
                reshape(inside, [-1, *[1] * len(self._rest)]), total, EagerTensor(dtype.numpy.type(np.nan))
            )
        return self._shaped(total, shape)

    def _shaped(self, found: Any, shape: Sequence[int]) -> Any:
        """Values at points, with the axes of the points where that of the knots was."""
        found = reshape(found, [*shape, *self._rest])
        order = [*range(len(shape), len(shape) + len(self._rest))]
        order[self.axis : self.axis] = range(len(shape))
        return np.transpose(found, order) if self.axis else found

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu`, piecewise polynomials again."""
        c = self.c
        for _ in range(nu):
            k = static_shape(c, "interpolate")[0]
            if k == 1:
                c = c * 0.0
                continue
            powers = np.arange(k - 1, 0, -1, dtype=dtype_of(c).numpy).reshape(-1, *[1] * (len(self._rest) + 1))
            c = c[:-1] * powers
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The integral from the first breakpoint on."""
        c = self.c
        for _ in range(nu):
            k = static_shape(c, "interpolate")[0]
            powers = np.arange(k, 0, -1, dtype=dtype_of(c).numpy).reshape(-1, *[1] * (len(self._rest) + 1))
            c = c / powers
            widths = reshape(self.x[1:] - self.x[:-1], [-1, *[1] * len(self._rest)])
            whole = c[0]
            for j in range(1, k):
                whole = whole * widths + c[j]
            sums = np.cumsum(whole * widths, axis=0)
            before = concat([sums[:1] * 0.0, sums[:-1]], 0)
            c = concat([c, reshape(before, [1, *static_shape(before, "interpolate")])], 0)
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral between two points."""
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)


class _Cubic(PPoly):
    """A cubic through values, with given slopes at the knots."""

    def __init__(self, x: Any, y: Any, slopes: Any, rest: Sequence[int], axis: int, extrapolate: Any) -> None:
        dx = reshape(x[1:] - x[:-1], [-1, 1])
        chord = (y[1:] - y[:-1]) / dx
        bend = (slopes[:-1] + slopes[1:] - 2.0 * chord) / dx
        c = stack([bend / dx, (chord - slopes[:-1]) / dx - bend, slopes[:-1], y[:-1]], 0)
        n = static_shape(x, "interpolate")[0]
        super().__init__(reshape(c, [4, n - 1, *rest]), x, extrapolate, axis)


def _prepared(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, tuple[int, ...]]:
    x = _knots(x, name)
    y, rest = _moved(y, axis, static_shape(x, name)[0], name)
    return x, as_value(y, dtype_of(x)), rest


class CubicHermiteSpline(_Cubic):
    """The cubic through `y` with the slopes `dydx`, as `scipy.interpolate.CubicHermiteSpline`."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = True) -> None:
        x, y, rest = _prepared("CubicHermiteSpline", x, y, axis)
        slopes, _ = _moved(dydx, axis, static_shape(x, "CubicHermiteSpline")[0], "CubicHermiteSpline")
        super().__init__(x, y, as_value(slopes, dtype_of(x)), rest, axis, extrapolate)


class CubicSpline(_Cubic):
    """The cubic spline through points, with two continuous derivatives, as `scipy.interpolate.CubicSpline`.

    Parameters
    ----------
    x : vector, shape (n,)
        Knots, rising.
    y : array or tensor, shape (..., n, ...)
        Values, with the knots along `axis`.
    axis : int
    bc_type : "not-a-knot", "natural", "clamped", "periodic", or pair of these or of ``(order, value)``
        What holds at the ends.
    extrapolate : bool or "periodic", optional

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.interpolation import CubicSpline
    >>> x = np.arange(5.0)
    >>> middle = lambda y: CubicSpline(x, y)(2.5)
    >>> print(np.round(middle(x**3), 6), tf.transforms.grad(middle)(x**3).numpy().round(4))
    15.625 [ 0.0156 -0.125   0.6562  0.5    -0.0469]
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        x, y, rest = _prepared("CubicSpline", x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        dx = x[1:] - x[:-1]
        chord = (y[1:] - y[:-1]) / reshape(dx, [-1, 1])
        slopes = _periodic_slopes(dx, chord) if periodic else _slopes(x, dx, chord, bc_type)
        super().__init__(x, y, slopes, rest, axis, extrapolate)


def _end(given: Any, n: int) -> tuple[int, Any]:
    """A boundary condition as the order of a derivative and its value; order 0 for not-a-knot."""
    known = {"not-a-knot": (0, 0.0), "clamped": (1, 0.0), "natural": (2, 0.0)}
    if isinstance(given, str):
        if given not in known:
            raise InvalidArgumentError(f"CubicSpline: argument `bc_type` must be of {sorted(known)}, or 'periodic'")
        return (2, 0.0) if given == "not-a-knot" and n == 2 else known[given]
    order, value = given
    if order not in (1, 2):
        raise InvalidArgumentError(f"CubicSpline: argument `bc_type`: the order must be 1 or 2; got {order}")
    return order, value


def _slopes(x: Any, dx: Any, chord: Any, bc_type: Any) -> Any:
    """The slopes at the knots: of a tridiagonal system that says that the second derivative is continuous."""
    n = static_shape(x, "CubicSpline")[0]
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    (left, at_left), (right, at_right) = (_end(b, n) for b in pair)
    if n == 3 and not left and not right:
        # one parabola through all: its second derivative is the same on both sides
        second = 2.0 * (chord[1:] - chord[:1]) / (x[2] - x[0])
        first = chord[:1] - 0.5 * second * dx[0]
        return concat([first, first + second * dx[0], first + second * (x[2] - x[0])], 0)
    column = reshape(dx, [-1, 1])
    middle = 3.0 * (column[1:] * chord[:-1] + column[:-1] * chord[1:])
    one, zero = dx[:1] * 0.0 + 1.0, dx[:1] * 0.0
    ends = []
    for order, value, h, k, c, d, sign in (
        (left, at_left, dx[:1], dx[1:2], chord[:1], chord[1:2], 1.0),
        (right, at_right, dx[-1:], dx[-2:-1], chord[-1:], chord[-2:-1], -1.0),
    ):
        given = reshape(as_value(value, dtype_of(x)), [1, -1])
        if order == 1:
            ends.append((one, zero, 0.0 * c + given))
        elif order == 2:
            ends.append((2.0 * h, h, 3.0 * h * c - 0.5 * sign * given * h * h))
        else:
            both = h + k
            ends.append((k, both, ((h + 2.0 * both) * k * c + h * h * d) / both))
    diagonal = concat([ends[0][0], 2.0 * (dx[:-1] + dx[1:]), ends[1][0]], 0)
    upper = concat([zero, ends[0][1], dx[:-1]], 0)
    lower = concat([dx[1:], ends[1][1], zero], 0)
    rhs = concat([ends[0][2], middle, ends[1][2]], 0)
    return banded_solve_op(stack([upper, diagonal, lower], 0), rhs, lower=1, upper=1, adjoint=False)


def _periodic_slopes(dx: Any, chord: Any) -> Any:
    n = static_shape(dx, "CubicSpline")[0]
    before, previous = np.roll(dx, 1), np.roll(chord, 1, axis=0)
    rows = np.eye(n)
    matrix = reshape(2.0 * (before + dx), [-1, 1]) * rows
    matrix = matrix + reshape(dx, [-1, 1]) * np.roll(rows, -1, 1) + reshape(before, [-1, 1]) * np.roll(rows, 1, 1)
    rhs = 3.0 * (reshape(dx, [-1, 1]) * previous + reshape(before, [-1, 1]) * chord)
    slopes = solve(matrix, rhs)
    return concat([slopes, slopes[:1]], 0)


class PchipInterpolator(_Cubic):
    """The cubic that is monotone where the values are, as `scipy.interpolate.PchipInterpolator`."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = True) -> None:
        x, y, rest = _prepared("PchipInterpolator", x, y, axis)
        super().__init__(x, y, self._slopes(x, y), rest, axis, extrapolate)

    @staticmethod
    def _slopes(x: Any, y: Any) -> Any:
        dx = reshape(x[1:] - x[:-1], [-1, 1])
        chord = (y[1:] - y[:-1]) / dx
        if static_shape(x, "PchipInterpolator")[0] == 2:
            return concat([chord, chord], 0)
        a, b = chord[:-1], chord[1:]
        first, second = 2.0 * dx[1:] + dx[:-1], dx[1:] + 2.0 * dx[:-1]
        same = a * b > 0.0
        # the harmonic mean, where both go one way
        p, q = np.where(same, a, a * 0.0 + 1.0), np.where(same, b, b * 0.0 + 1.0)
        inner = np.where(same, (first + second) / (first / p + second / q), a * 0.0)

        def edge(h: Any, k: Any, c: Any, d: Any) -> Any:
            found = ((2.0 * h + k) * c - h * d) / (h + k)
            found = np.where(np.sign(found) != np.sign(c), found * 0.0, found)
            turns = np.logical_and(np.sign(c) != np.sign(d), np.abs(found) > 3.0 * np.abs(c))
            return np.where(turns, 3.0 * c, found)

        ends = edge(dx[:1], dx[1:2], chord[:1], chord[1:2]), edge(dx[-1:], dx[-2:-1], chord[-1:], chord[-2:-1])
        return concat([ends[0], inner, ends[1]], 0)


class Akima1DInterpolator(_Cubic):
    """Akima's cubic, as `scipy.interpolate.Akima1DInterpolator` by ``method="akima"``; outside it is NaN by default."""

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = False) -> None:
        name = "Akima1DInterpolator"
        x, y, rest = _prepared(name, x, y, axis)
        if method not in ("akima", "makima"):
            raise InvalidArgumentError(f"{name}: argument `method` must be 'akima' or 'makima'; got {method!r}")
        if static_shape(x, name)[0] == 2:
            raise ShapeError(f"{name}: needs at least 3 knots")
        chord = (y[1:] - y[:-1]) / reshape(x[1:] - x[:-1], [-1, 1])
        before = 2.0 * chord[:1] - chord[1:2]
        after = 2.0 * chord[-1:] - chord[-2:-1]
        m = concat([2.0 * before - chord[:1], before, chord, after, 2.0 * after - chord[-1:]], 0)
        change = np.abs(m[1:] - m[:-1])
        if method == "makima":
            change = change + 0.5 * np.abs(m[1:] + m[:-1])
        right, left = change[2:], change[:-2]
        total = right + left
        flat = total > 1e-9 * np.max(stop_gradient(total))
        safe = np.where(flat, total, total * 0.0 + 1.0)
        slopes = np.where(flat, (right * m[1:-2] + left * m[2:-1]) / safe, 0.5 * (m[3:] + m[:-3]))
        super().__init__(x, y, slopes, rest, axis, extrapolate)


# ---- by other pieces -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inside:
    """Raises for points outside of what is known."""

    low: float
    high: float
    name: str

    def __call__(self, x: Any) -> None:
        if np.any((x < self.low) | (x > self.high)):
            raise InvalidArgumentError(
                f"{self.name}: a point is outside of the knots, from {self.low} to {self.high}; give "
                f"`bounds_error=False` and a `fill_value`"
            )


def _bounded(x: Any, knots: Any, name: str) -> Any:
    """The points, checked when they are there. Knots that are not known now are not checked against."""
    if not isinstance(knots, EagerTensor):
        return x
    check = _Inside(float(knots._array[0]), float(knots._array[-1]), name)
    return as_value(checked_op(x, stop_gradient(x), check=check))


class interp1d(Shown):
    """A function through points, as `scipy.interpolate.interp1d`.

    Parameters
    ----------
    x : vector, shape (n,)
    y : array or tensor, shape (..., n, ...)
        Values, with the knots along `axis`.
    kind : "linear", "slinear", "nearest", "previous", "zero", "next" or "cubic"
        Of pieces that are constant the derivative in the points is zero.
    axis : int
    bounds_error : bool, optional
        By default whether no `fill_value` is given.
    fill_value : number, pair of numbers (below, above), or "extrapolate"

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.solvers.interpolation import interp1d
    >>> interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 0.0])(np.array([0.5, 2.0])).numpy()
    array([1., 1.])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        kinds = ("linear", "slinear", "nearest", "previous", "zero", "next", "cubic")
        kind = {1: "linear", 3: "cubic", 0: "zero"}.get(kind, kind) if isinstance(kind, int) else kind
        if kind not in kinds:
            raise UnimplementedError(f"interp1d: argument `kind` must be of {', '.join(kinds)}; got {kind!r}")
        x = as_floating(x, "interp1d: argument `x`")
        if isinstance(x, EagerTensor) and not assume_sorted and not np.all(np.diff(x._array) > 0):
            order = np.argsort(x._array, kind="stable")
            x, y = gather(x, order), np.take(as_floating(y, "interp1d: argument `y`"), order, axis=axis)
        self._kind = kind
        extrapolates = isinstance(fill_value, str)
        if extrapolates and fill_value != "extrapolate":
            raise InvalidArgumentError(
                f"interp1d: argument `fill_value` must be numbers or 'extrapolate'; got {fill_value!r}"
            )
        by_default = (
            not extrapolates and not isinstance(fill_value, tuple) and bool(np.isnan(np.asarray(fill_value)).all())
        )
        self._strict = by_default if bounds_error is None else bool(bounds_error)
        # nothing comes before the first value, nor after the last one
        edges = {"previous": (np.nan, "extrapolate"), "next": ("extrapolate", np.nan)}
        self._fill = edges.get(kind, fill_value) if extrapolates else fill_value
        # no negative axis: results have others in front
        rank = len(static_shape(as_floating(y, "interp1d: argument `y`"), "interp1d"))
        self._pieces = self._made(x, y, axis % rank)

    def _made(self, x: Any, y: Any, axis: int) -> PPoly:
        if self._kind == "cubic":
            return CubicSpline(x, y, axis)
        x, y, rest = _prepared("interp1d", x, y, axis)
        n = static_shape(x, "interp1d")[0]
        if self._kind in ("linear", "slinear"):
            c = stack([(y[1:] - y[:-1]) / reshape(x[1:] - x[:-1], [-1, 1]), y[:-1]], 0)
            return PPoly(reshape(c, [2, n - 1, *rest]), x, True, axis)
        self._steps = reshape(y, [n, *rest])
        return PPoly(reshape(y[:-1], [1, n - 1, *rest]), x, True, axis)

    def __call__(self, x: Any) -> Any:
        """The values at points of any shape."""
        knots = self._pieces.x
        at = as_value(x, dtype_of(knots))
        if self._strict:
            at = _bounded(at, knots, "interp1d")
        found = self._pieces(at) if self._kind in ("linear", "slinear", "cubic") else self._stepped(at)
        if isinstance(self._fill, str) or self._strict:
            return found
        low, high = self._fill if isinstance(self._fill, tuple) else (self._fill, self._fill)
        shape = [*static_shape(at, "interp1d"), *[1] * (len(self._pieces._rest) - self._pieces.axis)]
        for outside, fill in ((at < knots[0], low), (at > knots[-1], high)):
            if isinstance(fill, str):
                continue
            found = np.where(reshape(outside, shape), as_value(fill, dtype_of(found)), found)
        return found

    def _stepped(self, at: Any) -> Any:
        """Of constant pieces."""
        knots, flat = stop_gradient(self._pieces.x), stop_gradient(reshape(at, [-1]))
        n = static_shape(knots, "interp1d")[0]
        if self._kind == "nearest":
            i = searchsorted((knots[1:] + knots[:-1]) / 2.0, flat, side="left")
        elif self._kind == "next":
            i = searchsorted(knots, flat, side="left")
        else:
            i = searchsorted(knots, flat, side="right") - 1
        return self._pieces._shaped(gather(self._steps, np.clip(i, 0, n - 1)), static_shape(at, "interp1d"))


class RegularGridInterpolator(Shown):
    """A function through values on a rectilinear grid, as `scipy.interpolate.RegularGridInterpolator`.

    Parameters
    ----------
    points : sequence of vector
        The knots along each axis.
    values : array or tensor, shape (n1, ..., nd, ...)
    method : "linear", "nearest" or "cubic"
        Products of interpolants of one variable; ``"cubic"``, of splines without a knot next to the ends.
    bounds_error : bool
    fill_value : float or None
        What points outside get without `bounds_error`; None: what the outermost pieces give.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.interpolation import RegularGridInterpolator
    >>> x, y = np.arange(3.0), np.arange(4.0)
    >>> f = RegularGridInterpolator((x, y), x[:, None] * y)
    >>> f(np.array([[1.5, 2.5]])).numpy(), tf.transforms.grad(lambda p: f(p)[0])(np.array([1.5, 2.5])).numpy()
    (array([3.75]), array([2.5, 1.5]))
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        if method not in ("linear", "nearest", "cubic"):
            raise UnimplementedError(
                f"{name}: argument `method` must be 'linear', 'nearest' or 'cubic'; got {method!r}"
            )
        self.grid = [_knots(p, name) for p in points]
        self.values = as_value(as_floating(values, f"{name}: argument `values`"), dtype_of(self.grid[0]))
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        sizes = tuple([static_shape(p, name)[0] for p in self.grid])
        shape = static_shape(self.values, name)
        if shape[: len(sizes)] != sizes:
            raise ShapeError(f"{name}: argument `values` must begin with the shape {sizes} of the grid; got {shape}")

    def _weights(self, k: int, at: Any) -> Any:
        """The weight of each knot of axis k for each point, shape (points, knots)."""
        knots = self.grid[k]
        n = static_shape(knots, "RegularGridInterpolator")[0]
        units = np.eye(n, dtype=dtype_of(knots).numpy)
        kind: Any = self.method
        return interp1d(knots, units, kind, 0, fill_value="extrapolate")(at)

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points, shape (..., d)."""
        if method not in (None, self.method):
            return RegularGridInterpolator(self.grid, self.values, method or "", self.bounds_error, self.fill_value)(xi)
        d, dtype = len(self.grid), dtype_of(self.values)
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*[as_value(x, dtype) for x in xi]), -1)
        xi = as_value(xi, dtype)
        shape = static_shape(xi, "RegularGridInterpolator: argument `xi`")
        if len(shape) == 1 and not shape[0] % d:
            # as in SciPy one point is a row of points
            shape = (shape[0] // d, d)
        if not shape or shape[-1] != d:
            raise ShapeError(f"RegularGridInterpolator: argument `xi` must have a last axis of {d}; got shape {shape}")
        points = reshape(xi, [-1, d])
        columns = [getitem(points, (slice(None), k)) for k in range(d)]
        if self.bounds_error:
            columns = [_bounded(x, p, "RegularGridInterpolator") for x, p in zip(columns, self.grid, strict=True)]
        found = self._linear(columns) if self.method == "linear" else self._products(columns)
        rest = static_shape(self.values, "RegularGridInterpolator")[d:]
        if not self.bounds_error and self.fill_value is not None:
            for x, p in zip(columns, self.grid, strict=True):
                outside = reshape(np.logical_or(x < p[0], x > p[-1]), [-1, *[1] * len(rest)])
                found = np.where(outside, as_value(self.fill_value, dtype), found)
        return reshape(found, [*shape[:-1], *rest])

    def _products(self, columns: Sequence[Any]) -> Any:
        found = np.tensordot(self._weights(0, columns[0]), self.values, 1)
        for k, x in enumerate(columns[1:], 1):
            found = np.einsum("mb,mb...->m...", self._weights(k, x), found)
        return found

    def _linear(self, columns: Sequence[Any]) -> Any:
        """From the corners around each point."""
        shape = static_shape(self.values, "RegularGridInterpolator")
        d = len(columns)
        sizes, rest = shape[:d], shape[d:]
        flat = reshape(self.values, [int(np.prod(sizes)), *rest])
        corners: list[tuple[Any, Any]] = [(None, None)]
        for x, p, n in zip(columns, self.grid, sizes, strict=True):
            i = _interval(p, x)
            low = gather(p, i)
            t = (x - low) / (gather(p, i + 1) - low)
            corners = [
                (j if at is None else at * n + j, w if weight is None else weight * w)
                for at, weight in corners
                for j, w in ((i, 1.0 - t), (i + 1, t))
            ]
        parts = [reshape(w, [-1, *[1] * len(rest)]) * gather(flat, at) for at, w in corners]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def interpn(
    points: Sequence[Any],
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolate values of a grid at points, as `scipy.interpolate.interpn`; see `RegularGridInterpolator`."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
