"""Losses, as functions and as classes: ``tf.keras.losses``. Defined in `dualgrad.keras.losses`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import losses as _shared
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared)
