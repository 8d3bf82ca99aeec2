"""Prices of houses in Boston in the 1970s, with thirteen attributes each."""

from __future__ import annotations

from dualgrad.keras.datasets.local_files import Split, archive, shuffled, split

_DIGEST = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Split:
    """The attributes, float64 of shape (examples, 13), and the prices in thousands of dollars.

    Parameters
    ----------
    path : str
        The file below ``~/.keras/datasets``, or a whole path.
    test_split : float
        Which part is for testing.
    seed : int
        Of the order.
    """
    x, y = shuffled(archive(path, ["x", "y"], _DIGEST), seed)
    return split(x, y, test_split)
