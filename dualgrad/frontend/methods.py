"""Names of choices that TensorFlow's functions take."""

from __future__ import annotations


class ResizeMethod:
    """The methods of ``image.resize``."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


class ResizeMethodVersion1:
    """The methods of TensorFlow 1's ``image.resize_images``."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)
