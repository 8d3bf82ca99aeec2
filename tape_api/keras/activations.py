"""Activation functions: ``tf.keras.activations``. Defined in `engine.frontend.keras.activations`."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import activations as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
