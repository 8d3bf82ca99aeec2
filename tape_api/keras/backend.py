"""Settings of layers and losses: ``tf.keras.backend``. Defined in `dualgrad.keras.settings`."""

from typing import TYPE_CHECKING

from dualgrad.keras import settings as _shared
from tape_api.keras_host import host as _host

if TYPE_CHECKING:
    from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    from tape_api.keras import backend_random as _random

    _host.fill(globals(), _shared, _random)
