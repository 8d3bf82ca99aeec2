"""``io.decode_csv``: lines of comma-separated values as tensors, one for each column."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from dualgrad.extras.ops.strings import numbers
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import DType, float32, float64, int32, int64, string
from engine.core.trace import constant_value
from engine.core.value import as_array, dtype_of, shape_of
from engine.runtime.errors import DTypeError, InvalidArgumentError

_DTYPES = (float32, float64, int32, int64, string)


def _fields(line: bytes, delim: bytes, quotes: bool) -> list[bytes]:
    """The fields of a line; in a quoted one, two quotation marks are one.

    Raises
    ------
    ValueError
        If quotation marks are not where they may be.
    """
    if not quotes or b'"' not in line:
        if b"\n" in line or b"\r" in line:
            raise ValueError("Unquoted fields cannot have ends of lines inside")
        return line.split(delim) if line else []
    fields, at, end = list[bytes](), 0, len(line)
    while True:
        if line[at : at + 1] != b'"':
            stop = line.find(delim, at)
            stop = end if stop < 0 else stop
            if any(c in line[at:stop] for c in (b'"', b"\n", b"\r")):
                raise ValueError("Unquoted fields cannot have quotes or ends of lines inside")
            fields.append(line[at:stop])
        else:
            stop = at + 1
            while (stop := line.find(b'"', stop)) >= 0 and line[stop + 1 : stop + 2] == b'"':
                stop += 2
            if stop < 0:
                raise ValueError("Quoted field has to end with quote followed by delim or end")
            fields.append(line[at + 1 : stop].replace(b'""', b'"'))
            stop += 1
            if stop < end and line[stop : stop + 1] != delim:
                raise ValueError("Quoted field has to end with quote followed by delim or end")
        if stop >= end:
            return fields
        at = stop + 1


def _column(number: int, texts: list[bytes], dtype: DType, default: Any, missing: bytes) -> np.ndarray:
    """The values of the fields of a column, of which some may be missing."""
    absent = np.array([text in (b"", missing) for text in texts], bool)
    if default is None and absent.any():
        raise InvalidArgumentError(f"Field {number} is required but missing in record {absent.argmax()}!")
    if dtype is string:
        values = np.fromiter(texts, object, len(texts))
    else:
        given = [b"0" if gap else text for text, gap in zip(texts, absent.tolist(), strict=True)]
        try:
            values = numbers(given, dtype)
        except InvalidArgumentError:
            record = next(i for i, text in enumerate(given) if not _is_number(text, dtype))
            shown = given[record].decode("utf-8", "replace")
            raise InvalidArgumentError(
                f"Field {number} in record {record} is not a valid {dtype.name}: {shown}"
            ) from None
    if default is not None:
        values[absent] = default
    return values


def _is_number(text: bytes, dtype: DType) -> bool:
    with contextlib.suppress(InvalidArgumentError):
        return bool(len(numbers([text], dtype)))
    return False


def _abstract(records: Aval, *, dtypes: tuple[DType, ...], **_: Any) -> tuple[Aval, ...]:
    return tuple([Aval(records.shape, dtype) for dtype in dtypes])


@host_op(
    "DecodeCSV",
    _abstract,
    args=("records",),
    batch=refused("lines cannot be vectorized; decode them before"),
    of_strings=True,
    multi=True,
)
def decode_csv_op(
    records: Any, *, dtypes: tuple[DType, ...], defaults: tuple[Any, ...], delim: bytes, quotes: bool, missing: bytes,
    columns: tuple[int, ...] | None,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """The columns of lines of comma-separated values."""
    lines = as_array(records, string, "decode_csv")
    rows: list[list[bytes]] = []
    for number, line in enumerate(lines.ravel().tolist()):
        try:
            fields = _fields(line, delim, quotes)
        except ValueError as error:
            raise InvalidArgumentError(f"decode_csv: {error}, in record {number}: {line!r}") from None
        expected = len(dtypes) if columns is None else max(columns, default=-1) + 1
        if len(fields) < expected or (columns is None and len(fields) > expected):
            raise InvalidArgumentError(f"Expect {expected} fields but have {len(fields)} in record {number}")
        rows.append(fields if columns is None else [fields[i] for i in columns])
    by_column = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in dtypes]
    given = zip(range(len(dtypes)), by_column, dtypes, defaults, strict=True)
    return tuple([_column(*column, missing).reshape(lines.shape) for column in given])


def decode_csv(
    tf: Any, records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None,
) -> list[Any]:  # fmt: skip
    """The columns of lines of comma-separated values.

    Parameters
    ----------
    tf : module
    records : string tensor
        Each element is a line, without its end.
    record_defaults : list
        For each column a list or tensor of one element, whose dtype is that of the column: what stands for a field
        that is empty. An empty tensor where a field must not be empty.
    field_delim : str
        One character.
    use_quote_delim : bool
        Whether a field may be quoted.
    name : str, optional
    na_value : str
        What is taken for an empty field besides.
    select_cols : list of int, optional
        The columns to take, in ascending order; by default all.

    Returns
    -------
    list of tensor
        For each column one of the shape of `records`.

    Raises
    ------
    InvalidArgumentError
        If a line has another number of fields, or a field is no number, or missing.
    """
    if len(field_delim.encode()) != 1:
        raise ValueError(f"decode_csv: argument `field_delim` must be one character, got {field_delim!r}")
    columns = None if select_cols is None else tuple(map(int, select_cols))
    if columns is not None and (list(columns) != sorted(set(columns)) or len(columns) != len(record_defaults)):
        raise ValueError(
            f"decode_csv: argument `select_cols` must be ascending, one for each default, got {select_cols}"
        )
    known = [_default(tf, i, x) for i, x in enumerate(record_defaults)]
    decoded = decode_csv_op(
        tf.convert_to_tensor(records), dtypes=tuple([d for d, _ in known]), defaults=tuple([x for _, x in known]),
        delim=field_delim.encode(), quotes=bool(use_quote_delim), missing=na_value.encode(), columns=columns,
    )  # fmt: skip
    return list(decoded)


def _default(tf: Any, number: int, given: Any) -> tuple[DType, Any]:
    """The dtype of a column, and what stands for an empty field; None if it must not be empty."""
    tensor = tf.convert_to_tensor(given)
    dtype, array = dtype_of(tensor), constant_value(tensor)
    if array is None or np.size(array) > 1 or len(shape_of(tensor) or ()) > 1:
        raise ValueError(f"decode_csv: default {number} must be a constant of one element or none, got {given!r}")
    value = array.reshape(-1)[0] if np.size(array) else None
    if dtype not in _DTYPES:
        raise DTypeError(f"decode_csv: column {number} must be float, int or string, got {dtype.name}")
    return dtype, value if value is None or dtype is string else value.item()
