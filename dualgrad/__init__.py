"""dualgrad: automatic differentiation on NumPy and SciPy under TensorFlow 1's graphs and TensorFlow 2's tapes.

``dualgrad.graph`` is `graph_api`, ``dualgrad.tape`` is `tape_api` and ``dualgrad.optim`` is `optim`; each is loaded
when it is first used. ``dualgrad.numpy`` is NumPy, with lists of tensors for arrays; who imports it gets tensors with
the manners of NumPy's arrays. The packages below are what TensorFlow programs need around gradients, shared by both
front ends: names and arguments (`dualgrad.frontend`), Keras, data sets, sparse tensors, files. ``python -m dualgrad``
is the command.

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

import runpy as _runpy
from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    import graph_api as graph
    import optim as optim
    import tape_api as tape
    from dualgrad.extras import arrays as numpy

    __version__: str

__all__ = ["__version__", "graph", "numpy", "optim", "tape"]


def __getattr__(name: str) -> _Any:
    if name in __all__:
        # somebody else's `engine` or `optim` may be in the way
        _runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))
    if name == "__version__":
        value = _import_module("engine").__version__
    elif name == "graph":
        value = _import_module("graph_api")
    elif name == "tape":
        value = _import_module("tape_api")
    elif name == "optim":
        value = _import_module("optim")
    elif name == "numpy":
        value = _import_module("dualgrad.extras.arrays")
        value.give_manners()
    else:
        raise AttributeError(f"module 'dualgrad' has no attribute {name!r}; it has {', '.join(__all__)}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
