"""What functions look at, all of which is changed: see `tests.fuzz.changes`."""

import builtins
import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

import tape_api as tf

RATE: Any = 1.0
ARRAY = np.ones(1)
OTHER = np.ones(1)
BASE = np.ones(4)
VIEW = BASE[1::2]
SCALAR = np.array(1.0)
BYTES = bytearray(b"\x02")
HELD: dict[str, Any] = {"k": 1.0, "deep": [np.ones(1)]}
LIST = [1.0]
SET = {1.0}
THING = SimpleNamespace(rate=1.0)
MODULE = ModuleType("rates")
NAME = "DUALGRAD_RATE"
FILE = Path(tempfile.mkdtemp()) / "rate"
SPARSE = sparse.csr_array(np.ones((1, 1)))
TENSOR: Any = tf.constant([1.0], tf.float64)
SHARED = np.ones(1)
OF_SHARED = tf.convert_to_tensor(SHARED)
VARIABLE = tf.Variable([1.0], dtype=tf.float64)
LISTED = [tf.Variable([1.0], dtype=tf.float64)]


class Model:
    """An object whose methods are asked."""

    rate = 1.0

    def scaled(self, u: Any) -> Any:
        return u * self.rate


class Scale:
    """An object that is called."""

    def __init__(self) -> None:
        self.rate = 1.0

    def __call__(self, u: Any) -> Any:
        return u * self.rate


MODEL, SCALE = Model(), Scale()


def by_default(u: Any, rate: float = 1.0) -> Any:
    return u * rate


def by_keyword(u: Any, *, rate: float = 1.0) -> Any:
    return u * rate


def by_attribute(u: Any) -> Any:
    return u * by_attribute.rate  # type: ignore[attr-defined]


def by_code(u: Any) -> Any:
    return u * 1.0


RATES = (1.0, 2.5, 4.0)
_CODES = {rate: compile(f"def by_code(u): return u * {rate!r}", "<code>", "exec") for rate in RATES}


def _cell() -> tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[float], None]]:
    rate = 1.0

    def reads(u: Any) -> Any:
        return u * rate

    def reads_inside(u: Any) -> Any:
        def inner() -> Any:
            return reads(u)

        return inner()

    def sets(to: float) -> None:
        nonlocal rate
        rate = to

    return reads, reads_inside, sets


by_cell, by_inner_cell, set_cell = _cell()
times_deep = functools.partial(np.multiply, HELD["deep"][0])
by_partial = functools.partial(by_keyword, rate=1.0)
get = HELD.get

READS: dict[str, Callable[[Any], Any]] = {
    "global": lambda u: u * RATE,
    "builtin": lambda u: u * RATE_OF_ALL,  # type: ignore[name-defined] # noqa: F821
    "array": lambda u: u * ARRAY,
    "array of a dict": lambda u: times_deep(u),
    "array in place of another": lambda u: u * OTHER[0],
    "view of an array": lambda u: u * VIEW[0],
    "array without axes": lambda u: u * SCALAR,
    "array under a tensor": lambda u: u * OF_SHARED,
    "sparse matrix": lambda u: u * SPARSE.data[0],
    "bytes": lambda u: u * (BYTES[0] / 2),
    "dict": lambda u: u * HELD["k"],
    "method of a dict": lambda u: u * get("k"),
    "list": lambda u: u * LIST[0],
    "set": lambda u: u * max(SET),
    "attribute": lambda u: u * THING.rate,
    "module": lambda u: u * MODULE.rate,
    "class": lambda u: u * Model.rate,
    "method": MODEL.scaled,
    "object that is called": SCALE,
    "environment": lambda u: u * float(os.environ[NAME]),
    "file": lambda u: u * float(FILE.read_text()),
    "default": by_default,
    "keyword": lambda u: by_keyword(u),
    "partial": lambda u: by_partial(u),
    "function": lambda u: by_attribute(u),
    "code": lambda u: by_code(u),
    "cell": by_cell,
    "cell of a function inside": by_inner_cell,
    "tensor in place of another": lambda u: u * TENSOR,
    "variable": lambda u: u * VARIABLE,
    "variable in a list": lambda u: u * LISTED[0],
    "nothing": lambda u: u * 1.5,
}
GIVEN = ("size", "dtype", "layout", "point", "argument")
"""What objects are asked with."""


