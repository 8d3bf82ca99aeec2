"""Activation functions: ``tf.keras.activations``, which `engine.frontend.keras.activations` defines."""

from typing import TYPE_CHECKING

from engine.frontend.keras import activations as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    _host.fill(globals(), _shared)
