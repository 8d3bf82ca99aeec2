"""Layers: ``tf.keras.layers``."""

from __future__ import annotations

from engine.frontend.keras.layers import (
    attention,
    base,
    cells,
    convolution,
    core,
    merging,
    normalization,
    pooling,
    preprocessing,
    recurrent,
    shaping,
)
from engine.frontend.keras.layers.attention import *  # noqa: F403
from engine.frontend.keras.layers.base import *  # noqa: F403
from engine.frontend.keras.layers.cells import *  # noqa: F403
from engine.frontend.keras.layers.convolution import *  # noqa: F403
from engine.frontend.keras.layers.core import *  # noqa: F403
from engine.frontend.keras.layers.merging import *  # noqa: F403
from engine.frontend.keras.layers.normalization import *  # noqa: F403
from engine.frontend.keras.layers.pooling import *  # noqa: F403
from engine.frontend.keras.layers.preprocessing import *  # noqa: F403
from engine.frontend.keras.layers.recurrent import *  # noqa: F403
from engine.frontend.keras.layers.shaping import *  # noqa: F403

_MODULES = (
    attention,
    base,
    cells,
    convolution,
    core,
    merging,
    normalization,
    pooling,
    preprocessing,
    recurrent,
    shaping,
)

__all__ = [name for module in _MODULES for name in module.__all__]
