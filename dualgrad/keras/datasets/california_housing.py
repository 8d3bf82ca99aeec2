"""Prices of houses in California in 1990, with eight attributes each."""

from __future__ import annotations

from dualgrad.keras.datasets.local_files import Split, archive, shuffled, split

_SMALL = 600


def load_data(
    version: str = "large", path: str = "california_housing.npz", test_split: float = 0.2, seed: int = 113
) -> Split:
    """The attributes, of shape (examples, 8), and the prices.

    Parameters
    ----------
    version : {"large", "small"}
        All examples, or 600 of them.
    path : str
        The file below ``~/.keras/datasets``, or a whole path.
    test_split : float
        Which part is for testing.
    seed : int
        Of the order.
    """
    if version not in ("large", "small"):
        raise ValueError(f'`version` must be "large" or "small", got {version!r}')
    arrays = archive(path, ["x", "y"])
    if version == "small":
        arrays = [a[:_SMALL] for a in arrays]
    x, y = shuffled(arrays, seed)
    return split(x, y, test_split)
