"""Articles of clothing in ten classes: 60,000 images of 28 by 28 pixels to train with, 10,000 to test."""

from __future__ import annotations

import numpy as np

from dualgrad.files import limits
from dualgrad.files.arrays import idx
from dualgrad.keras.datasets.local_files import BASE, Split, fetched


def _array(name: str, rank: int) -> np.ndarray:
    """The array in an IDX file."""
    path = fetched(name, BASE + name, cache_subdir="datasets/fashion-mnist")
    return idx(limits.gunzipped(path, path), rank, path)


def load_data() -> Split:
    """The images, uint8 of shape (examples, 28, 28), and their classes, uint8."""
    x_train, x_test = [_array(f"{which}-images-idx3-ubyte.gz", 3) for which in ("train", "t10k")]
    y_train, y_test = [_array(f"{which}-labels-idx1-ubyte.gz", 1) for which in ("train", "t10k")]
    return (x_train, y_train), (x_test, y_test)
