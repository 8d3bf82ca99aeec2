"""Everything that a Python function can see besides its arguments, to know whether it would do the same again.

A function that was traced does what it did when it was traced. That is what it would do now if nothing has changed that
it looks at: numbers and arrays in its closure and among its globals, and in those of the functions that it calls. Where
that cannot be told (it looks at objects, draws random numbers, keeps count of its calls), there is no answer, and it
has to be run.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from typing import Any, NamedTuple

import numpy as np

from engine.core.dtypes import DType
from engine.core.eager import EagerTensor
from engine.core.op import Op
from engine.core.variable import Variable
from engine.runtime.cache import Cache, cached

_PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None), type(...), slice, range})
_KNOWN = frozenset(
    {
        *("numpy", "scipy", "math", "cmath", "builtins", "functools", "operator", "itertools", "typing", "collections"),
        *("engine", "dualgrad", "tape_api", "graph_api", "optim", "dataclasses", "abc"),
    }
)
"""Packages whose functions depend on their arguments alone, but for `_OTHER_EACH_TIME`."""
_NAMES = frozenset({"lift", "library", "bound", "legacy"})
"""Modules of ours, by their last names, that make functions with public names of our own."""
_OTHER_EACH_TIME = frozenset(
    {
        *("default_rng", "print", "open", "input", "next", "globals", "vars", "exec", "eval", "setattr", "delattr"),
        *("time", "perf_counter", "uuid4", "count", "cycle", "py_function", "numpy_function", "py_func", "seed"),
        *("rvs", "sample", "shuffle", "dropout", "truncated_normal", "multinomial", "timestamp", "floatx", "config"),
        *("load", "loadtxt", "genfromtxt", "fromfile", "memmap", "read_file", "geterr", "errstate"),
    }
)
"""Names that a function is not expected to do the same with; so are all with ``random`` in them."""
_MOST = 1 << 20
"""Bytes of an array that is compared."""
_LOOKED_UP: Cache[int, tuple[types.CodeType, tuple[str, ...] | None]] = Cache(
    "names in code", 1024, key="the code itself"
)


class Unknown(Exception):
    """Cannot be told."""


class State(NamedTuple):
    """All that a function sees.

    Attributes
    ----------
    does : object
        Equal as long as the function is the same program.
    values : dict
        What the variables hold that it reads, by their identities.
    """

    does: Any
    values: dict[int, Same]


def state_of(*seen: Any) -> State:
    """Something that is equal as long as a function, or all of several objects that it is given, are the same.

    Raises
    ------
    Unknown
        If that cannot be told.
    """
    look = _Look()
    return State([look.at(x) for x in seen], look.values)


class _Look:
    """One look at all that can be reached from a function."""

    def __init__(self) -> None:
        self.values: dict[int, Same] = {}
        # they are kept alive, so that no two of them have one identity
        self._met: dict[int, tuple[int, Any]] = {}

    def at(self, x: Any) -> Any:
        """Something that compares equal while `x` is the same."""
        if type(x) in _PLAIN:
            # 1, 1.0 and True are equal to Python
            return type(x), repr(x)
        if id(x) in self._met:
            return self._met[id(x)][0]
        self._met[id(x)] = len(self._met), x
        if type(x) is np.ndarray or (isinstance(x, np.generic) and type(x).__module__ == "numpy"):
            if x.nbytes > _MOST or x.dtype.hasobject:
                raise Unknown
            return type(x), x.dtype.str, x.shape, x.strides, x.tobytes()
        if isinstance(x, Variable):
            self.values[id(x)] = Same(_value(x))
            return Same(x)
        if type(x) in (EagerTensor, DType):
            # they stay as they are
            return Same(x)
        if type(x) in (tuple, list, set, frozenset):
            return type(x), *[self.at(item) for item in x]
        if type(x) is dict:
            return dict, *[(self.at(key), self.at(value)) for key, value in x.items()]
        if type(x) is functools.partial:
            return functools.partial, self.at(x.func), *map(self.at, x.args), self.at(x.keywords), self.at(vars(x))
        if isinstance(x, types.BuiltinFunctionType) and not isinstance(x.__self__, types.ModuleType | None):
            # a method of an object, which may have changed
            return x.__name__, self.at(x.__self__)
        if isinstance(x, types.FunctionType):
            return self._function(x)
        if _is_known(x):
            return Same(x)
        raise Unknown

    def _function(self, f: types.FunctionType) -> Any:
        ours = _is_ours(f.__globals__.get("__name__") or "")
        if ours and _is_named(f):
            return Same(f)
        # what a function of ours was given is in its cells
        around, names = f.__globals__, () if ours else _names(f.__code__)
        if names is None or any(_differs(name) for name in names if name not in around):
            raise Unknown
        try:
            seen = [cell.cell_contents for cell in f.__closure__ or ()]
        except ValueError as error:
            raise Unknown from error
        # a program may put names of its own among Python's
        seen += [around[name] if name in around else f.__builtins__.get(name) for name in names]
        seen += [x for x in (f.__defaults__, f.__kwdefaults__, f.__dict__) if x]
        return Same(f.__code__), *[self.at(x) for x in seen]


def _value(x: Variable) -> Any:
    """The value of an eager variable; assigning puts another object in its place as long as somebody has this one."""
    try:
        return x._tensor  # type: ignore[attr-defined]
    except AttributeError:
        raise Unknown from None


class Same:
    """Equal to what holds the same object, which it keeps alive."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.x is self.x

    __hash__ = None  # type: ignore[assignment]


