"""Layers: ``tf.keras.layers``. Defined in `dualgrad.keras.layers`."""

from typing import TYPE_CHECKING

from dualgrad.keras import layers as _shared
from tape_api.keras_host import host as _host

if TYPE_CHECKING:
    from dualgrad.keras.layers import *  # noqa: F403
    from dualgrad.keras.layers.core import Input as Input  # noqa: PLC0414 - given on
    from tape_api.keras.saved_layer import TFSMLayer as TFSMLayer  # noqa: PLC0414 - given on
else:
    from tape_api.keras.saved_layer import TFSMLayer  # noqa: F401 - it is one of them

    _host.fill(globals(), _shared)