def _put_other(rate: float) -> None:
    # another size and another dtype
    globals()["OTHER"] = np.full(int(2 * rate), rate, np.float32 if rate % 1 else np.float64)


def _put_set(rate: float) -> None:
    SET.clear()
    SET.add(rate)


_PUT: dict[str, Callable[[float], Any]] = {
    "global": lambda rate: globals().__setitem__("RATE", rate),
    "builtin": lambda rate: setattr(builtins, "RATE_OF_ALL", rate),
    "array": lambda rate: ARRAY.__setitem__(0, rate),
    "array of a dict": lambda rate: HELD["deep"][0].__setitem__(0, rate),
    "array in place of another": _put_other,
    "view of an array": lambda rate: BASE.__setitem__(1, rate),
    "array without axes": lambda rate: SCALAR.__setitem__((), rate),
    "array under a tensor": lambda rate: SHARED.__setitem__(0, rate),
    "sparse matrix": lambda rate: SPARSE.data.__setitem__(0, rate),
    "bytes": lambda rate: BYTES.__setitem__(0, int(2 * rate)),
    "dict": lambda rate: HELD.__setitem__("k", rate),
    "list": lambda rate: LIST.__setitem__(0, rate),
    "set": _put_set,
    "attribute": lambda rate: setattr(THING, "rate", rate),
    "module": lambda rate: setattr(MODULE, "rate", rate),
    "class": lambda rate: setattr(Model, "rate", rate),
    "object that is called": lambda rate: setattr(SCALE, "rate", rate),
    "environment": lambda rate: os.environ.__setitem__(NAME, str(rate)),
    "file": lambda rate: FILE.write_text(str(rate)),
    "default": lambda rate: setattr(by_default, "__defaults__", (rate,)),
    "keyword": lambda rate: setattr(by_keyword, "__kwdefaults__", {"rate": rate}),
    "partial": lambda rate: by_partial.keywords.__setitem__("rate", rate),
    "function": lambda rate: setattr(by_attribute, "rate", rate),
    "code": lambda rate: setattr(by_code, "__code__", next(c for c in _CODES[rate].co_consts if hasattr(c, "co_code"))),
    "cell": set_cell,
    "tensor in place of another": lambda rate: globals().__setitem__("TENSOR", tf.constant([rate], tf.float64)),
    "variable": lambda rate: VARIABLE.assign([rate]),
    "variable in a list": lambda rate: LISTED[0].assign([rate]),
    "nothing": lambda rate: None,
}
_TOGETHER = (("dict", "method of a dict"), ("class", "method"), ("cell", "cell of a function inside"))
"""What is read in two ways."""


class World:
    """All that is changed.

    Attributes
    ----------
    rates : dict of str to float
        By what is read.
    x : array
        The point, which is changed in place, too.
    """

    def __init__(self) -> None:
        self.rates = dict.fromkeys([*READS, *GIVEN], 1.0)
        self.x: Any = np.ones(3)
        self.argument = np.ones(3)
        self.set(**self.rates)

    def set(self, **rates: float) -> None:
        """Change some of it."""
        for name, rate in rates.items():
            first, *others = next((names for names in _TOGETHER if name in names), (name,))
            self.rates |= dict.fromkeys([first, *others], rate)
            if first in _PUT:
                _PUT[first](rate)
        if not {"size", "dtype", "layout"}.isdisjoint(rates):
            self.x, self.argument = np.ones(0), np.ones(0)
        if not set(GIVEN).isdisjoint(rates):
            self._place()

    def _place(self) -> None:
        size = 1 + int(self.rates["size"]) % 4
        dtype = np.float32 if self.rates["dtype"] % 1 else np.float64
        if self.x.shape != (size,):
            step = 2 if self.rates["layout"] % 1 else 1
            self.x = np.zeros(step * size, dtype)[::step]
            self.argument = np.zeros(size)
        self.x[:] = self.rates["point"] / (1.0 + np.arange(size))
        self.argument[:] = self.rates["argument"]

    @property
    def point(self) -> np.ndarray:
        """A copy of the point in double precision."""
        return np.array(self.x, np.float64)

    @property
    def number(self) -> float:
        """The argument as one number."""
        return float(self.argument[0])


WORLD = World()
