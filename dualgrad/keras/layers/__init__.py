"""Layers: ``tf.keras.layers``."""

from __future__ import annotations

from dualgrad.keras.host import public_names
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

_MODULES = (
    attention, base, cells, convolution, core, images, lookup, merging, normalization, pooling, preprocessing,
    recurrent, shaping, specs,
)  # fmt: skip
__all__ = [name for module in _MODULES for name in public_names(module)]
