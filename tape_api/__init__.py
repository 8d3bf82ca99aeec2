"""TensorFlow 2 style: ``import tape_api as tf``.

Eager tensors, variables, `GradientTape`, `custom_gradient`, `random`, and as much of ``keras`` as the usual tutorial
needs. Importing it loads tables that say where each name is (`tape_api.names`, `tape_api.lazy_names`); what a name
stands for is loaded when a program first uses it.
"""

import sys as _sys
from importlib.machinery import SourceFileLoader as _Loader

_guard = __path__[0] + "/../engine/guard.py"
exec(_Loader("guard", _guard).get_code("guard"), {"__file__": _guard})  # type: ignore[arg-type]

from engine.runtime.collector import settled as _settled

__version__ = "2.21.0"
"""The version of TensorFlow whose behavior this follows: programs compare it with what they need."""

newaxis = None


def _offer() -> None:
    """Put the tables of names in place."""
    from dualgrad.frontend import namespace, scipy_modules, tracebacks, version1
    from optim.names import CLIPPING_VERSION1
    from tape_api.lazy_names import LATER, VERSION1
    from tape_api.names import TABLE

    tracebacks.install()
    scipy_modules.watch()  # before a program takes functions from SciPy
    here = _sys.modules[__name__]
    here.__class__ = namespace.Named  # `function` is the function, not the module
    namespace.FOUNDATION[__name__] = "tape_api.library"
    namespace.place(here, "compat.v1", namespace.namespace("tape_api.compat.v1", beside="tape_api"))
    namespace.place(here, "compat.v2", here)
    # Keras's losses, and those of TensorFlow 1 under names of their own
    namespace.place(here, "losses", namespace.namespace("tape_api.losses", beside="tape_api.keras.losses"))
    namespace.place_later(here, TABLE.rows, lifted=True)
    namespace.place_later(here, LATER)
    namespace.place_later(here.compat.v1, version1.table(*CLIPPING_VERSION1).rows, lifted=True)
    namespace.place_later(here.compat.v1, VERSION1)


_settled(_offer)
