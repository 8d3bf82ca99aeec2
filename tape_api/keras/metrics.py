"""Numbers accumulated over batches: ``tf.keras.metrics``. Defined in `dualgrad.keras.metrics`."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import metrics as _shared
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared)
