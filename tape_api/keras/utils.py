"""Odds and ends: ``tf.keras.utils``. Defined in `engine.frontend.keras.utils`."""

from typing import TYPE_CHECKING

from engine.frontend.keras import batches as _batches
from engine.frontend.keras import files as _files
from engine.frontend.keras import images as _images
from engine.frontend.keras import progress as _progress
from engine.frontend.keras import utils as _shared
from engine.frontend.keras.preprocessing import sequence as _sequence
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
else:
    _host.fill(globals(), _shared)
    _host.fill(globals(), _images, _progress, _sequence)
    _host.fill(globals(), _files, names=("get_file",))
    _host.fill(globals(), _batches, names=("Sequence",))
    PyDataset = Sequence  # noqa: F821 - Keras 3's name
    __all__.append("PyDataset")  # noqa: F821
