"""TensorFlow's names for clipping: those of both versions (`dualgrad.frontend.common_names`), and of the first."""

from __future__ import annotations

from dualgrad.frontend.rows import Later

clip = Later("optim.clip")

CLIPPING: tuple[tuple[str, str], ...] = (
    (clip.clip_by_value, "clip_by_value"),
    (clip.clip_by_norm, "clip_by_norm"),
    (clip.clip_by_global_norm, "clip_by_global_norm"),
    (clip.global_norm, "linalg.global_norm"),
)
CLIPPING_VERSION1: tuple[tuple[str, str], ...] = (*CLIPPING, (clip.clip_by_average_norm, "clip_by_average_norm"))
