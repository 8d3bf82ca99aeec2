"""Models: ``tf.keras.models``, which `dualgrad.keras.models` defines."""

from typing import TYPE_CHECKING

from dualgrad.keras import models as _shared
from graph_api.keras.host import host as _host

if TYPE_CHECKING:
    from dualgrad.keras.models import *  # noqa: F403
else:
    _host.fill(globals(), _shared)
