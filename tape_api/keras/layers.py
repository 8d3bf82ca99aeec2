"""Layers: ``tf.keras.layers``. Defined in `engine.frontend.keras.layers`."""

from typing import TYPE_CHECKING

from engine.frontend.keras import layers as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.keras.layers import *  # noqa: F403
    from engine.frontend.keras.layers.core import Input as Input  # noqa: PLC0414 - given on
else:
    _host.fill(globals(), _shared)
