"""Initial values of weights: ``tf.keras.initializers``. Defined in `engine.frontend.keras.initializers`."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import initializers as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
