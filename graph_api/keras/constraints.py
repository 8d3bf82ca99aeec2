"""Constraints that optimizers apply to weights: ``tf.keras.constraints``. Defined in `dualgrad.keras.constraints`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import constraints as _shared
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
