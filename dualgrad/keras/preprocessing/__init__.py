"""Preparation of data before a model sees it: ``tf.keras.preprocessing``."""

from __future__ import annotations

import sys
from typing import NoReturn

from dualgrad.frontend.namespace import missing
from dualgrad.keras import picture_files as image
from dualgrad.keras.preprocessing import sequence

__all__ = ["image", "sequence"]


def __getattr__(name: str) -> NoReturn:
    raise missing(sys.modules[__name__], "tf.keras.preprocessing", name)
