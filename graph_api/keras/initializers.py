"""Initial values of weights: ``tf.keras.initializers``, which `dualgrad.keras.initializers` defines."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import initializers as _shared
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
