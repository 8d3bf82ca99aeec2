"""Files of the loaders: where they are, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import arrays, limits
from dualgrad.keras.downloads import get_file, keras_home, matches

BASE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

Split = tuple[tuple[Any, Any], tuple[Any, Any]]
"""``(x_train, y_train), (x_test, y_test)``."""


def fetched(path: str, origin: str, digest: str | None = None, **where: Any) -> str:
    """The path of a file of a data set. One that is there is taken as it is; one that is downloaded must hash right."""
    file = Path(path)
    if file.is_absolute() and file.exists():
        return str(file)
    there = keras_home() / where.get("cache_subdir", "datasets") / file.name
    return str(there) if there.exists() else get_file(file.name, origin, file_hash=digest, **where)


def archive(path: str, names: Sequence[str], digest: str | None = None) -> list[Any]:
    """Some arrays of an ``.npz`` file of Keras's, of numbers or of lists of numbers. Nothing else is unpickled.

    Raises
    ------
    DataLossError
        If one of them is not in it, or it is damaged or larger than its limit (`dualgrad.files.limits`).
    """
    file = fetched(path, BASE + Path(path).name, digest)
    return arrays.npz(file, names, trusted=digest is not None and matches(Path(file), digest))


def word_index(path: str) -> dict[str, int]:
    """The numbers of words."""
    file = fetched(path, BASE + Path(path).name)
    with limits.damage(file):
        index: dict[str, int] = json.loads(Path(file).read_text(encoding="utf-8"))
        return index


def image_batch(path: Path, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of a file of CIFAR: of shapes (examples, 32, 32, 3) and (examples, 1), uint8."""
    with limits.damage(path), open(path, "rb") as file:
        held = {k.decode(): v for k, v in arrays.pickled(file).items()}
        images = np.asarray(held["data"], np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), np.asarray(held[labels], np.uint8).reshape(-1, 1)


def shuffled(given: Sequence[Any], seed: int) -> list[Any]:
    """Arrays in one random order."""
    order = np.arange(len(given[0]))
    np.random.RandomState(seed).shuffle(order)
    return [a[order] for a in given]


def split(x: Any, y: Any, test_split: float) -> Split:
    """The last part apart."""
    if not 0 <= test_split < 1:
        raise ValueError(f"`test_split` must be at least 0 and less than 1, got {test_split}")
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def sequences(
    xs: Any, start_char: int | None, oov_char: int | None, index_from: int | None, num_words: int | None, skip_top: int
) -> list[Any]:
    """Texts as lists of numbers of words, with a mark at the start, and one for what is left out."""
    shift = index_from or 0
    begin = [] if start_char is None else [start_char]
    texts = [[*begin, *[w + shift for w in x]] for x in xs]
    # without a limit the highest number falls out too: so Keras has it
    limit = num_words or max((max(x, default=0) for x in texts), default=0)
    if oov_char is not None:
        return [[w if skip_top <= w < limit else oov_char for w in x] for x in texts]
    return [[w for w in x if skip_top <= w < limit] for x in texts]


def ragged(texts: Sequence[Any]) -> np.ndarray:
    """Lists of any lengths as an array of objects."""
    return np.fromiter(texts, object, len(texts))  # `np.array` would make rows of lists of one length


def unpacked(archive: str, folder: str, digest: str) -> Path:
    """Where the files of CIFAR's archive are: beside it, or as older versions of Keras unpacked them."""
    older = keras_home() / "datasets" / folder
    if older.is_dir():
        return older
    origin = f"https://www.cs.toronto.edu/~kriz/{archive}-python.tar.gz"
    return Path(get_file(f"{folder}-target", origin, extract=True, file_hash=digest)) / folder
