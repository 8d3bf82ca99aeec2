"""What is done to data before a model sees it: ``tf.keras.preprocessing``."""

from __future__ import annotations

from engine.frontend.keras import images as image
from engine.frontend.keras.preprocessing import sequence, text

__all__ = ["image", "sequence", "text"]
