"""What optimizers do to weights: ``tf.keras.constraints``. Defined in `engine.frontend.keras.constraints`."""

from typing import TYPE_CHECKING, Any

from engine.frontend.keras import constraints as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    _host.fill(globals(), _shared)
