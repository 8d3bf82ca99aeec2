"""Models: ``tf.keras.models``. Defined in `dualgrad.keras.models`."""

from typing import TYPE_CHECKING

from dualgrad.keras import models as _shared
from tape_api.keras_host import host as _host

if TYPE_CHECKING:
    from dualgrad.keras.models import *  # noqa: F403
else:
    _host.fill(globals(), _shared)

    from tape_api.files import model_files as _files
    from tape_api.files import weight_files as _weights
    from tape_api.keras.exporting import export as _export

    _host.fill(globals(), _files, names=("load_model", "model_from_config", "model_from_json", "save_model"))
    for _name, _method in {
        "save_weights": _weights.save_weights,
        "load_weights": _weights.load_weights,
        "save": _files.save_model,
        "to_json": _files.to_json,
        "export": _export,
    }.items():
        setattr(globals()["Model"], _name, _method)
