"""Activation functions: ``tf.keras.activations``. Defined in `engine.frontend.keras.activations`."""

from typing import TYPE_CHECKING

from engine.frontend.keras import activations as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    _host.fill(globals(), _shared)
