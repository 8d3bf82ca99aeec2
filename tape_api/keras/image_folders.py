"""Data sets of images in folders: ``tf.keras.utils.image_dataset_from_directory``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape_api.library import root as tf

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Any = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    verbose: bool = True,
    **unsupported: Any,
) -> Any:
    """Batches of images, float32 and of one size, with labels that are the numbers of their folders.

    Parameters
    ----------
    directory : str or path
        With a folder for each class.
    labels : {"inferred", None} or sequence of int
        None: images alone; a sequence has one for each file, in the order of their names.
    label_mode : {"int", "categorical", "binary", None}
    class_names : sequence of str, optional
        The folders in the order of their numbers, by default that of their names.
    color_mode : {"rgb", "rgba", "grayscale"}
    batch_size : int, optional
        None: single images.
    image_size : pair of int
    shuffle : bool
        Whether they come in random order, as Keras draws it from `seed`.
    seed : int, optional
    validation_split, subset
        The part kept for validation, and "training", "validation" or "both".
    interpolation : str
        As in ``tf.image.resize``.

    Returns
    -------
    Dataset, or list of two
        With the attributes `class_names` and `file_paths`.

    Raises
    ------
    ValueError
        If there are no images, or an argument is not known.
    """
    if any(unsupported.values()):
        raise ValueError(f"image_dataset_from_directory: arguments {sorted(unsupported)} are not supported")
    if color_mode not in _CHANNELS or label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(f"image_dataset_from_directory: unknown {color_mode=} or {label_mode=}")
    if validation_split and (subset is None or (shuffle and seed is None)):
        raise ValueError(
            "image_dataset_from_directory: `validation_split` needs `subset`, and a `seed` to shuffle with"
        )
    seed = int(np.random.randint(1_000_000)) if seed is None else seed
    paths, numbers, names = _labeled(os.fspath(directory), labels, class_names)
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(f"image_dataset_from_directory: label_mode='binary' needs two classes, there are {names}")
    if verbose:
        sys.stdout.write(f"Found {len(paths)} files belonging to {len(names)} classes.\n")
    if shuffle:
        np.random.RandomState(seed).shuffle(paths)
        np.random.RandomState(seed).shuffle(numbers)
    last = int((validation_split or 0.0) * len(paths))
    cut = len(paths) - last
    parts = {"training": slice(0, cut), "validation": slice(cut, None), None: slice(None)}
    kinds = ["training", "validation"] if subset == "both" else [subset if validation_split else None]
    made = []
    for kind in kinds:
        chosen, own = paths[parts[kind]], numbers[parts[kind]]
        if not chosen:
            raise ValueError(f"image_dataset_from_directory: there are no images in {directory}, or none for {kind}")
        dataset = tf.data.Dataset.from_tensor_slices((np.array(chosen, object), own))
        if shuffle and not (subset == "both" and kind == "validation"):
            dataset = dataset.shuffle((batch_size or 128) * 8, seed=seed)
        mode = None if labels is None else label_mode
        how = mode, len(names), _CHANNELS[color_mode], tuple(image_size), interpolation
        dataset = dataset.map(lambda path, label, how=how: _element(path, label, *how))
        dataset = (dataset if batch_size is None else dataset.batch(batch_size)).prefetch(tf.data.AUTOTUNE)
        dataset.class_names, dataset.file_paths = (None if labels is None else names), chosen
        made.append(dataset)
    return made if subset == "both" else made[0]


def _labeled(root: str, labels: Any, class_names: Sequence[str] | None) -> tuple[list[str], np.ndarray, list[str]]:
    """The files below a folder, their labels, and the names of the classes."""
    folders = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    if class_names is not None and set(class_names) != set(folders):
        raise ValueError(f"image_dataset_from_directory: the folders are {folders}, not {list(class_names)}")
    names = list(class_names or folders)
    within = names if labels == "inferred" else [""]
    found = [(path, i) for i, name in enumerate(within) for path in _images(os.path.join(root, name))]
    paths, numbers = [path for path, _ in found], np.array([i for _, i in found], np.int32)
    if labels is not None and not isinstance(labels, str):
        if len(labels) != len(paths):
            raise ValueError(f"image_dataset_from_directory: {len(labels)} labels for {len(paths)} files")
        numbers, names = np.asarray(labels, np.int32), [str(label) for label in sorted(set(labels))]
    return paths, numbers, names


def _images(folder: str) -> list[str]:
    """The images below a folder, by their names."""
    return [
        os.path.join(where, name)
        for where, _, names in sorted(os.walk(folder))
        for name in sorted(names)
        if name.lower().endswith(_FORMATS)
    ]


def _element(
    path: Any, label: Any, mode: str | None, classes: int, channels: int, size: tuple[int, int], method: str
) -> Any:
    image = tf.image.decode_image(tf.io.read_file(path), channels=channels, expand_animations=False)
    image = tf.image.resize(image, size, method=method)
    image.set_shape((*size, channels))
    if mode is None:
        return image
    if mode == "categorical":
        return image, tf.one_hot(label, classes)
    return image, label if mode == "int" else tf.expand_dims(tf.cast(label, "float32"), -1)


__all__ = ["image_dataset_from_directory"]
