"""Numbers accumulated over batches: ``tf.keras.metrics``, which `engine.frontend.keras.metrics` defines."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import metrics as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
