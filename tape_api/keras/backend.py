"""What layers and losses share: ``tf.keras.backend``. Defined in `engine.frontend.keras.settings`."""

from typing import TYPE_CHECKING

from engine.frontend.keras import ctc as _ctc
from engine.frontend.keras import settings as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    _host.fill(globals(), _shared, _ctc)