def _is_known(x: Any) -> bool:
    """Whether it is a module, a function or a class of one of the packages known."""
    if isinstance(x, types.ModuleType):
        return _is_ours(x.__name__)
    if isinstance(x, np.ufunc):
        # another one of its kind may call a function of the user
        return any(getattr(sys.modules.get(name), x.__name__, None) is x for name in ("numpy", "scipy.special"))
    if isinstance(x, Op):
        # one that a user has made may call a function of the user, too
        return getattr(sys.modules.get(x.module), x.name, None) is x
    kinds = (types.BuiltinFunctionType, type, functools._lru_cache_wrapper)
    return isinstance(x, kinds) and _is_named(x)


@cached(1024)
def _is_ours(module: str) -> bool:
    """Whether a module is of the packages known."""
    return module.partition(".")[0] in _KNOWN and not any(map(_differs, module.split(".")))


def _is_named(x: Any) -> bool:
    """Whether it is in a package known by the name that it has."""
    module, name = x.__module__ or "", x.__name__
    if _differs(name):
        return False
    if isinstance(x, types.FunctionType) and x.__globals__["__name__"].rpartition(".")[2] in _NAMES:
        return True
    return _is_ours(module) and getattr(sys.modules.get(module), name, None) is x


def _differs(name: str) -> bool:
    """Whether what has a name gives something else each time."""
    return name in _OTHER_EACH_TIME or "random" in name


def _names(code: types.CodeType) -> tuple[str, ...] | None:
    """The names around it that code looks up, also in the functions defined inside of it.

    None if it changes what is outside of it, or looks up something that is another thing each time.
    """
    # by identity, as code is slow to compare
    known = _LOOKED_UP.get(id(code))
    if known is None or known[0] is not code:
        known = _LOOKED_UP.put(id(code), (code, _looked_up(code)))
    return known[1]


def _looked_up(code: types.CodeType) -> tuple[str, ...] | None:
    names: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "IMPORT_NAME"):
            return None
        if step.opname == "STORE_DEREF" and step.argval in code.co_freevars:
            return None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(step.argval)
    if any(_differs(name) for name in code.co_names if name not in names):
        return None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            further = _looked_up(inner)
            if further is None:
                return None
            names |= set(further)
    return tuple(sorted(names))
