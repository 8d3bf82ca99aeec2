"""Callbacks of `fit`: ``tf.keras.callbacks``, which `dualgrad.keras.callbacks` defines."""

from dualgrad.keras import callbacks as _shared
from dualgrad.keras.callbacks import *  # noqa: F403 - `fill` binds this mode's forms
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
