"""Pictures as arrays, through Pillow: ``tf.keras.utils.load_img`` and its like."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import numpy as np

from dualgrad.files import limits
from dualgrad.files.pictures import FORMATS, pillow

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}


def _channels_last(data_format: Any) -> bool:
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format!r}; give 'channels_first' or 'channels_last'")
    return data_format != "channels_first"


def img_to_array(img: Any, data_format: Any = None, dtype: Any = None) -> np.ndarray:
    """A picture of Pillow's (or an array) as an array of shape (height, width, channels), by default float32.

    Examples
    --------
    >>> img_to_array(np.zeros((2, 3))).shape
    (2, 3, 1)
    """
    last = _channels_last(data_format)
    x = np.asarray(img, dtype="float32" if dtype is None else dtype)
    if x.ndim == 2:
        return x[:, :, None] if last else x[None]
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x if last else x.transpose(2, 0, 1)


def array_to_img(x: Any, data_format: Any = None, scale: bool = True, dtype: Any = None) -> Any:
    """A picture of Pillow's from an array of shape (height, width, channels).

    Parameters
    ----------
    x : array
        With 1, 3 or 4 channels.
    data_format : {"channels_last", "channels_first"}
    scale : bool
        Whether to stretch the values to 0 to 255.
    dtype : dtype, optional
        Of the calculation, by default float32.
    """
    array = np.asarray(x, dtype="float32" if dtype is None else dtype)
    if array.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {array.shape}")
    if not _channels_last(data_format):
        array = array.transpose(1, 2, 0)
    if array.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {array.shape[2]}")
    if scale:
        array = array - np.min(array)
        largest = np.max(array)
        array = (array / largest if largest else array) * 255
    image = pillow("array_to_img")
    if array.shape[2] == 1:
        flat = array[:, :, 0]
        return image.fromarray(flat.astype("int32" if flat.max() > 255 else "uint8"))
    return image.fromarray(array.astype("uint8"))


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """A picture of Pillow's from a file.

    Parameters
    ----------
    path : path or file
    color_mode : {"rgb", "rgba", "grayscale"}
    target_size : (int, int), optional
        Height and width.
    interpolation : {"nearest", "bilinear", "bicubic", "hamming", "box", "lanczos"}
    keep_aspect_ratio : bool
        Whether to cut the middle out rather than to distort.
    """
    if color_mode not in _MODES:
        raise ValueError(f'color_mode must be "grayscale", "rgb", or "rgba", got {color_mode!r}')
    image = pillow("load_img")
    ways = {w: getattr(image.Resampling, w.upper()) for w in _RESAMPLING}
    if interpolation not in ways:
        raise ValueError(f"Invalid interpolation method {interpolation!r}; give one of {', '.join(ways)}")
    # an open file has no name that an error could say
    with (
        limits.damage(path) if isinstance(path, (str, os.PathLike)) else nullcontext(),
        image.open(path, formats=FORMATS) as opened,
    ):
        opened.load()
        is_gray = color_mode == "grayscale" and opened.mode in ("L", "I;16", "I")
        picture = opened.copy() if is_gray else opened.convert(_MODES[color_mode])
    if target_size is None:
        return picture
    height, width = target_size
    box = None
    if keep_aspect_ratio:
        across, down = picture.size
        used_across = min(across, (down * width) // height)
        used_down = min(down, (across * height) // width)
        left, top = (across - used_across) // 2, (down - used_down) // 2
        box = (left, top, left + used_across, top + used_down)
    return picture.resize((width, height), ways[interpolation], box)


_RESAMPLING = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def save_img(path: Any, x: Any, data_format: Any = None, file_format: Any = None, scale: bool = True) -> None:
    """Write an array as a picture; the ending of `path` or `file_format` says how."""
    picture = array_to_img(x, data_format, scale)
    if picture.mode == "RGBA" and str(file_format or path).lower().endswith(("jpg", "jpeg")):
        picture = picture.convert("RGB")
    picture.save(path, format=file_format)


__all__ = ["array_to_img", "img_to_array", "load_img", "save_img"]
