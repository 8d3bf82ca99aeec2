"""Small color images in ten classes: 50,000 of 32 by 32 pixels to train with, 10,000 to test."""

from __future__ import annotations

import numpy as np

from dualgrad.keras.datasets.local_files import Split, image_batch, unpacked

_DIGEST = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"


def load_data() -> Split:
    """The images, uint8 of shape (examples, 32, 32, 3), and their classes, uint8 of shape (examples, 1)."""
    folder = unpacked("cifar-10", "cifar-10-batches-py", _DIGEST)
    parts = [image_batch(folder / f"data_batch_{i}", "labels") for i in range(1, 6)]
    x_train, y_train = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return (x_train, y_train), image_batch(folder / "test_batch", "labels")
