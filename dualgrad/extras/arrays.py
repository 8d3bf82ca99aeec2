"""``dualgrad.numpy``: NumPy, for programs whose functions are differentiated, as one imports autograd's.

Everything is NumPy's own; what is made of numbers and arrays are arrays. But lists that hold tensors, of which NumPy
would make arrays without their derivatives, become tensors: in `array`, `asarray`, `r_`, `c_`, and where a function
that takes tensors (`docs/numpy-and-scipy.md`) is given a list of them in place of an array. Who imports it from
`dualgrad` gets tensors with the methods and the indexing of NumPy's arrays, in the whole program.

Examples
--------
>>> import dualgrad
>>> from dualgrad import numpy as np
>>> def f(x):
...     return np.sum(np.array([x[0] ** 2, x[1]]) * np.r_[x[1], 1.0])
>>> dualgrad.tape.transforms.grad(f)(np.array([3.0, 2.0])).numpy()
array([12., 10.])
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import Value
from engine.numpy_api import joined, manners, protocol


def _holds_values(x: Any) -> bool:
    return isinstance(x, Value) or (isinstance(x, (list, tuple)) and any(map(_holds_values, x)))


def give_manners() -> None:
    """Give tensors the methods and the indexing of NumPy's arrays: a gradient is used as an array is."""
    manners.enable()


def array(object: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.array`; of a tensor, or of lists that hold tensors, a tensor."""
    if not _holds_values(object):
        return np.array(object, *args, **kwargs)
    dtype = args[0] if args else kwargs.get("dtype")
    return joined.array(object, dtype, kwargs.get("ndmin", 0))


def asarray(a: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.asarray`, likewise."""
    return array(a, *args, **kwargs) if _holds_values(a) else np.asarray(a, *args, **kwargs)


asanyarray = ascontiguousarray = asarray


class _Along:
    """`numpy.r_` and `numpy.c_`, of tensors too."""

    def __init__(self, theirs: Any, columns: bool) -> None:
        self._theirs, self._columns = theirs, columns

    def __getitem__(self, key: Any) -> Any:
        if not _holds_values(key):
            return self._theirs[key]
        return joined.along(key if isinstance(key, tuple) else (key,), self._theirs, self._columns)


r_, c_ = _Along(np.r_, columns=False), _Along(np.c_, columns=True)


def _taking_lists(function: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's whose arguments may be lists of tensors in place of tensors, as ours says of them."""
    names, _ = getattr(ours, "__operands__", ((), ()))
    alone = {name for name in names if not name.startswith("*")}
    if not alone:
        return function
    # older versions of NumPy do not tell the signatures of their own functions
    signature = inspect.signature(ours)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, (list, tuple)) and _holds_values(x) for x in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            # with arguments that NumPy's alone takes
            return function(*args, **kwargs)
        for name, x in bound.arguments.items():
            if name in alone and isinstance(x, (list, tuple)) and _holds_values(x):
                bound.arguments[name] = joined.array(x)
        return function(*bound.args, **bound.kwargs)

    return call


@functools.cache
def _of(home: Any, name: str) -> Any:
    theirs = getattr(home, name)
    try:
        row = protocol.row_of(theirs)
    except TypeError:  # what cannot be looked up
        row = None
    return theirs if row is None or isinstance(theirs, np.ufunc) else _taking_lists(theirs, row[0])


class _Part:
    """`numpy.linalg` and `numpy.fft`."""

    def __init__(self, home: Any) -> None:
        self._home = home

    def __getattr__(self, name: str) -> Any:
        return _of(self._home, name)


linalg, fft = _Part(np.linalg), _Part(np.fft)


def __getattr__(name: str) -> Any:
    try:
        return _of(np, name)
    except AttributeError:
        raise AttributeError(f"module 'dualgrad.numpy' has no attribute {name!r}, nor has NumPy", name=name) from None


def __dir__() -> list[str]:
    return sorted({*dir(np), *globals()})
