"""TensorFlow's names for clipping: the same in both of its versions (`engine.frontend.names`), and its first."""

from __future__ import annotations

from typing import Any

from optim import clip

CLIPPING: tuple[tuple[Any, str], ...] = (
    (clip.clip_by_value, "clip_by_value"),
    (clip.clip_by_norm, "clip_by_norm"),
    (clip.clip_by_global_norm, "clip_by_global_norm"),
    (clip.global_norm, "linalg.global_norm"),
)
CLIPPING_VERSION1: tuple[tuple[Any, str], ...] = (*CLIPPING, (clip.clip_by_average_norm, "clip_by_average_norm"))
