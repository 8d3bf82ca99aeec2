"""What `fit` calls on its way: ``tf.keras.callbacks``, which `engine.frontend.keras.callbacks` defines."""

from typing import TYPE_CHECKING

from engine.frontend.keras import callbacks as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.keras.callbacks import *  # noqa: F403
else:
    _host.fill(globals(), _shared)
