"""Layers: ``tf.keras.layers``."""

from __future__ import annotations

from dualgrad.keras.layers import (
    attention,
    base,
    cells,
    convolution,
    core,
    images,
    lookup,
    merging,
    normalization,
    pooling,
    preprocessing,
    recurrent,
    shaping,
    specs,
)
from dualgrad.keras.layers.attention import *  # noqa: F403
from dualgrad.keras.layers.base import *  # noqa: F403
from dualgrad.keras.layers.cells import *  # noqa: F403
from dualgrad.keras.layers.convolution import *  # noqa: F403
from dualgrad.keras.layers.core import *  # noqa: F403
from dualgrad.keras.layers.images import *  # noqa: F403
from dualgrad.keras.layers.lookup import *  # noqa: F403
from dualgrad.keras.layers.merging import *  # noqa: F403
from dualgrad.keras.layers.normalization import *  # noqa: F403
from dualgrad.keras.layers.pooling import *  # noqa: F403
from dualgrad.keras.layers.preprocessing import *  # noqa: F403
from dualgrad.keras.layers.recurrent import *  # noqa: F403
from dualgrad.keras.layers.shaping import *  # noqa: F403
from dualgrad.keras.layers.specs import *  # noqa: F403

# one after the other: type checkers read this form
__all__: list[str] = []
__all__ += attention.__all__
__all__ += base.__all__
__all__ += cells.__all__
__all__ += convolution.__all__
__all__ += core.__all__
__all__ += images.__all__
__all__ += lookup.__all__
__all__ += merging.__all__
__all__ += normalization.__all__
__all__ += pooling.__all__
__all__ += preprocessing.__all__
__all__ += recurrent.__all__
__all__ += shaping.__all__
__all__ += specs.__all__
