"""Files and pictures as tensors: ``io.read_file``, ``image.decode_png`` and its like."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from dualgrad.files.pictures import FORMATS, pillow
from dualgrad.files.summary_values import png
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.detach import effect
from engine.core.dtypes import as_dtype, float32, string, uint8, uint16
from engine.core.operands import Operand, operands
from engine.core.value import shape_of
from engine.ops.compare import cast
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotFoundError, ShapeError, UnimplementedError

_one_by_one = refused("files cannot be vectorized; read them one at a time")


def _a_string(name: str, x: Aval) -> None:
    if x.dtype is not string or x.shape not in (None, ()):
        raise DTypeError(f"{name}: must be given one string, got {x}")


def _read_abstract(filename: Aval) -> Aval:
    _a_string("read_file", filename)
    return Aval((), string)


@host_op("ReadFile", _read_abstract, args=("filename",), batch=_one_by_one, stateful=True)
def read_file_op(filename: Any) -> np.ndarray:
    """The contents of files."""
    path = os.fsdecode(filename.item())
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise NotFoundError(f"read_file: {path}; {error.strerror}") from None
    return np.array(data, object)


@operands("filename")
def read_file(filename: Any) -> Operand:
    """Read a file, as a string.

    Raises
    ------
    NotFoundError
        If it cannot be read.
    """
    effect("it reads a file")
    return read_file_op(filename)


_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_LIBPNG_GRAY = np.array([9797, 19234, 3737])
"""The weights 0.299, 0.587 and 0.114 of red, green and blue, in units of 2⁻¹⁵."""


def _decode_abstract(contents: Aval, *, channels: int) -> Aval:
    _a_string("decode_image", contents)
    return Aval((None, None, channels or None), uint8)


@host_op("DecodeImage", _decode_abstract, args=("contents",), batch=_one_by_one)
def decode_image_op(contents: Any, *, channels: int) -> np.ndarray:
    """The pixels of a picture."""
    image = pillow("decode_image")
    try:
        picture = image.open(io.BytesIO(contents.item()), formats=FORMATS)
        picture.load()
    except (OSError, SyntaxError, ValueError, EOFError, image.DecompressionBombError) as error:
        raise InvalidArgumentError(f"decode_image: the contents are no picture that can be read: {error}") from None
    if picture.format == "GIF" or picture.mode.startswith(("I", "F")):
        raise UnimplementedError(
            f"decode_image: {picture.format} pictures of mode {picture.mode} are not supported, only PNG of 8 bits, "
            f"JPEG and BMP; read others with Pillow and feed the array"
        )
    has_alpha = "A" in picture.mode or "transparency" in picture.info
    count = channels or (1 if picture.mode in ("1", "L") else 4 if has_alpha else 3)
    if count == 1 and picture.format == "PNG" and picture.mode in ("RGB", "RGBA", "P"):
        # as libpng does it: rounded down, which Pillow does not
        colors = np.asarray(picture.convert("RGB"), np.int64) @ _LIBPNG_GRAY >> 15
        return colors[..., None].astype(np.uint8)
    return np.asarray(picture.convert(_MODES[count]), np.uint8).reshape(picture.height, picture.width, count)


@operands("contents")
def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8) -> Operand:
    """The pixels of a PNG, JPEG or BMP picture, read by Pillow.

    Parameters
    ----------
    contents : string scalar
        What is in the file.
    channels : {0, 1, 3, 4}
        Gray, colors, colors and opacity; 0: as in the file.
    dtype : {uint8}

    Returns
    -------
    value, shape (height, width, channels)
    """
    if channels not in (0, *_MODES):
        raise ValueError(f"decode_image: argument `channels` must be 0, 1, 3 or 4, got {channels!r}")
    if as_dtype(dtype) is not uint8:
        raise DTypeError(f"decode_image: argument `dtype` must be uint8, got {dtype!r}; cast the result")
    return decode_image_op(contents, channels=int(channels))


@operands("contents")
def decode_jpeg(
    contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "",
) -> Operand:  # fmt: skip
    """The same of a JPEG picture. Pillow may round other than TensorFlow does, by 1 or so."""
    if ratio != 1 or try_recover_truncated:
        raise UnimplementedError("decode_jpeg: `ratio` and `try_recover_truncated` are not supported: leave them out")
    return decode_png(contents, channels)


@operands("contents")
def decode_image(contents: Any, channels: int = 0, dtype: Any = uint8, expand_animations: bool = True) -> Operand:
    """The same of any of these pictures; as float32, from 0 to 1."""
    pixels = decode_png(contents, channels)
    if as_dtype(dtype) is uint8:
        return pixels
    if as_dtype(dtype) is not float32:
        raise DTypeError(f"decode_image: argument `dtype` must be uint8 or float32, got {dtype!r}")
    return cast(pixels, float32) * np.float32(1 / 255)


def _encode_abstract(image: Aval) -> Aval:
    if image.dtype not in (uint8, uint16):
        raise DTypeError(f"encode_png: argument `image` must be of dtype uint8 or uint16, got {image}")
    if image.shape is not None and (len(image.shape) < 3 or image.shape[-1] not in (None, 1, 2, 3, 4)):
        raise ShapeError(f"encode_png: argument `image` must be of shape (..., height, width, 1 to 4), got {image}")
    return Aval(None if image.shape is None else image.shape[:-3], string)


@host_op("EncodePng", _encode_abstract, args=("image",), batch=_one_by_one)
def encode_png_op(image: Any) -> np.ndarray:
    """Pictures as PNG files."""
    flat = image.reshape(-1, *image.shape[-3:])
    return np.array([png(pixels) for pixels in flat], object).reshape(image.shape[:-3])


@operands("image")
def encode_png(image: Any, compression: int = -1) -> Operand:
    r"""Pixels as the contents of a PNG file.

    Parameters
    ----------
    image : uint8 or uint16 value, shape (..., height, width, channels)
        Of one to four channels: gray, gray and opacity, colors, colors and opacity.
    compression : int
        From 0 (none) to 9; -1: as usual. Accepted for compatibility: all files hold the same pixels.

    Returns
    -------
    string value, shape (...)

    Examples
    --------
    >>> encode_png(np.zeros((2, 2, 1), np.uint8)).item()[1:4]
    b'PNG'
    """
    if compression not in range(-1, 10):
        raise InvalidArgumentError(f"encode_png: argument `compression` must be from -1 to 9, got {compression!r}")
    return encode_png_op(image)


_UNITS = {"in": 1, "cm": 2}


def _jpeg_abstract(image: Aval, **_: Any) -> Aval:
    if image.dtype is not uint8:
        raise DTypeError(f"encode_jpeg: argument `image` must be of dtype uint8, got {image}")
    if image.shape is not None and len(image.shape) != 3:
        raise InvalidArgumentError(f"encode_jpeg: image must be 3-dimensional, got {image}")
    if image.shape is not None and image.shape[-1] not in (None, 1, 3):
        raise InvalidArgumentError(f"encode_jpeg: image must have 1 or 3 channels, got {list(image.shape)}")
    return Aval((), string)


@host_op("EncodeJpeg", _jpeg_abstract, args=("image",), batch=_one_by_one)
def encode_jpeg_op(
    image: Any, *, quality: int, progressive: bool, optimize_size: bool, chroma_downsampling: bool, density: bytes,
    xmp: bytes,
) -> np.ndarray:  # fmt: skip
    """A picture as a JPEG file."""
    file = io.BytesIO()
    picture = pillow("encode_jpeg").fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    halved = {} if image.shape[-1] == 1 else {"subsampling": "4:2:0" if chroma_downsampling else "4:4:4"}
    picture.save(file, "JPEG", quality=quality, progressive=progressive, optimize=optimize_size, **halved)
    data = file.getvalue()
    # the first segment is JFIF's, of 18 bytes after the two of the file's mark; its bytes 11 to 16 say the density
    meta = b""
    if xmp:
        body = b"http://ns.adobe.com/xap/1.0/\0" + xmp
        meta = b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body
    return np.array(data[:13] + density + data[18:20] + meta + data[20:], object)


@operands("image")
def encode_jpeg(
    image: Any, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "",
) -> Operand:  # fmt: skip
    """Pixels as the contents of a JPEG file, written by Pillow.

    Parameters
    ----------
    image : uint8 value, shape (height, width, 1 or 3)
    format : {"", "grayscale", "rgb"}
        What the image must be.
    quality : int
        From 0 to 100.
    progressive, optimize_size, chroma_downsampling : bool
        Whether it is loaded in several passes, its codes are chosen for it, and colors have half the resolution.
    density_unit : {"in", "cm"}
    x_density, y_density : int
        Pixels per unit, as the file says them.
    xmp_metadata : str
        Kept in the file.

    Returns
    -------
    string scalar

    Raises
    ------
    InvalidArgumentError
        If the image has another shape, or an argument is out of range.
    """
    shape, channels = shape_of(image), {"": None, "grayscale": 1, "rgb": 3}
    if format not in channels:
        raise InvalidArgumentError(f"encode_jpeg: argument `format` must be one of {list(channels)}, got {format!r}")
    if format and shape is not None and len(shape) == 3 and shape[2] not in (None, channels[format]):
        raise InvalidArgumentError(
            f"encode_jpeg: format {format} expects {channels[format]} channels, got {list(shape)}"
        )
    if quality not in range(101):
        raise InvalidArgumentError(f"encode_jpeg: quality must be in [0,100], got {quality}")
    if density_unit not in _UNITS or not (0 < x_density < 65536 and 0 < y_density < 65536):
        raise InvalidArgumentError("encode_jpeg: the density must be in 'in' or 'cm', from 1 to 65535")
    xmp = xmp_metadata if isinstance(xmp_metadata, bytes) else xmp_metadata.encode()
    if len(xmp) > 65_000:
        raise InvalidArgumentError(f"encode_jpeg: `xmp_metadata` of {len(xmp)} bytes does not fit into a segment")
    density = bytes([_UNITS[density_unit]]) + x_density.to_bytes(2, "big") + y_density.to_bytes(2, "big")
    return encode_jpeg_op(
        image, quality=int(quality), progressive=bool(progressive), optimize_size=bool(optimize_size),
        chroma_downsampling=bool(chroma_downsampling), density=density, xmp=xmp,
    )  # fmt: skip
