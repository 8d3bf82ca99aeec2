"""Layers: ``tf.keras.layers``. Defined in `dualgrad.keras.layers`."""

from dualgrad.keras import layers as _shared
from dualgrad.keras.layers import *  # noqa: F403 - `fill` binds this mode's forms
from dualgrad.keras.layers.core import Input as Input  # noqa: PLC0414 - given on
from tape_api.keras.saved_layer import TFSMLayer as TFSMLayer  # noqa: PLC0414 - it is one of them
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared)
