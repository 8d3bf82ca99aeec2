"""TensorFlow-1 style: ``import graph_api as tf``.

Importing it loads tables that say where each name is (`graph_api.names`, `graph_api.lazy_names`); what a name stands
for is loaded when a program first uses it.
"""

import sys as _sys
from importlib.machinery import SourceFileLoader as _Loader

_guard = __path__[0] + "/../engine/guard.py"
exec(_Loader("guard", _guard).get_code("guard"), {"__file__": _guard})  # type: ignore[arg-type]

from dualgrad.frontend import namespace as _namespace
from dualgrad.frontend import scipy_modules as _scipy_modules
from dualgrad.frontend import tracebacks as _tracebacks
from graph_api.lazy_names import LATER as _LATER
from graph_api.names import TABLE as _TABLE

newaxis = None
__version__ = "1.15.0"  # the TensorFlow release whose names these are

_tracebacks.install()
_scipy_modules.watch()  # before a program takes functions from SciPy
_here = _sys.modules[__name__]
_here.__class__ = _namespace.Named  # `gradients` is the function, not the module
_namespace.FOUNDATION[__name__] = "graph_api.library"
_namespace.place_later(_here, _TABLE.rows, lifted=True)
_namespace.place_later(_here, _LATER)
_namespace.place(_here, "compat.v1", _here)
_sys.modules["graph_api.compat.v1"] = _here
