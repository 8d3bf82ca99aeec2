"""Layers: ``tf.keras.layers``, which `dualgrad.keras.layers` defines."""

from dualgrad.keras import layers as _shared
from dualgrad.keras.layers import *  # noqa: F403 - `fill` binds this mode's forms
from dualgrad.keras.layers.core import Input as Input  # noqa: PLC0414 - given on
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
