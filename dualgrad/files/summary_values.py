"""Arrays in event files: scalars, histograms, images, sound and text, as TensorFlow encodes them."""

from __future__ import annotations

import functools
import struct
import sys
import zlib
from typing import Any

import numpy as np

from dualgrad.files.protos import HistogramProto, PluginData, SummaryAudio, SummaryImage, SummaryMetadata, SummaryValue
from dualgrad.files.tensors import tensor_proto
from engine.runtime.errors import InvalidArgumentError

# ---- histograms ------------------------------------------------------------------------------------------------------


@functools.cache
def _limits() -> np.ndarray:
    """The upper limits of the buckets: they grow by a tenth."""
    positive, value = [], 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    positive.append(sys.float_info.max)
    return np.array([*[-v for v in reversed(positive)], 0.0, *positive])


def histogram(values: Any, tag: str = "") -> HistogramProto:
    """How values are distributed.

    Raises
    ------
    InvalidArgumentError
        If one is not finite.

    Examples
    --------
    >>> made = histogram(np.array([1.0, 1.0, 3.0]))
    >>> made.num, made.sum, made.sum_squares, made.bucket
    (3.0, 5.0, 11.0, [0.0, 2.0, 0.0, 1.0, 0.0])
    """
    x = np.asarray(values, np.float64).ravel()
    if not np.isfinite(x).all():
        kind = "Nan" if np.isnan(x).any() else "Infinity"
        raise InvalidArgumentError(f"{kind} in summary histogram for: {tag}")
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, x, side="right"), minlength=len(limits))[: len(limits)]
    kept_limits: list[float] = []
    kept: list[float] = []
    for i in _ends_of_runs(counts):
        kept_limits.append(limits[i])
        kept.append(counts[i])
    return HistogramProto(
        min=x.min() if x.size else sys.float_info.max,
        max=x.max() if x.size else -sys.float_info.max,
        num=x.size,
        sum=x.sum(),
        sum_squares=(x * x).sum(),
        bucket_limit=kept_limits,
        bucket=kept,
    )


def _ends_of_runs(counts: np.ndarray) -> np.ndarray:
    """The buckets that are not empty, and the last one of each run of empty ones."""
    empty = counts == 0
    inside = empty & np.append(empty[1:], False)
    return np.flatnonzero(~inside)


def histogram_rows(values: Any, buckets: int = 30) -> np.ndarray:
    """The histogram of TensorFlow 2: rows of left edge, right edge and count, between the extremes."""
    x = np.asarray(values, np.float64).ravel()
    if not buckets or not x.size:
        return np.zeros((0, 3) if not buckets else (buckets, 3))
    low, high = x.min(), x.max()
    if low == high:
        rows = np.tile([low, high, 0.0], (buckets, 1))
        rows[-1, 2] = x.size
        return rows
    width = (high - low) / buckets
    index = np.minimum(np.floor((x - low) / width).astype(np.int64), buckets - 1)
    edges = np.linspace(low, high, buckets + 1)
    return np.stack([edges[:-1], edges[1:], np.bincount(index, minlength=buckets)], axis=1).astype(np.float64)


# ---- images ----------------------------------------------------------------------------------------------------------

