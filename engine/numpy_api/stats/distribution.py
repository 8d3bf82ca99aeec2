"""One distribution of SciPy's: its formulas in standard form, and SciPy's rules for location, scale and the support.

A formula is written with NumPy's functions and SciPy's ufuncs. Its arguments are values, on which these arrive at our
ops (`engine.numpy_api.protocol`). It is applied inside of the support only: elsewhere it gets a number from inside,
whose result is not used, so that no derivative outside is NaN.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.dtypes import float64
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import constant, not_taken_if
from engine.ops.compare import cast, where
from engine.ops.likelihood import log_one_minus_exp, one_minus_exp

Formula = Callable[..., Any]
Support = tuple[Any, Any]


def everywhere(*shapes: Any) -> Support:
    """The support of a distribution on the real line."""
    return None, None


def positive(*shapes: Any) -> Support:
    """The support of a distribution on the numbers that are not negative."""
    return 0.0, None


def unit(*shapes: Any) -> Support:
    """The support of a distribution on the numbers from 0 to 1."""
    return 0.0, 1.0


def all_positive(*shapes: Any) -> Any:
    """The rule that most shape parameters must be positive."""
    valid: Any = True
    for shape in shapes:
        valid = shape > 0.0 if valid is True else np.logical_and(valid, shape > 0.0)
    return valid


def _opposite(formula: Formula) -> Formula:
    return lambda x, *shapes: formula(-x, *shapes)


def _moved(y: Any, loc: Any, scale: Any) -> Any:
    """A number in standard form with location and scale, if there are any."""
    y = y if scale is None else y * scale
    return y if loc is None else y + loc


@dataclass(frozen=True)
class Distribution:
    """A distribution of SciPy's."""

    shapes: tuple[str, ...]
    """The names of its shape parameters, as SciPy has them."""
    logpdf: Formula
    """Of a number and the shapes; the logarithm of the density, or of the probability if it is `discrete`."""
    cdf: Formula | None = None
    sf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    """Likewise, where there is a formula with derivatives. A logarithm is enough for its tail, and for the other one
    where that has no formula of its own. No tail is one minus the other."""
    support: Callable[..., Support] = everywhere
    """Of the shapes; the ends of the support, None where there is none."""
    valid: Formula = all_positive
    """Of the shapes; which of them are allowed."""
    open_at: tuple[bool, bool] = (False, False)
    """Whether the ends are outside of the support."""
    symmetric: bool = False
    """Around 0: the upper tail is the lower one of the opposite number."""
    discrete: bool = False
    """It has whole numbers for values, and no scale."""
    formulas: dict[str, Formula] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        upper, log_upper = self.sf, self.logsf
        if self.symmetric:
            upper, log_upper = (f and _opposite(f) for f in (self.cdf, self.logcdf))
        cdf, logcdf = _completed(self.cdf, self.logcdf, log_upper)
        sf, logsf = _completed(upper, log_upper, self.logcdf)
        density = "pmf" if self.discrete else "pdf"
        table: dict[str, Formula | None] = {
            density: _of(np.exp, self.logpdf),
            f"log{density}": self.logpdf,
            "cdf": cdf,
            "sf": sf,
            "logcdf": logcdf,
            "logsf": logsf,
            "ppf": self.ppf,
            "isf": self.isf,
        }
        object.__setattr__(self, "formulas", {name: f for name, f in table.items() if f is not None})

    def methods(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The methods that there are formulas for, with SciPy's signatures."""
        for name in self.formulas:
            yield name, self._method(name)

    def _method(self, name: str) -> Callable[..., Any]:
        first = "q" if name in ("ppf", "isf") else "k" if self.discrete else "x"
        names = (first, *self.shapes, "loc", *(() if self.discrete else ("scale",)))

        def apply(*args: Any, **kwargs: Any) -> Operand:
            given = signature.bind(*args, **kwargs).arguments
            items = in_one_dtype(list(given.values()))
            own = dtype_of(items[0])
            # SciPy computes in double precision, too: terms that cancel are far larger than the result
            whole = dict(zip(given, [cast(x, float64) for x in items], strict=True))
            shapes = [whole[n] for n in self.shapes]
            return cast(self._evaluated(name, whole[first], shapes, whole.get("loc"), whole.get("scale")), own)

        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        defaults = {"loc": 0.0, "scale": 1.0}
        parameters = [inspect.Parameter(n, either, default=defaults.get(n, inspect.Parameter.empty)) for n in names]
        signature = inspect.Signature(parameters)
        apply.__signature__ = signature  # type: ignore[attr-defined]
        return apply

    def _evaluated(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        formula, valid = self.formulas[name], self.valid(*shapes)
        if scale is not None:
            valid = scale > 0.0 if valid is True else np.logical_and(valid, scale > 0.0)
        nan = constant(np.nan, x)
        if name in ("ppf", "isf"):
            inside = np.logical_and(x > 0.0, x < 1.0)
            out = _moved(formula(where(inside, x, constant(0.5, x)), *shapes), loc, scale)
            low, high = self.support(*shapes)
            ends = [-np.inf if low is None else low, np.inf if high is None else high]
            ends = [end if isinstance(end, Value) else constant(end, x) for end in ends]
            first, last = (_moved(e, loc, scale) for e in (ends if name == "ppf" else ends[::-1]))
            out = where(inside, out, where(np.equal(x, 0.0), first, where(np.equal(x, 1.0), last, nan)))
            return out if valid is True else where(valid, out, nan)
        y = x if loc is None else x - loc
        y = y if scale is None else y / scale
        out = self._outside(name, y, shapes, lambda inner: formula(inner, *shapes), scale)
        known = np.equal(y, y)
        return where(known if valid is True else np.logical_and(valid, known), out, nan)

    def _outside(self, name: str, y: Any, shapes: list[Any], formula: Formula, scale: Any) -> Any:
        """The formula inside of the support, and what SciPy has for numbers outside of it."""
        low, high = self.support(*shapes)
        of_density = name.endswith(("pdf", "pmf"))
        y = np.floor(y) if self.discrete and not of_density else y
        below, above = _beyond(name)
        inside: Any = True
        if low is not None:
            inside = y > low if self.open_at[0] else y >= low
        if high is not None:
            inside = np.logical_and(inside, y < high if self.open_at[1] else y <= high)
        if self.discrete and of_density:
            inside = np.logical_and(inside, np.equal(np.floor(y), y))
        out = formula(y if inside is True else where(inside, y, _within(low, high, y)))
        if of_density and scale is not None:
            out = out - np.log(scale) if name == "logpdf" else out / scale
        if inside is True:
            return out
        outside: Any = constant(below, y)
        if above != below and high is not None:
            outside = where(y > (high if low is None else low), constant(above, y), outside)
        return where(inside, out, outside)


discrete = functools.partial(Distribution, discrete=True)
"""A distribution of whole numbers."""
on_positive = functools.partial(Distribution, support=positive)
"""One of the numbers that are not negative."""
on_unit = functools.partial(Distribution, support=unit)
"""One of the numbers from 0 to 1."""


def in_one_dtype(items: list[Any]) -> list[Any]:
    """Numbers, arrays and values as values of one floating dtype: that of the first one which has one."""
    own = [dtype_of(x) for x in items if isinstance(x, Value)]
    floating = [dtype for dtype in own if dtype.is_floating]
    not_taken_if(not floating or any(dtype.is_complex for dtype in own))
    whole = [x if isinstance(x, Value) else EagerTensor(np.asarray(x, floating[0].numpy)) for x in items]
    return [x if dtype_of(x).is_floating else cast(x, floating[0]) for x in whole]


def _within(low: Any, high: Any, like: Any) -> Any:
    """A number from inside of the support."""
    if low is None and high is None:
        return constant(0.0, like)
    middle = (low + high) / 2.0 if None not in (low, high) else high - 1.0 if low is None else low + 1.0
    return middle if isinstance(middle, Value) else constant(middle, like)


def _beyond(name: str) -> tuple[float, float]:
    """The results below and above the support."""
    ends = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0)}.get(name.removeprefix("log"), (0.0, 0.0))
    if not name.startswith("log"):
        return ends
    below, above = (0.0 if end else -np.inf for end in ends)
    return below, above


def _completed(tail: Formula | None, log: Formula | None, other: Formula | None) -> tuple[Any, Any]:
    """A tail and its logarithm, from what there is of these and of the other tail's logarithm."""
    if tail is None and log is None and other is not None:
        return _of(one_minus_exp, other), _of(log_one_minus_exp, other)
    if tail is None and log is not None:
        return _of(np.exp, log), log
    return tail, log or (None if tail is None else _of(np.log, tail))


def _of(function: Formula, formula: Formula) -> Formula:
    return lambda *args: function(formula(*args))
