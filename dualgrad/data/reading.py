"""Data sets of the records of files: what both front ends' ``TextLineDataset`` and its like inherit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dualgrad.data import sources
from dualgrad.data.computing import interleaved
from dualgrad.data.dataset import AUTOTUNE, BaseDataset
from dualgrad.data.readers import read_lines, read_pieces, read_tfrecords
from dualgrad.data.stage import Environment, Stage, Stream
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype, string
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.public_names import methods_of


def files_of(dataset: type[BaseDataset], filenames: Any) -> list[Any]:
    """The names of files: of a structure of strings, or a data set of strings, as an argument of a source."""
    if isinstance(filenames, BaseDataset):
        return [filenames]
    leaf = dataset._mode.leaf(filenames)
    kind = leaf.dtype if hasattr(leaf, "aval") else as_dtype(leaf.dtype)
    if kind is not string:
        raise TypeError(f"`filenames` must be a `tf.data.Dataset` of `tf.string` elements, got dtype {kind.name}")
    return [leaf]


READERS: dict[str, Callable[..., Iterator[Any]]] = {
    "lines": read_lines,
    "tfrecords": read_tfrecords,
    "pieces": read_pieces,
}


def reading(dataset: type[BaseDataset], kind: str, filenames: Any, at_once: int | None, *how: Any) -> Stage:
    """The source that reads records of files: one after the other, or of `at_once` of them in turn."""
    (names,) = files_of(dataset, filenames)
    read, cycle = READERS[kind], 1 if at_once in (None, AUTOTUNE) else int(at_once)
    if cycle < 1:
        raise InvalidArgumentError(f"`num_parallel_reads` must be positive, got {at_once}")

    def records(listed: Any) -> Iterator[tuple[Any, ...]]:
        return interleaved((read(name.decode(), *how) for name in np.ravel(listed).tolist()), cycle)

    if isinstance(names, BaseDataset):
        return Chained(names._stage, lambda element: records(element[0]), cycle)
    return sources.Generated(records, Aval((), string), [names])


class Chained(Stage):
    """Records of the files that a data set names."""

    def __init__(self, source: Stage, read: Callable[[Any], Iterator[Any]], cycle: int) -> None:
        self.inputs = (source,)
        self._read, self._cycle, self._spec = read, cycle, Aval((), string)

    def stream(self, env: Environment) -> Stream:
        """The records of one file after the other, or of several in turn."""
        return Stream(interleaved(map(self._read, self.inputs[0].stream(env).elements()), self._cycle))


@methods_of("TextLineDataset")
class Lines(BaseDataset):
    """The lines of text files.

    Parameters
    ----------
    filenames : string, list or tensor of strings, or data set of strings
    compression_type : {None, "", "GZIP", "ZLIB"}
    buffer_size
        Accepted for compatibility.
    num_parallel_reads : int, optional
        The records of how many files come in turn; by default (and for AUTOTUNE) of one after the other.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reading(type(self), "lines", filenames, num_parallel_reads, compression_type))


@methods_of("TFRecordDataset")
class TFRecords(BaseDataset):
    """The records of TFRecord files; see `Lines` for the parameters."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reading(type(self), "tfrecords", filenames, num_parallel_reads, compression_type))


@methods_of("FixedLengthRecordDataset")
class Pieces(BaseDataset):
    """Records of `record_bytes` bytes, between a header and a footer."""

    def __init__(
        self, filenames: Any, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        how = (int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0), compression_type)
        super().__init__(reading(type(self), "pieces", filenames, num_parallel_reads, *how))
