"""TensorFlow 2 style: ``import tape_api as tf``.

Eager tensors, variables, `GradientTape`, `custom_gradient`, `random`, and as much of ``keras`` as the usual tutorial
needs. Importing it loads tables that say where each name is (`tape_api.names`, `tape_api.lazy_names`); what a name
stands for is loaded when a program first uses it.
"""

import runpy as _runpy
import sys as _sys
from pathlib import Path as _Path

_runpy.run_path(str(_Path(__file__).resolve().parent.parent / "engine" / "guard.py"))

from dualgrad.frontend import namespace as _namespace
from dualgrad.frontend import scipy_modules as _scipy_modules
from dualgrad.frontend import tracebacks as _tracebacks
from dualgrad.frontend import version1 as _version1
from optim.names import CLIPPING_VERSION1 as _CLIPPING_VERSION1
from tape_api.lazy_names import LATER as _LATER
from tape_api.lazy_names import VERSION1 as _VERSION1
from tape_api.names import TABLE as _TABLE

__version__ = "2.21.0"
"""The version of TensorFlow whose behavior this follows: programs compare it with what they need."""

newaxis = None

_tracebacks.install()
_scipy_modules.watch()  # before a program takes functions from SciPy
_here = _sys.modules[__name__]
_here.__class__ = _namespace.Named  # `function` is the function, not the module
_namespace.FOUNDATION[__name__] = "tape_api.library"
_namespace.place(_here, "compat.v1", _namespace.namespace("tape_api.compat.v1", beside="tape_api"))
_namespace.place(_here, "compat.v2", _here)
# Keras's losses, and those of TensorFlow 1 under names of their own
_namespace.place(_here, "losses", _namespace.namespace("tape_api.losses", beside="tape_api.keras.losses"))
_namespace.place_later(_here, _TABLE.rows, lifted=True)
_namespace.place_later(_here, _LATER)
_namespace.place_later(_here.compat.v1, _version1.table(*_CLIPPING_VERSION1).rows, lifted=True)
_namespace.place_later(_here.compat.v1, _VERSION1)
