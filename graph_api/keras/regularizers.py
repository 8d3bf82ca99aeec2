"""Penalties on weights: ``tf.keras.regularizers``, which `engine.frontend.keras.regularizers` defines."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import regularizers as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
