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
from collections.abc import Callable, Sequence
from itertools import starmap
from operator import attrgetter, is_
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.eager import EagerTensor
from engine.core.op import Op
from engine.core.variable import Variable
from engine.runtime.cache import Cache, cached

PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None), type(...), slice, range})
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
_OF_FUNCTION = attrgetter("__code__", "__defaults__", "__kwdefaults__", "__dict__")
_OF_PARTIAL = attrgetter("func", "args", "keywords", "__dict__")
_OF_TRACED = lambda x: (x.python_function,)  # noqa: E731
_ABSENT = None
"""Stands for a name that is not there, and for one that is nothing."""
_MOST = 1 << 20
"""Bytes of an array that is compared."""
_LOOKED_UP: Cache[int, tuple[types.CodeType, tuple[str, ...] | None]] = Cache(
    "names in code", 1024, key="the code itself"
)


class Unknown(Exception):
    """Cannot be told."""


class State:
    """All that a function sees.

    `does` has an item for each object that was looked at, equal as long as it is the same program; `values` is what the
    variables hold that are read, by their identities.
    """

    def __init__(self, seen: Sequence[Any], does: list[Any], look: Look, values: dict[int, Same]) -> None:
        self.does, self.values, self._seen, self._look = does, values, seen, look

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.does == other.does and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def now(self, seen: Sequence[Any]) -> State | None:
        """The state of objects now, None if they are not these, or not known to be the same programs."""
        if len(seen) != len(self._seen) or not all(map(is_, seen, self._seen)) or not self._look.holds():
            return None
        variables = self._look.variables
        if all(_value(v) is self.values[id(v)].x for v in variables):
            return self
        return State(seen, self.does, self._look, {id(v): Same(_value(v)) for v in variables})


def state_of(*seen: Any, last: State | None = None) -> State:
    """Something that is equal as long as a function, or all of several objects that it is given, are the same.

    What is as it was at the last look is found out by looking at the same places again. Unknown is raised if it cannot
    be told.
    """
    known = None if last is None else last.now(seen)
    if known is not None:
        return known
    look = Look()
    does = [look.at(x) for x in seen]
    return State(seen, does, look, {id(v): Same(_value(v)) for v in look.variables})


class Look:
    """One look at all that can be reached from a function, and where it looked.

    Attributes
    ----------
    variables : list
    cells, functions, containers, arrays : list of tuple
        What can be changed in place, and what it held.
    names : list of (dict, str, object)
        Globals or Python's own names, and what a name stands for among them.
    """

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.cells: list[tuple[types.CellType, Any]] = []
        self.functions: list[tuple[Callable[[Any], Any], Any, Any]] = []
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.containers: list[tuple[Any, int, list[Any]]] = []
        self.arrays: list[tuple[np.ndarray, np.dtype, Any, Any, bytearray]] = []
        # they are kept alive, so that no two of them have one identity
        self.met: dict[int, tuple[int, Any]] = {}

    def holds(self) -> bool:
        """Whether each place holds the very object that it held, and arrays the same bytes."""
        # loops, as most are empty: this is asked in each call of a solver
        for names, name, x in self.names:
            if names.get(name, _ABSENT) is not x:
                return False
        try:
            for cell, x in self.cells:
                if cell.cell_contents is not x:
                    return False
        except ValueError:
            # it is empty now
            return False
        for parts, x, held in self.functions:
            if not all(map(is_, parts(x), held)):
                return False
        for x, count, items in self.containers:
            if len(x) != count or (count and not all(map(is_, _items(x), items))):
                return False
        return all(starmap(_holds, self.arrays))

    def at(self, x: Any) -> Any:
        """Something that compares equal while `x` is the same."""
        if type(x) in PLAIN:
            # 1, 1.0 and True are equal to Python
            return type(x), repr(x)
        if id(x) in self.met:
            return self.met[id(x)][0]
        self.met[id(x)] = len(self.met), x
        if type(x) is types.FunctionType:
            return self._function(x)
        if type(x) is np.ndarray or (isinstance(x, np.generic) and type(x).__module__ == "numpy"):
            if x.nbytes > _MOST or x.dtype.hasobject:
                raise Unknown
            held = bytearray(x.tobytes())
            if isinstance(x, np.ndarray):
                self.arrays.append((x, x.dtype, x.shape, x.strides, held))
            return type(x), x.dtype.str, x.shape, x.strides, held
        if isinstance(x, Variable):
            self.variables.append(x)
            return Same(x)
        if type(x) in (EagerTensor, DType):
            # they stay as they are
            return Same(x)
        if type(x) in (tuple, frozenset):
            return type(x), *[self.at(item) for item in x]
        if type(x) in (list, set, dict):
            self.containers.append((x, len(x), _items(x)))
        if type(x) in (list, set):
            return type(x), *[self.at(item) for item in x]
        if type(x) is dict:
            return dict, *[(self.at(key), self.at(value)) for key, value in x.items()]
        if type(x) is functools.partial:
            return functools.partial, *map(self.at, self._parts_of(_OF_PARTIAL, x))
        if isinstance(x, types.BuiltinFunctionType) and not isinstance(x.__self__, types.ModuleType | None):
            # a method of an object, which may have changed
            return x.__name__, self.at(x.__self__)
        # a front end takes long to say what a name is that it has not
        traced = is_ours(type(x).__module__) and not isinstance(x, types.ModuleType) and hasattr(x, "python_function")
        if traced:
            return Same(x), *map(self.at, self._parts_of(_OF_TRACED, x))
        if _is_known(x):
            return Same(x)
        raise Unknown

    def _function(self, f: types.FunctionType, assigns: bool = False) -> Any:
        """All that a function sees, but for variables around it that it assigns to, which it may do if it `assigns`."""
        ours = is_ours(f.__globals__.get("__name__") or "")
        if ours and _is_named(f):
            return Same(f)
        # what a function of ours was given is in its cells
        around = f.__globals__
        names = () if ours else _looked_up(f.__code__, True) if assigns else _names(f.__code__)
        if names is None or any(_differs(name) for name in names if name not in around):
            raise Unknown
        seen: list[Any] = []
        try:
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=False):
                if not (assigns and _is_assigned(name, f.__code__)):
                    seen.append(cell.cell_contents)
                    self.cells.append((cell, seen[-1]))
        except ValueError as error:
            raise Unknown from error
        anything: Any = f  # typed stubs have the attribute from Python 3.13 on
        for name in names:
            # a program may put names of its own among Python's
            for place in (around, anything.__builtins__):
                seen.append(place.get(name, _ABSENT))
                self.names.append((place, name, seen[-1]))
                if seen[-1] is not _ABSENT:
                    break
        code, *parts = self._parts_of(_OF_FUNCTION, f)
        if any(parts):
            seen += parts
        else:
            self.containers.append((parts[-1], 0, []))
        return Same(code), *[self.at(x) for x in seen]

    def _parts_of(self, parts: Callable[[Any], Any], x: Any) -> Sequence[Any]:
        held = parts(x)
        self.functions.append((parts, x, held))
        return held


