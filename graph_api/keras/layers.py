"""Layers: ``tf.keras.layers``, which `dualgrad.keras.layers` defines."""

from typing import TYPE_CHECKING

from dualgrad.keras import layers as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:
    from dualgrad.keras.layers import *  # noqa: F403
    from dualgrad.keras.layers.core import Input as Input  # noqa: PLC0414 - given on
else:
    _host.fill(globals(), _shared)
