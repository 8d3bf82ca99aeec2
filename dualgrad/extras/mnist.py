"""The handwritten digits of ``tf.examples.tutorials.mnist.input_data``, read from files that are here already."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files import limits
from dualgrad.files.arrays import idx
from dualgrad.frontend.seeds import program_seed
from engine.core.dtypes import as_dtype, float32, uint8
from engine.runtime.faces import Shown

SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FILES = {
    "train images": "train-images-idx3-ubyte.gz",
    "train labels": "train-labels-idx1-ubyte.gz",
    "test images": "t10k-images-idx3-ubyte.gz",
    "test labels": "t10k-labels-idx1-ubyte.gz",
}
CLASSES = 10


class DataSet(Shown):
    """Images and labels, handed out in batches.

    Parameters
    ----------
    images : ndarray of uint8, shape (examples, rows, columns, 1)
    labels : ndarray, shape (examples,) or (examples, 10)
    fake_data, one_hot : bool
        Whether batches are made up, and their labels vectors.
    dtype : DType
        float32 maps pixels from 0 to 255 to 0 to 1; uint8 keeps them.
    reshape : bool
        Whether images become vectors.
    seed : int, optional
        Of NumPy's global random numbers, which shuffle the examples; by default that of the graph, as in TensorFlow, or
        on tapes that of ``tf.random.set_seed``.

    Attributes
    ----------
    images, labels : ndarray
        In the order of this epoch.
    epochs_completed : int
        How often all have been handed out.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        np.random.seed(program_seed() if seed is None else seed)
        dtype = as_dtype(dtype)
        if dtype not in (uint8, float32):
            raise TypeError(f"DataSet: dtype must be uint8 or float32, not {dtype.name}")
        self._fake, self._one_hot = fake_data, one_hot
        if fake_data:
            images = labels = np.zeros([10000, 0])
        elif len(images) != len(labels):
            raise ValueError(f"DataSet: there are {len(images)} images and {len(labels)} labels")
        elif reshape:
            images = images.reshape(len(images), -1)
        if dtype == float32 and not fake_data:
            images = np.multiply(images.astype(np.float32), np.float32(1.0 / 255.0))
        self.images, self.labels = images, labels
        self.epochs_completed = self._index_in_epoch = 0

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return len(self.images)

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next examples; at the end of an epoch its rest and the beginning of the next one.

        Parameters
        ----------
        batch_size : int
        fake_data : bool
            Give images of ones, labeled 0.
        shuffle : bool
            Whether each epoch has another order.

        Returns
        -------
        images, labels : ndarray, of `batch_size` rows
        """
        if fake_data or self._fake:
            label = np.eye(CLASSES, dtype=int)[0] if self._one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if shuffle and self.epochs_completed == 0 and start == 0:
            self._shuffle()
        end = start + batch_size
        if end <= self.num_examples:
            self._index_in_epoch = end
            return self.images[start:end], self.labels[start:end]
        self.epochs_completed += 1
        rest = self.images[start:], self.labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end - self.num_examples
        new = self.images[: self._index_in_epoch], self.labels[: self._index_in_epoch]
        return np.concatenate([rest[0], new[0]]), np.concatenate([rest[1], new[1]])

    def _shuffle(self) -> None:
        order = np.arange(self.num_examples)
        np.random.shuffle(order)
        self.images, self.labels = self.images[order], self.labels[order]


class Datasets(NamedTuple):
    """The three parts."""

    train: DataSet
    validation: DataSet
    test: DataSet


def _open(folder: Path, what: str) -> bytes:
    """The content of a file, unpacked if it is packed."""
    name = FILES[what]
    packed, plain = folder / name, folder / name.removesuffix(".gz")
    if packed.is_file():
        with packed.open("rb") as file:
            return limits.gunzipped(file, packed)
    if plain.is_file():
        return plain.read_bytes()
    raise FileNotFoundError(
        f"read_data_sets: there is no {packed}. Nothing is downloaded: put {', '.join(FILES.values())} there; "
        f"they are at {SOURCE_URL}"
    )


def extract_images(f: Any) -> np.ndarray:
    """The images of an open packed file: uint8, of shape (examples, rows, columns, 1)."""
    return idx(limits.gunzipped(f, f.name), 3, f.name)[..., None]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = CLASSES) -> np.ndarray:
    """The labels of an open packed file: uint8 of shape (examples,), or float64 of shape (examples, classes)."""
    labels = idx(limits.gunzipped(f, f.name), 1, f.name)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> np.ndarray:
    """Vectors with a 1 where the label says."""
    return np.eye(num_classes)[labels_dense]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = SOURCE_URL,
) -> Datasets:
    """The handwritten digits of MNIST, from the four files in a folder.

    Parameters
    ----------
    train_dir : str
        The folder, as programs name it: ``"MNIST_data/"``.
    fake_data, one_hot, dtype, reshape, seed
        As `DataSet` takes them.
    validation_size : int
        How many of the examples for training become those for validation.
    source_url : str
        Not used: nothing is downloaded.

    Returns
    -------
    Datasets
        ``train``, ``validation`` and ``test``.

    Raises
    ------
    FileNotFoundError
        If a file is not there, saying where to put it.
    ValueError
        If a file is damaged, or there are fewer examples than `validation_size`.
    """

    def part(images: Any, labels: Any) -> DataSet:
        return DataSet(images, labels, fake_data, one_hot, dtype, reshape, seed)

    if fake_data:
        return Datasets(*(part([], []) for _ in range(3)))
    folder = Path(train_dir)
    images, labels = [], []
    for which in ("train", "test"):
        images.append(idx(_open(folder, f"{which} images"), 3, FILES[f"{which} images"])[..., None])
        labels.append(idx(_open(folder, f"{which} labels"), 1, FILES[f"{which} labels"]))
    if one_hot:
        labels = [dense_to_one_hot(numbers, CLASSES) for numbers in labels]
    if not 0 <= validation_size <= len(images[0]):
        raise ValueError(f"Validation size should be between 0 and {len(images[0])}. Received: {validation_size}.")
    return Datasets(
        part(images[0][validation_size:], labels[0][validation_size:]),
        part(images[0][:validation_size], labels[0][:validation_size]),
        part(images[1], labels[1]),
    )


__all__ = [
    "SOURCE_URL",
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "read_data_sets",
]  # fmt: skip
