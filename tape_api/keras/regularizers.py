"""Penalties on weights: ``tf.keras.regularizers``. Defined in `dualgrad.keras.regularizers`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import regularizers as _shared
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared)
