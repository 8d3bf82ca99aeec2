"""Arrays in files of NumPy's (``.npy``, ``.npz``), of IDX, and in pickles, read so that nothing in a file can run."""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.files import limits
from engine.runtime.errors import DataLossError

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def npz(path: Any, names: Sequence[str], trusted: bool = False) -> list[np.ndarray]:
    """Some arrays of an ``.npz`` file.

    Parameters
    ----------
    path : str or path
    names : sequence of str
    trusted : bool
        Whether the file is known (by its hash): then lists of numbers are read at full speed.

    Raises
    ------
    DataLossError
        If one of them is not in it, or the file is damaged or larger than its limit (`dualgrad.files.limits`).
    """
    with limits.damage(path), zipfile.ZipFile(path) as held:
        there = [n.removesuffix(".npy") for n in held.namelist()]
        missing = [n for n in names if n not in there]
        if missing:
            raise DataLossError(f"{path} has no array {', '.join(missing)}; it has {', '.join(there)}")
        return [member(held, f"{n}.npy", path, trusted) for n in names]


def member(archive: zipfile.ZipFile, name: str, path: Any, trusted: bool = False) -> np.ndarray:
    """The array of a member of a zip archive; see `npy`."""
    part = limits.unpacked(archive, name, path)
    with part.file as file:
        return npy(file, part.size, trusted)


def npy(stream: Any, length: int, trusted: bool = False) -> np.ndarray:
    """The array of an ``.npy`` file; one of objects must be one of lists of numbers.

    Parameters
    ----------
    stream : binary file
        Where the array begins.
    length : int
        Its bytes.
    trusted : bool

    Raises
    ------
    DataLossError
        If the data are no such array.
    """
    first = stream.tell()
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise DataLossError(f"the array has a header of version {version}, which is not read")
    shape, transposed, dtype = _HEADERS[version](stream)
    if dtype.kind == "O":
        array = pickled(io.BytesIO(stream.read(first + length - stream.tell())), trusted)
        if not isinstance(array, np.ndarray) or array.shape != shape:
            raise DataLossError(f"the array is to be of shape {shape}, what is there is not")
        return array
    size, rest = math.prod(shape) * dtype.itemsize, first + length - stream.tell()
    if dtype.hasobject or size != rest:
        raise DataLossError(f"an array of shape {shape} and dtype {dtype} has {size} bytes, there are {rest}")
    array = np.empty(shape, dtype, "F" if transposed else "C")
    raw = memoryview(array.reshape(-1, order="A").view(np.uint8).data)
    while raw and (count := stream.readinto(raw)):
        raw = raw[count:]
    if raw:
        raise DataLossError(f"the array ends {len(raw)} bytes too early")
    return array


def idx(content: bytes, rank: int, path: Any) -> np.ndarray:
    """The array of bytes in the contents of an IDX file.

    Raises
    ------
    DataLossError
        If it is not one of that rank.
    """
    header = struct.calcsize(f">{rank + 1}I")
    magic, *shape = struct.unpack_from(f">{rank + 1}I", content) if len(content) >= header else (0,)
    if magic != 2048 + rank or len(content) - header != math.prod(shape):
        raise DataLossError(f"Invalid magic number or length: {path} is no IDX file of rank {rank}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def pickled(stream: Any, trusted: bool = False) -> Any:
    """Load a pickle of arrays, numbers, strings, lists and dicts; strings of Python 2 are bytes.

    No class or function of any module is reached: what NumPy's pickles name stands for a few lines here.

    Raises
    ------
    DataLossError
        If it names anything else.
    """
    # the one in C is told by the pickle how much memory it needs
    return _plain((_Fast if trusted else _Careful)(stream, encoding="bytes").load())


def _plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {_plain(key): _plain(i) for key, i in x.items()}
    return x.value if isinstance(x, _Array) else x


class _DType:
    """A dtype as a pickle describes it."""

    def __init__(self, code: Any, *_: Any) -> None:
        name = code.decode("latin1") if isinstance(code, bytes) else code
        if not isinstance(name, str) or not re.fullmatch(r"[biufc]\d{1,2}|O8?", name):
            raise DataLossError(f"a pickled array has the dtype {name!r}, which is not read")
        self.numpy = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        if state[1] in (">", b">"):
            self.numpy = self.numpy.newbyteorder(">")


class _Array:
    """An array of a pickle, filled by what NumPy's pickles say."""

    value: Any = None

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, transposed, raw = state
        self.fill(raw, dtype, shape, "F" if transposed else "C")

    def fill(self, raw: Any, dtype: _DType, shape: tuple[int, ...], order: Any) -> _Array:
        """Take the numbers, or the lists, and see that they are as many as there should be."""
        if dtype.numpy.kind == "O":
            flat = np.fromiter([x.value if isinstance(x, _Array) else x for x in raw], object, len(raw))
            if not all(isinstance(x, (list, np.ndarray)) for x in flat):
                raise DataLossError("a pickled array of objects may hold lists of numbers only")
        else:
            flat = np.frombuffer(raw.encode("latin1") if isinstance(raw, str) else raw, dtype.numpy)
        if flat.size != math.prod(shape):
            raise DataLossError(f"a pickled array has the shape {shape}, and {flat.size} elements")
        self.value = flat.reshape(shape, order=order)
        return self


class _Named:
    """Stands for the functions that NumPy's pickles name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __setstate__(self, state: Any) -> None:
        raise DataLossError(f"a pickle wants to change {self._name}")

    def __call__(self, *arguments: Any) -> Any:
        if self._name == "encode":
            return arguments[0].encode("latin1")
        return _Array() if self._name == "_reconstruct" else _Array().fill(*arguments)


_STANDS_FOR: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _Named("encode"),
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Named("_reconstruct") for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _Named("_frombuffer") for core in ("core", "_core")},
}


class _ArraysOnly:
    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a class or function that arrays are made of."""
        stand_in = _STANDS_FOR.get((module, name))
        if stand_in is None:
            raise DataLossError(
                f"the pickle holds {module}.{name}, which is no array; nothing else is read from pickles"
            )
        return stand_in


class _Fast(_ArraysOnly, pickle.Unpickler):
    pass


class _Careful(_ArraysOnly, pickle._Unpickler):
    pass