_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def png(pixels: Any) -> bytes:
    """An image of shape (height, width, channels), of 8 or 16 bits, as a PNG file.

    Raises
    ------
    InvalidArgumentError
        If it has not one to four channels.
    """
    image = np.asarray(pixels)
    if image.ndim != 3 or image.shape[2] not in _COLOR_TYPES or image.dtype not in (np.uint8, np.uint16):
        raise InvalidArgumentError(
            f"encode_png: an image must be of shape (height, width, 1 to 4) and of dtype uint8 or uint16, got "
            f"{image.dtype}{image.shape}"
        )
    height, width, channels = image.shape
    depth = image.dtype.itemsize
    raw = np.ascontiguousarray(image.astype(">u2") if depth == 2 else image).view(np.uint8).reshape(height, -1)
    rows = np.zeros((height, raw.shape[1] + 1), np.uint8)
    rows[:, 1:] = raw
    head = struct.pack(">IIBBBBB", width, height, 8 * depth, _COLOR_TYPES[channels], 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def pixels(image: np.ndarray) -> np.ndarray:
    """An image in 8 bits, as TensorFlow 1 scales them: to the largest value, or with zero in the middle.

    What is not finite becomes red.
    """
    if image.dtype == np.uint8:
        return image
    finite = np.isfinite(image)
    low, high = (image[finite].min(), image[finite].max()) if finite.any() else (0.0, 0.0)
    largest = max(abs(low), abs(high)) if low < 0 else high
    full, offset = (127.0, 128.0) if low < 0 else (255.0, 0.0)
    scale = 0.0 if largest < 1e-6 else full / largest
    scaled = np.where(finite, image, 0).astype(image.dtype) * image.dtype.type(scale) + image.dtype.type(offset)
    out = scaled.astype(np.uint8)
    bad = ~finite.all(axis=2)
    out[bad] = np.array([255, 0, 0, 255], np.uint8)[: image.shape[2]]
    return out


def images(tag: str, batch: Any, most: int) -> list[SummaryValue]:
    """The first images of a batch of shape (size, height, width, channels)."""
    batch = np.asarray(batch)
    if batch.ndim != 4 or batch.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(batch.shape)} (summary image {tag!r})"
        )
    values = []
    for i, image in enumerate(batch[:most]):
        height, width, channels = image.shape
        made = SummaryImage(
            height=height, width=width, colorspace=channels, encoded_image_string=png(pixels(image))
        )  # fmt: skip
        values.append(SummaryValue(tag=_numbered(f"{tag}/image", i, most), image=made))
    return values


def _numbered(tag: str, i: int, most: int) -> str:
    return tag if most == 1 else f"{tag}/{i}"


# ---- sound -----------------------------------------------------------------------------------------------------------


def wav(samples: Any, rate: float) -> bytes:
    """Sound of shape (frames, channels), between -1 and 1, as a WAV file of 16 bits."""
    sound = np.asarray(samples, np.float32)
    whole = np.clip(np.round(sound * np.float32(32768)), -32768, 32767).astype("<i2").tobytes()
    channels = sound.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, int(rate), int(rate) * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(whole)) + whole
    return b"RIFF" + struct.pack("<I", len(body)) + body


def sounds(tag: str, batch: Any, rate: float, most: int) -> list[SummaryValue]:
    """The first sounds of a batch of shape (size, frames) or (size, frames, channels)."""
    batch = np.asarray(batch, np.float32)
    if batch.ndim == 2:
        batch = batch[:, :, None]
    if batch.ndim != 3:
        raise InvalidArgumentError(f"Tensor must be 3-D or 2-D, got: {list(batch.shape)} (summary audio {tag!r})")
    return [
        SummaryValue(
            tag=_numbered(f"{tag}/audio", i, most),
            audio=SummaryAudio(
                sample_rate=rate,
                num_channels=sound.shape[1],
                length_frames=sound.shape[0],
                encoded_audio_string=wav(sound, rate),
                content_type="audio/wav",
            ),
        )
        for i, sound in enumerate(batch[:most])
    ]


# ---- tensors ---------------------------------------------------------------------------------------------------------


def metadata(plugin: str, description: str | None = None) -> SummaryMetadata:
    """Which plugin of TensorBoard shows a tensor."""
    return SummaryMetadata(plugin_data=PluginData(plugin_name=plugin), summary_description=description or "")


def tensor_value(tag: str, array: Any, about: SummaryMetadata | None = None) -> SummaryValue:
    """A tensor under a tag."""
    return SummaryValue(tag=tag, tensor=tensor_proto(array), metadata=about)


def text_value(tag: str, strings: np.ndarray, description: str | None = None) -> SummaryValue:
    """Text under a tag."""
    return tensor_value(tag, strings, metadata("text", description))
