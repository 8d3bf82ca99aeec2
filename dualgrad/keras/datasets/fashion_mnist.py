"""Articles of clothing in ten classes: 60,000 images of 28 by 28 pixels to train with, 10,000 to test."""

from __future__ import annotations

import gzip

import numpy as np

from dualgrad.files import limits
from dualgrad.keras.datasets.local_files import BASE, Split, fetched
from engine.runtime.errors import DataLossError


def _array(name: str, rank: int) -> np.ndarray:
    """The array in an IDX file."""
    path = fetched(name, BASE + name, cache_subdir="datasets/fashion-mnist")
    with limits.damage(path), gzip.open(path) as file:
        data = file.read(limits.most_bytes(path) + 1)
        limits.require(len(data), path, "what it unpacks to")
        header = np.frombuffer(data, ">u4", rank + 1)
        if header[0] != 2048 + rank:
            raise DataLossError(f"{path} is no IDX file of rank {rank}")
        return np.frombuffer(data, np.uint8, offset=4 * (rank + 1)).reshape(header[1:].tolist())


def load_data() -> Split:
    """The images, uint8 of shape (examples, 28, 28), and their classes, uint8."""
    x_train, x_test = [_array(f"{which}-images-idx3-ubyte.gz", 3) for which in ("train", "t10k")]
    y_train, y_test = [_array(f"{which}-labels-idx1-ubyte.gz", 1) for which in ("train", "t10k")]
    return (x_train, y_train), (x_test, y_test)
