"""Penalties on weights: ``tf.keras.regularizers``. Defined in `engine.frontend.keras.regularizers`."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import regularizers as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
