"""Golden records: what a program computed, in files that can be compared, sent and kept.

A record is a folder. Its text is JSON, one thing a line, so that two records can be compared with ``diff``; an array
appears there as its dtype, its shape, a hash of its bits and a few statistics. The arrays themselves are in
``arrays.npz`` (compressed; `numpy.load` reads it), each once however often it occurs, under its hash. ``record.json``
is written last and holds the hashes of the other files: a record without it is not complete.

Who reads a record trusts nothing: sizes are examined before anything is unpacked, hashes afterwards, pickles are not
read. What is damaged raises `DataLossError`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import arrays, limits
from dualgrad.files.atomic import read, write
from engine.core.dtypes import as_dtype
from engine.core.operands import Array
from engine.core.value import boxed
from engine.runtime.errors import DataLossError, NotFoundError

FORMAT = 1
_ARRAYS, _HEAD = "arrays.npz", "record.json"
_WIDTH = 116


def described(array: Any) -> dict[str, Any]:
    """An array in a line of JSON.

    Parameters
    ----------
    array : array
        Of numbers or strings.

    Returns
    -------
    dict
        ``dtype``, ``shape``, ``hash`` and, of numbers that are finite, ``range`` and ``mean``; ``nan`` and ``inf`` say
        how many there are, if any.

    Examples
    --------
    >>> import numpy as np
    >>> found = described(np.array([1.0, 3.0, np.nan]))
    >>> len(found.pop("hash"))
    32
    >>> found
    {'dtype': 'float64', 'shape': [3], 'range': [1.0, 3.0], 'mean': 2.0, 'nan': 1}
    """
    array = np.asarray(boxed(array))
    description: dict[str, Any] = {"dtype": _dtype_name(array), "shape": list(array.shape), "hash": digest(array)}
    if array.dtype.kind in "OSU" or not array.size:
        return description
    # in float64, so that sums of small types do not overflow
    wide = np.abs(array).astype(np.float64) if array.dtype.kind == "c" else array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if finite.size:
        description["range"] = [_short(finite.min()), _short(finite.max())]
        description["mean"] = _short(finite.mean())
    for name, count in (("nan", np.isnan(wide).sum()), ("inf", np.isinf(wide).sum())):
        if count:
            description[name] = int(count)
    return description


def _short(x: Any) -> float:
    return float(f"{float(x):.6g}")


def _dtype_name(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def digest(array: Any) -> str:
    """A hash of dtype, shape and bits: two arrays have the same if nobody can tell them apart."""
    array = np.asarray(boxed(array))
    made = hashlib.sha256(f"{_dtype_name(array)}{list(array.shape)}".encode())
    made.update(_bytes(array))
    return made.hexdigest()[:32]


def _bytes(array: np.ndarray) -> memoryview | bytes:
    if array.dtype.kind in "OSU":
        texts = [x.encode() if isinstance(x, str) else bytes(x) for x in array.ravel().tolist()]
        return json.dumps([base64.b64encode(x).decode() for x in texts]).encode()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


# ---- text ------------------------------------------------------------------------------------------------------------


def text(data: Any, indent: str = "") -> str:
    """JSON with one thing a line: what fits in a line stands in one.

    Parameters
    ----------
    data : JSON data
    indent : str
        What lines after the first begin with.

    Examples
    --------
    >>> print(text({"a": [1, 2], "b": {str(i): "x" * 40 for i in range(3)}}))
    {
     "a": [1, 2],
     "b": {
      "0": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "1": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "2": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     }
    }
    """
    line = json.dumps(data, ensure_ascii=False, allow_nan=False)
    if len(line) + len(indent) <= _WIDTH or not isinstance(data, (dict, list)) or not data or "hash" in data:
        return line
    inner = indent + " "
    if isinstance(data, dict):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {text(v, inner)}" for k, v in data.items()]
    else:
        parts = [text(v, inner) for v in data]
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


# ---- writing ---------------------------------------------------------------------------------------------------------


class GoldenWriter:
    """Writes a record.

    Parameters
    ----------
    folder : path
        Made if need be. A record in it is replaced.

    Raises
    ------
    FileExistsError
        If the folder holds something that is no record.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.is_dir() and not (self.folder / _ARRAYS).exists() and any(self.folder.iterdir()):
            raise FileExistsError(f"{folder} holds files that are no record; give another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _HEAD).unlink(missing_ok=True)
        self._zip = zipfile.ZipFile(self.folder / _ARRAYS, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._held: set[str] = set()

    def put(self, array: Any) -> dict[str, Any]:
        """Keep an array; give it `described`."""
        array = np.asarray(boxed(array))
        entry = described(array)
        if entry["hash"] not in self._held:
            self._held.add(entry["hash"])
            stored = np.frombuffer(_bytes(array), np.uint8) if entry["dtype"] == "string" else array
            if stored.dtype.name not in _PLAIN:
                stored = stored.view(np.uint16)  # bfloat16 is no dtype of NumPy's own
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, stored, allow_pickle=False)
            # a fixed date: equal records are equal files
            self._zip.writestr(zipfile.ZipInfo(f"{entry['hash']}.npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED)
        return entry

    def finish(self, head: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
        """Write the text, ``record.json`` last.

        Parameters
        ----------
        head : dict
            What ``record.json`` holds besides.
        parts : dict
            File names to JSON data, or to text.
        """
        self._zip.close()
        hashes = {_ARRAYS: _file_hash(self.folder / _ARRAYS)}
        for name, data in parts.items():
            content = (data if isinstance(data, str) else text(data) + "\n").encode()
            write(self.folder / name, [content])
            hashes[name] = hashlib.sha256(content).hexdigest()
        write(self.folder / _HEAD, [(text({"format": FORMAT, **head, "files": hashes}) + "\n").encode()])


_PLAIN = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
}


def _file_hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- reading ---------------------------------------------------------------------------------------------------------


class Golden:
    """A record that was written.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    head : dict
        What ``record.json`` holds.

    Raises
    ------
    NotFoundError
        If there is no complete record.
    DataLossError
        If it is damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.head = self._json(_HEAD, read(self.folder / _HEAD) if (self.folder / _HEAD).is_file() else None)
        with limits.damage(self.folder / _HEAD):
            self._check_files()
        with limits.damage(self.folder / _ARRAYS):
            self._zip = zipfile.ZipFile(self.folder / _ARRAYS)

    def _check_files(self) -> None:
        """See that the head names the other files, and that these are as they were written."""
        if self.head.get("format") != FORMAT:
            raise DataLossError(
                f"{self.folder}: the record has format {self.head.get('format')!r}; this version reads {FORMAT}"
            )
        files = self.head.get("files")
        if not isinstance(files, dict) or _ARRAYS not in files or any(Path(n).name != n for n in files):
            raise DataLossError(f"{self.folder / _HEAD}: it does not say which files there are")
        for name, expected in files.items():
            if not (self.folder / name).is_file():
                raise DataLossError(f"{self.folder / name}: the file is missing")
            if _file_hash(self.folder / name) != expected:
                raise DataLossError(f"{self.folder / name}: the file is not as it was written (its hash differs)")

    def part(self, name: str) -> Any:
        """The data of one of the JSON files."""
        return self._json(name, read(self.folder / name) if name in self.head["files"] else None)

    def lines(self, name: str) -> str:
        """The text of one of the text files."""
        if name not in self.head["files"]:
            raise NotFoundError(f"{self.folder}: the record has no {name}")
        with limits.damage(self.folder / name):
            return read(self.folder / name).decode()

    def _json(self, name: str, content: bytes | None) -> Any:
        if content is None:
            raise NotFoundError(f"{self.folder}: there is no complete record here ({name} is missing)")
        with limits.damage(self.folder / name):
            return json.loads(content)

    def holds(self, described: Mapping[str, Any]) -> bool:
        """Whether the record has the array itself, not only its hash."""
        with contextlib.suppress(KeyError), limits.damage(self.folder / _HEAD, KeyError):
            return bool(self._zip.getinfo(f"{described['hash']}.npy"))
        return False

    def array(self, described: Mapping[str, Any]) -> Array:
        """An array.

        Parameters
        ----------
        described : dict
            As the JSON files have it.

        Raises
        ------
        DataLossError
            If it is not there, or not what the description says.
        """
        name = f"{described.get('hash')}.npy"
        with limits.damage(self.folder / _ARRAYS):
            shape, dtype = tuple(map(int, described["shape"])), described["dtype"]
            array = arrays.member(self._zip, name, self.folder / _ARRAYS)
            if dtype == "string":
                texts = [base64.b64decode(x) for x in json.loads(array.tobytes())]
                array = np.array([*texts, None], object)[:-1].reshape(shape)
            elif dtype not in _PLAIN:
                array = array.view(as_dtype(dtype).numpy)
            if array.shape != shape or _dtype_name(array) != dtype or digest(array) != described["hash"]:
                raise ValueError("it is not what the record says it is")
        return array
