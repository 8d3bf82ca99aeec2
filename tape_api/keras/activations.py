"""Activation functions: ``tf.keras.activations``. Defined in `dualgrad.keras.activations`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import activations as _shared
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared)
