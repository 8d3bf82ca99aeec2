"""``tf.data.experimental``: that of both front ends (`dualgrad.data.experimental`), and data sets of CSV files."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.data import experimental
from dualgrad.data.csv import _fields as fields_of
from dualgrad.data.csv import decode_csv
from dualgrad.data.experimental import *  # noqa: F403
from dualgrad.files.records import opened
from engine.core.dtypes import DType, as_dtype, float32, float64, int32, int64, string
from engine.core.eager import EagerTensor
from engine.runtime.errors import InvalidArgumentError
from tape_api.library import root as tf

_KINDS = (int32, int64, float32, float64, string)


def _files(pattern: Any, shuffle: bool) -> list[str]:
    patterns = list(pattern) if isinstance(pattern, (list, tuple)) else [pattern]
    if not patterns:
        raise ValueError("Argument `file_pattern` should not be empty.")
    found = [name for p in patterns for name in glob.glob(p)]
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return found if shuffle else sorted(found)


def _lines(path: str, compression: Any, encoding: str) -> Iterator[bytes]:
    """The lines of a file in UTF-8; a quoted field may hold ends of lines."""
    with opened(path, compression) as file:
        held = b""
        for line in file:
            held += line
            if held.count(b'"') % 2 == 0:
                text = held.rstrip(b"\r\n")
                yield text if encoding == "utf-8" else text.decode(encoding).encode()
                held = b""
        if held:
            yield held.rstrip(b"\r\n")


def _kind(text: str, before: DType | None, na_value: str) -> DType | None:
    """The narrowest dtype that a field can have, not narrower than that of the fields before it."""
    if text in ("", na_value):
        return before
    allowed = _KINDS[0 if before is None else _KINDS.index(before) :]
    for dtype in allowed:
        if dtype is string:
            return dtype
        try:
            limits = np.iinfo(dtype.numpy) if dtype in (int32, int64) else np.finfo(dtype.numpy)
            value = int(text) if dtype in (int32, int64) else float(text)
        except ValueError:
            continue
        inside = limits.min <= value <= limits.max if dtype in (int32, int64) else limits.min < value < limits.max
        if inside:
            return dtype
    return string


def _inferred(
    files: Sequence[str], read: Callable[[str], Iterator[list[str]]], count: int, chosen: Sequence[int], header: bool,
    na_value: str, rows: int | None,
) -> list[DType]:  # fmt: skip
    """The dtypes of columns, by the first rows of the files."""
    kinds: list[DType | None] = [None] * len(chosen)
    seen = 0
    for path in files:
        for number, fields in enumerate(read(path)):
            if header and number == 0:
                continue
            if len(fields) != count:
                raise ValueError(
                    f"Problem inferring types: CSV row {number + 1} has {len(fields)} number of fields. Expected: "
                    f"{count}."
                )
            kinds = [_kind(fields[i], kind, na_value) for i, kind in zip(chosen, kinds, strict=True)]
            seen += 1
            if rows is not None and seen >= rows:
                return [kind or string for kind in kinds]
    return [kind or string for kind in kinds]


def _chosen(select: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    """The numbers of the columns that are taken, ascending."""
    if select is None:
        return list(range(len(names)))
    places = []
    for column in select:
        if isinstance(column, str) and column not in names:
            raise ValueError(
                f"Column {column} specified in `select_columns` must be of one of the columns: {list(names)}."
            )
        place = names.index(column) if isinstance(column, str) else int(column)
        if not 0 <= place < len(names):
            raise ValueError(f"Column index {column} specified in `select_columns` must be between 0 and {len(names)}.")
        places.append(place)
    if len(set(places)) != len(places):
        raise ValueError(f"`select_columns` contains duplicate columns: {list(select)}")
    return sorted(places)


def _names(files: Sequence[str], read: Callable[[str], Iterator[list[str]]], header: bool) -> list[str]:
    """The names of the columns, as the first lines of all files say them."""
    if not header:
        raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
    names = next(read(files[0]), [])
    for path in files[1:]:
        if next(read(path), []) != names:
            raise ValueError(
                f"All input CSV files should have the same column names in the header row. File {path} has different "
                f"column names."
            )
    return names


def _labeled(names: Sequence[str], label: str | None) -> Callable[..., Any]:
    """A function of columns that gives them by their names, and apart from them the label, if there is one."""

    def call(*columns: Any) -> Any:
        features = dict(zip(names, columns, strict=True))
        return features if label is None else (features, features.pop(label))

    return call


def make_csv_dataset(
    file_pattern: Any, batch_size: int, column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
    select_columns: Sequence[Any] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", header: bool = True, num_epochs: int | None = None, shuffle: bool = True,
    shuffle_buffer_size: int = 10000, shuffle_seed: int | None = None, prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
    compression_type: Any = None, ignore_errors: bool = False, encoding: str = "utf-8",
) -> Any:  # fmt: skip
    """Batches of the rows of CSV files, as dicts of columns.

    Parameters
    ----------
    file_pattern : str or list of str
        Names of files, in which ``*`` stands for anything.
    batch_size : int
    column_names : list of str, optional
        By default those in the first line of the files.
    column_defaults : list, optional
        For each column that is taken a dtype, if it must not be empty, or what stands for an empty field. By default
        dtypes are found in the first rows: int32, int64, float32, float64, or string.
    label_name : str, optional
        The column that is apart from the others: elements are then pairs.
    select_columns : list of str or int, optional
    field_delim, use_quote_delim, na_value
        As in `io.decode_csv`.
    header : bool
        Whether the first line of each file names the columns.
    num_epochs : int, optional
        How often all rows come; by default for ever.
    shuffle, shuffle_buffer_size, shuffle_seed
        Whether the files and the rows come in random order.
    prefetch_buffer_size, num_parallel_reads, sloppy
        Accepted for compatibility: files are read one after the other.
    num_rows_for_inference : int, optional
        In how many rows dtypes are looked for; None: in all.
    compression_type : {None, "", "GZIP", "ZLIB"}
    ignore_errors : bool
        Whether rows that cannot be read are left out.
    encoding : str

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If there are no such files or columns, or the files differ in their first lines.
    """
    files = _files(file_pattern, shuffle)
    delim = field_delim.encode()

    def read(path: str) -> Iterator[list[str]]:
        lines = _lines(path, compression_type, encoding)
        return ([field.decode() for field in fields_of(line, delim, use_quote_delim)] for line in lines)

    names = _names(files, read, header) if column_names is None else list(column_names)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"Either `column_names` argument or CSV header row contains duplicate column names: {twice}.")
    places = _chosen(select_columns, names)
    taken = [names[i] for i in places]
    if column_defaults is None:
        defaults: list[Any] = _inferred(files, read, len(names), places, header, na_value, num_rows_for_inference)
    else:
        defaults = list(column_defaults)
    if label_name is not None and label_name not in taken:
        raise ValueError(f"`label_name` provided must be one of the columns: {taken}. Received: {label_name}.")
    if len(defaults) != len(places):
        raise ValueError(f"make_csv_dataset: {len(defaults)} `column_defaults` for {len(places)} columns")
    constants = [_default(x) for x in defaults]
    dtypes = [x.dtype for x in constants]

    def decoded(line: bytes) -> list[Any]:
        return decode_csv(
            tf, line, constants, field_delim, use_quote_delim, na_value=na_value,
            select_cols=None if select_columns is None else places,
        )  # fmt: skip

    def rows(path: Any) -> Iterator[tuple[Any, ...]]:
        name = np.asarray(path).item().decode()
        for number, line in enumerate(_lines(name, compression_type, encoding)):
            if (header and number == 0) or not line:
                continue
            try:
                yield tuple([x.numpy() for x in decoded(line)])
            except InvalidArgumentError:
                if not ignore_errors:
                    raise

    def of_file(path: Any) -> Any:
        signature = tuple([tf.TensorSpec([], dtype) for dtype in dtypes])
        return tf.data.Dataset.from_generator(rows, args=(path,), output_signature=signature)

    dataset = tf.data.Dataset.from_tensor_slices(files)
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    dataset = dataset.flat_map(of_file)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    return dataset.batch(batch_size, drop_remainder=num_epochs is None).map(_labeled(taken, label_name))


def _default(x: Any) -> Any:
    """The default of a column: an empty tensor, if it must not be empty."""
    if isinstance(x, DType) or (isinstance(x, type) and issubclass(x, np.generic)):
        return tf.constant([], as_dtype(x))
    return tf.reshape(x, [-1]) if isinstance(x, EagerTensor) else tf.constant([x] if np.ndim(x) == 0 else x)


__all__ = ["make_csv_dataset"]
__all__ += experimental.__all__
