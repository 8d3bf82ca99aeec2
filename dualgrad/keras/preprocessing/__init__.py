"""Preparation of data before a model sees it: ``tf.keras.preprocessing``."""

from __future__ import annotations

from dualgrad.keras import picture_files as image
from dualgrad.keras.preprocessing import sequence, text

__all__ = ["image", "sequence", "text"]
