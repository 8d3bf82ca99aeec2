"""Numbers accumulated over batches: ``tf.keras.metrics``, which `dualgrad.keras.metrics` defines."""

from dualgrad.frontend.untyped import __getattr__ as __getattr__  # noqa: PLC0414
from dualgrad.keras import metrics as _shared
from graph_api.keras.host import host as _host

_host.fill(globals(), _shared)
