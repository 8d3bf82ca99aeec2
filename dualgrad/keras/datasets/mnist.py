"""Handwritten digits: 60,000 images of 28 by 28 pixels to train with, 10,000 to test."""

from __future__ import annotations

from dualgrad.keras.datasets.local_files import Split, archive

_DIGEST = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_data(path: str = "mnist.npz") -> Split:
    """The images, uint8 of shape (examples, 28, 28), and their digits, uint8.

    Parameters
    ----------
    path : str
        The file below ``~/.keras/datasets``, or a whole path.
    """
    x_train, y_train, x_test, y_test = archive(path, ["x_train", "y_train", "x_test", "y_test"], _DIGEST)
    return (x_train, y_train), (x_test, y_test)
