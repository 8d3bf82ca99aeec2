"""Small color images in a hundred classes: 50,000 of 32 by 32 pixels to train with, 10,000 to test."""

from __future__ import annotations

from dualgrad.keras.datasets.local_files import Split, image_batch, unpacked

_DIGEST = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


def load_data(label_mode: str = "fine") -> Split:
    """The images, uint8 of shape (examples, 32, 32, 3), and their classes, uint8 of shape (examples, 1).

    Parameters
    ----------
    label_mode : {"fine", "coarse"}
        Whether classes are the hundred, or the twenty groups that they belong to.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be "fine" or "coarse", got {label_mode!r}')
    folder = unpacked("cifar-100", "cifar-100-python", _DIGEST)
    return image_batch(folder / "train", f"{label_mode}_labels"), image_batch(folder / "test", f"{label_mode}_labels")
