"""Models: ``tf.keras.models``. Defined in `engine.frontend.keras.models`."""

from typing import TYPE_CHECKING

from engine.frontend.keras import models as _shared
from tape_api.keras.host import host as _host

if TYPE_CHECKING:
    from engine.frontend.keras.models import *  # noqa: F403
else:
    _host.fill(globals(), _shared)

    def _save_weights(self, filepath, *args, **kwargs):
        """Save the weights as a TensorFlow checkpoint; `tape_api.checkpoint.save_weights` has the parameters."""
        from tape_api.checkpoint import save_weights

        return save_weights(self, filepath, *args, **kwargs)

    def _load_weights(self, filepath, *args, **kwargs):
        """Set the weights to those of a TensorFlow checkpoint; see `tape_api.checkpoint.load_weights`."""
        from tape_api.checkpoint import load_weights

        return load_weights(self, filepath, *args, **kwargs)

    globals()["Model"].save_weights = _save_weights
    globals()["Model"].load_weights = _load_weights