def _items(x: Any) -> list[Any]:
    """The objects that a list, a set or a dict holds."""
    return [*x, *x.values()] if type(x) is dict else list(x)


def _holds(x: np.ndarray, dtype: np.dtype, shape: Any, strides: Any, held: bytearray) -> bool:
    """Whether an array is as it was. What lies in a row is compared where it lies."""
    if x.dtype is not dtype or x.shape != shape or x.strides != strides:
        return False
    there: Any = x.data if x.flags.c_contiguous and dtype.kind in "biufc" else x.tobytes()
    return bool(held == there)


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
        return is_ours(x.__name__)
    if isinstance(x, np.ufunc):
        # another one of its kind may call a function of the user
        return any(getattr(sys.modules.get(name), x.__name__, None) is x for name in ("numpy", "scipy.special"))
    if isinstance(x, Op):
        # one that a user has made may call a function of the user, too
        return getattr(sys.modules.get(x.module), x.name, None) is x
    kinds = (types.BuiltinFunctionType, type, functools._lru_cache_wrapper)
    return isinstance(x, kinds) and _is_named(x)


@cached(1024)
def is_ours(module: str) -> bool:
    """Whether a module is of the packages known."""
    return module.partition(".")[0] in _KNOWN and not any(map(_differs, module.split(".")))


def _is_named(x: Any) -> bool:
    """Whether it is in a package known by the name that it has."""
    module, name = x.__module__ or "", x.__name__
    if _differs(name):
        return False
    if isinstance(x, types.FunctionType) and x.__globals__["__name__"].rpartition(".")[2] in _NAMES:
        return True
    return is_ours(module) and getattr(sys.modules.get(module), name, None) is x


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


def _is_assigned(name: str, code: types.CodeType) -> bool:
    """Whether code assigns to a variable around it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType) and name in c.co_freevars]
    stores = [step.argval for step in dis.get_instructions(code) if step.opname == "STORE_DEREF"]
    return name in stores or any(_is_assigned(name, c) for c in inner)


def _looked_up(code: types.CodeType, may_assign: bool = False) -> tuple[str, ...] | None:
    names: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "IMPORT_NAME"):
            return None
        if step.opname == "STORE_DEREF" and step.argval in code.co_freevars and not may_assign:
            return None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(step.argval)
    if any(_differs(name) for name in code.co_names if name not in names):
        return None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            further = _looked_up(inner, may_assign)
            if further is None:
                return None
            names |= set(further)
    return tuple(sorted(names))
