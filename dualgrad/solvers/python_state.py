"""Everything that a Python function can see besides its arguments, to know whether it would do the same again.

A function that was traced does what it did when it was traced. That is what it would do now if nothing has changed that
it looks at: numbers and arrays in its closure and among its globals, and in those of the functions that it calls. Where
that cannot be told (it looks at objects, draws random numbers, keeps count of its calls), there is no answer, and it
has to be run.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.variable import Variable

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...), np.generic, slice, range)
_KNOWN = frozenset(
    {
        *("numpy", "scipy", "math", "cmath", "builtins", "functools", "operator", "itertools", "typing", "collections"),
        *("engine", "dualgrad", "tape_api", "graph_api", "optim", "dataclasses", "abc"),
    }
)
"""Packages whose functions depend on their arguments alone, but for `_OTHER_EACH_TIME`."""
_OTHER_EACH_TIME = frozenset(
    {
        *("random", "default_rng", "print", "open", "input", "next", "globals", "vars", "exec", "eval", "setattr"),
        *("delattr", "time", "perf_counter", "uuid4", "count", "cycle", "py_function", "numpy_function", "seed"),
    }
)
"""Names that a function is not expected to do the same with."""
_MOST = 1 << 20
"""Bytes of an array that is compared."""


class Unknown(Exception):
    """Cannot be told."""


def state_of(function: Any) -> Any:
    """Something that is equal as long as the function does the same.

    Raises
    ------
    Unknown
        If that cannot be told.
    """
    return _seen(function, {})


def _seen(x: Any, known: dict[int, int]) -> Any:
    if id(x) in known:
        return known[id(x)]
    if isinstance(x, _PLAIN):
        # 1, 1.0 and True are equal to Python
        return type(x), repr(x)
    if isinstance(x, (EagerTensor, Variable)):
        # its contents stay, or are read when it is used
        return _Same(x)
    known[id(x)] = len(known)
    if isinstance(x, np.ndarray):
        if x.nbytes > _MOST or x.dtype.hasobject:
            raise Unknown
        return x.dtype.str, x.shape, x.tobytes()
    if type(x) in (tuple, list, set, frozenset):
        return type(x), *[_seen(item, known) for item in x]
    if type(x) is dict:
        return dict, *[(_seen(key, known), _seen(value, known)) for key, value in x.items()]
    if isinstance(x, functools.partial):
        return _seen((x.func, x.args, x.keywords), known)
    if isinstance(x, types.FunctionType) and not _is_known(x):
        return _function(x, known)
    if isinstance(x, types.ModuleType):
        if x.__name__.partition(".")[0] in _KNOWN:
            return _Same(x)
        raise Unknown
    if _is_known(x):
        return _Same(x)
    raise Unknown


class _Same:
    """Equal to what holds the same object, which it keeps alive."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.x is self.x

    __hash__ = None  # type: ignore[assignment]


def _is_known(x: Any) -> bool:
    """Whether it is a function or a class of one of the packages known."""
    callable_thing = isinstance(
        x, (types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, functools._lru_cache_wrapper)
    )
    module = getattr(x, "__module__", None) or type(x).__module__
    return callable_thing and module.partition(".")[0] in _KNOWN and getattr(x, "__name__", "") not in _OTHER_EACH_TIME


def _function(f: types.FunctionType, known: dict[int, int]) -> Any:
    names = _names(f.__code__)
    if not _OTHER_EACH_TIME.isdisjoint(names):
        raise Unknown
    try:
        cells = [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError as error:
        raise Unknown from error
    read = [f.__globals__[name] for name in sorted(names) if name in f.__globals__]
    hidden = [name for name in names if name not in f.__globals__ and hasattr(builtins, name)]
    return (
        _Same(f.__code__),
        hidden and tuple(sorted(hidden)),
        *[_seen(x, known) for x in (*cells, *read, f.__defaults__, f.__kwdefaults__)],
    )


@functools.lru_cache(1024)
def _names(code: types.CodeType) -> frozenset[str]:
    """The names that code looks up, also in the functions defined inside of it.

    Raises
    ------
    Unknown
        If it changes what is outside of it.
    """
    names = set(code.co_names)
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "IMPORT_NAME"):
            raise Unknown
        if step.opname == "STORE_DEREF" and step.argval in code.co_freevars:
            raise Unknown
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _names(inner)
    return frozenset(names)
