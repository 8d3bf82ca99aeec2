"""Callbacks of `fit`: ``tf.keras.callbacks``, which `dualgrad.keras.callbacks` defines."""

from typing import TYPE_CHECKING

from dualgrad.keras import callbacks as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:
    from dualgrad.keras.callbacks import *  # noqa: F403
else:
    _host.fill(globals(), _shared)
