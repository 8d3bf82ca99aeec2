"""Odds and ends: ``tf.keras.utils``, which `dualgrad.keras.utils` defines."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import downloads as _downloads
from dualgrad.keras import picture_files as _picture_files
from dualgrad.keras import progress as _progress
from dualgrad.keras import utils as _shared
from dualgrad.keras.preprocessing import sequence as _sequence
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
_host.fill(globals(), _picture_files, _progress, _sequence)
_host.fill(globals(), _downloads, names=("get_file",))
