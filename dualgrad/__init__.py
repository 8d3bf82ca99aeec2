"""dualgrad: automatic differentiation on NumPy and SciPy under TensorFlow 1's graphs and TensorFlow 2's tapes.

``dualgrad.graph`` is `graph_api`, ``dualgrad.tape`` is `tape_api`, ``dualgrad.optim`` is `optim` and ``dualgrad.bench``
is `bench`; each is loaded when it is first used, and can be imported under this name, with all its parts.
``dualgrad.numpy`` is NumPy, with lists of tensors for arrays; who imports it gets tensors with the manners of NumPy's
arrays. The packages below are what TensorFlow programs need around gradients, shared by both front ends: names and
arguments (`dualgrad.frontend`), Keras, data sets, sparse tensors, files. ``python -m dualgrad`` is the command.

Examples
--------
>>> import dualgrad
>>> tf = dualgrad.tape
>>> x = tf.Variable(3.0)
>>> with tf.GradientTape() as tape:
...     y = x * x
>>> float(tape.gradient(y, x))
6.0
"""

import sys as _sys
from collections.abc import Sequence as _Sequence
from importlib import import_module as _import_module
from importlib.machinery import ModuleSpec as _ModuleSpec
from importlib.machinery import SourceFileLoader as _Loader
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from dualgrad import bench as bench
    from dualgrad import graph as graph
    from dualgrad import optim as optim
    from dualgrad import tape as tape
    from dualgrad.extras import arrays as numpy

    __version__: str

__all__ = ["__version__", "bench", "graph", "numpy", "optim", "tape"]

_PARTS = {
    "bench": "bench",
    "graph": "graph_api",
    "numpy": "dualgrad.extras.arrays",
    "optim": "optim",
    "tape": "tape_api",
}


def _guard(*further: str) -> None:
    """Somebody else's `engine`, or one of the `further` packages, may be in the way."""
    guard = __path__[0] + "/../engine/guard.py"
    exec(_Loader("guard", guard).get_code("guard"), {"__file__": guard, "ALSO": further})  # type: ignore[arg-type]


def _part(name: str) -> _ModuleType:
    """The module ``dualgrad.<name>``, or one below it: the same as under its own name."""
    first, _, rest = name.partition(".")
    _guard(_PARTS[first].partition(".")[0])
    module = _import_module(f"{_PARTS[first]}.{rest}".rstrip("."))
    if name == "numpy":
        module.give_manners()
    return module


class _Parts:
    """Finds ``dualgrad.tape.keras`` and its like, and loads `tape_api.keras` for it."""

    @staticmethod
    def find_spec(name: str, path: _Sequence[str] | None = None, target: object = None) -> _ModuleSpec | None:
        package, _, inner = name.partition(".")
        if package != __name__ or inner.partition(".")[0] not in _PARTS:
            return None
        return _ModuleSpec(name, _Parts)  # type: ignore[arg-type]  # a class is a loader, too

    @staticmethod
    def create_module(spec: _ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: _ModuleType) -> None:
        # Python hands on what it finds here in the end
        _sys.modules[module.__name__] = _part(module.__name__.partition(".")[2])


_sys.meta_path.insert(0, _Parts)


if not TYPE_CHECKING:  # a checker would take every name for one that is there

    def __getattr__(name: str) -> _Any:
        if name == "__version__":
            _guard()
            value = _import_module("engine").__version__
        elif name in _PARTS:
            value = _part(name)
        else:
            raise AttributeError(f"module 'dualgrad' has no attribute {name!r}; it has {', '.join(__all__)}", name=name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
