"""Odds and ends: ``tf.keras.utils``. Defined in `dualgrad.keras.utils`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import batches as _batches
from dualgrad.keras import downloads as _downloads
from dualgrad.keras import picture_files as _picture_files
from dualgrad.keras import pictures as _pictures
from dualgrad.keras import progress as _progress
from dualgrad.keras import utils as _shared
from dualgrad.keras.preprocessing import sequence as _sequence
from tape_api.keras import image_folders as _image_folders
from tape_api.keras_host import host as _host

__all__ = ["PyDataset"]

_host.fill(globals(), _shared, _picture_files, _pictures, _progress, _sequence, _image_folders)
_host.fill(globals(), _downloads, names=("get_file",))
_host.fill(globals(), _batches, names=("Sequence",))
PyDataset = globals()["Sequence"]  # Keras 3's name
