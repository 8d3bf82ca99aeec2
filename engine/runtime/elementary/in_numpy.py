"""The elementary functions without a C compiler: their steps as operations of NumPy, which round the same."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.runtime.elementary.functions import Function
from engine.runtime.elementary.steps import DOUBLE, SINGLE, Format

_PHRASES = {
    "divide": "divide by zero encountered",
    "over": "overflow encountered",
    "under": "underflow encountered",
    "invalid": "invalid value encountered",
}
_FLAGS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}
"""As `numpy.seterrcall` says."""
_BLOCK = 1 << 12
"""Numbers that are computed at a time."""


def _may_go_into(x: Any, out: Any) -> bool:
    """Whether an operand's numbers lie in a row, as those of the result do, and are not written over too early."""
    apart = not np.may_share_memory(x, out) or x.__array_interface__["data"] == out.__array_interface__["data"]
    return x.flags.c_contiguous and out.flags.c_contiguous and apart


class Arrays:
    """Takes steps on arrays."""

    def __init__(self, form: Format = DOUBLE, single: bool = False) -> None:
        self.format, self.single = form, single

    def bits(self, x: Any) -> Any:
        """The bits of numbers."""
        return np.asarray(x, self.format.name).view(f"u{self.format.width // 8}")

    def number(self, bits: Any) -> Any:
        """Numbers of bits."""
        return bits.view(self.format.name)

    sqrt = staticmethod(np.sqrt)

    def select(self, mask: Any, x: Any, y: Any) -> Any:
        """The one number or the other."""
        return np.where(mask, x, y).astype(self.format.name, copy=False)

    @staticmethod
    def larger(x: Any, y: Any) -> Any:
        """The first number if it is larger, else the second."""
        return np.where(np.greater(x, y), x, y)

    @staticmethod
    def smaller(x: Any, y: Any) -> Any:
        """The first number if it is smaller, else the second."""
        return np.where(np.less(x, y), x, y)

    def rarely(self, mask: Any, function: Callable[..., Any], operands: tuple[Any, ...], others: Any) -> Any:
        """``function(machine, *operands)`` where the mask says so, and `others` elsewhere."""
        if not mask.any():
            return others
        found = function(self, *operands)
        if not isinstance(others, tuple):
            return np.where(mask, found, others)
        return tuple([np.where(mask, x, y) for x, y in zip(found, others, strict=True)])


class Elementary:
    """An elementary function, called as NumPy's ufuncs are."""

    signature, nout = None, 1

    def __init__(self, name: str, function: Function) -> None:
        self.__module__ = __name__.rpartition(".")[0]
        self.__name__, self.__doc__ = name, function.steps.__doc__
        self.nin, self.nargs = function.operands, function.operands + 1
        self._function, self._model = function, getattr(np, function.numpy) if function.numpy else None
        self.types = ["f->f", "d->d"] if self._model is None else self._model.types

    def __repr__(self) -> str:
        return f"<elementary function {self.__name__!r}>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(self, *operands: Any, out: Any = None, where: Any = True, dtype: Any = None, **kw: Any) -> Any:
        """The function of numbers, as `numpy.ufunc` says."""
        kind = self._result_type(operands, dtype)
        (out,) = out if isinstance(out, tuple) else (out,)
        if kind.char not in "fd":
            if self._model is None:
                raise TypeError(f"ufunc {self.__name__!r} not supported for the input types {operands}")
            return self._model(*operands, out=out, where=where, dtype=dtype, **kw)
        arrays = [np.asarray(x).astype(kind, copy=False) for x in operands]
        scalar = where is True and out is None and not any(x.ndim for x in arrays)
        if out is None:
            # lies as the result of a ufunc does
            with np.errstate(all="ignore"):
                out = np.asarray(np.add(*arrays, **kw) if len(arrays) > 1 else np.positive(*arrays, **kw))
        chosen = np.broadcast_to(where, out.shape) if where is not True else ...
        given = [np.broadcast_to(x, out.shape)[chosen] for x in arrays]
        direct = where is True and out.dtype == kind and all(_may_go_into(x, out) for x in given)
        found = out if direct else np.empty(given[0].shape, kind)
        told = self._fill(found.reshape(-1), [np.ravel(x) for x in given])
        for complaint in told:
            self._say(complaint)
        if not direct:
            out[chosen] = found
        return out[()] if scalar else out

    def _fill(self, out: Any, given: list[Any]) -> dict[str, None]:
        """Put the function of arrays with one axis into another, in blocks that a cache holds; return complaints."""
        told: dict[str, None] = {}
        with np.errstate(all="ignore"):
            for at in range(0, len(out), _BLOCK):
                block = [x[at : at + _BLOCK] for x in given]
                found = self._found(block, out.dtype.char == "f")
                told |= dict.fromkeys(self._complaints(block, found))
                out[at : at + _BLOCK] = found
        return told

    def _found(self, given: list[Any], single: bool) -> Any:
        steps, short = self._function.steps, self._function.short if single else None
        if short is None:
            return np.asarray(steps(Arrays(DOUBLE, single), *[x.astype(np.float64) for x in given])).astype(
                given[0].dtype
            )
        found, odd = short(Arrays(SINGLE), *given)[:2]
        found, odd = np.asarray(found), np.broadcast_to(odd, given[0].shape)
        if odd.any():
            wide = steps(Arrays(), *[x[odd].astype(np.float64) for x in given])
            found[odd] = np.asarray(wide).astype(np.float32)
        return found

    def _result_type(self, operands: tuple[Any, ...], dtype: Any) -> np.dtype:
        if dtype is not None:
            return np.dtype(dtype)
        kinds = tuple([type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype for x in operands])
        if self._model is not None:
            return self._model.resolve_dtypes((*kinds, None))[-1]
        return np.add.resolve_dtypes((*kinds, float, None)[:3] if self.nin > 1 else (kinds[0], float, None))[-1]

    def _complaints(self, given: list[Any], found: Any) -> list[str]:
        """Name the complaints that NumPy would have of these results."""
        limits, size = np.finfo(found.dtype), np.absolute(found)
        known = ~np.logical_or.reduce([np.isnan(x) for x in given])
        finite = np.logical_and.reduce([np.isfinite(x) for x in given])
        large = size > limits.max
        pole = large & ((given[0] == 0) | (finite & (self.nin == 1))) & self._function.has_pole
        small = finite & (size < limits.tiny) & self._function.underflows
        each = {"divide": pole, "over": large & finite & ~pole, "under": small, "invalid": known & np.isnan(found)}
        return [name for name, where in each.items() if where.any()]

    def _say(self, complaint: str) -> None:
        how, text = np.geterr()[complaint], f"{_PHRASES[complaint]} in {self.__name__}"  # type: ignore[literal-required]
        if how == "raise":
            raise FloatingPointError(text)
        if how == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        if how in ("call", "log") and (handler := np.geterrcall()) is not None:
            handler(_PHRASES[complaint].removesuffix(" encountered"), _FLAGS[complaint])  # type: ignore[operator]
        if how == "print":
            sys.stdout.write(f"Warning: {text}\n")
