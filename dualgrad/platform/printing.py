"""Tensors as ``tf.print`` of TensorFlow prints them, shortened in the middle."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.variable import Variable


def tensor_text(array: Any, summarize: int = 3, indent: int = 1) -> str:
    """An array as text: the first and last `summarize` entries of each dimension, all of them for -1.

    Examples
    --------
    >>> tensor_text(np.arange(10)), tensor_text(np.float32(1) / 3)
    ('[0 1 2 ... 7 8 9]', '0.333333343')
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return _number(array[()])
    shown = list(array)
    if summarize >= 0 and 2 * summarize < len(shown):
        first, last = shown[:summarize], shown[len(shown) - summarize :]
        parts = [tensor_text(x, summarize, indent + 1) for x in (*first, *last)]
        parts.insert(summarize, "...")
    else:
        parts = [tensor_text(x, summarize, indent + 1) for x in shown]
    return "[" + (" " if array.ndim == 1 else "\n" + " " * indent).join(parts) + "]"


def _number(x: Any) -> str:
    if isinstance(x, np.bool_):
        return str(int(x))
    if not isinstance(x, np.floating):
        return str(x)
    # as few digits as tell the number apart, tried in TensorFlow's order
    few, many = (15, 17) if x.dtype == np.float64 else (6, 9)
    text = f"{x:.{few}g}"
    return text if not np.isfinite(x) or x.dtype.type(text) == x else f"{x:.{many}g}"


def _text(x: Any, summarize: int, nested: bool = False) -> str:
    if isinstance(x, (EagerTensor, Variable)):
        return tensor_text(x.numpy(), summarize)  # type: ignore[union-attr]
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {_text(v, summarize, True)}" for k, v in x.items()) + "}"
    if isinstance(x, list):
        return "[" + ", ".join(_text(v, summarize, True) for v in x) + "]"
    if isinstance(x, tuple):
        return "(" + ", ".join(_text(v, summarize, True) for v in x) + ("," if len(x) == 1 else "") + ")"
    return repr(x) if nested else str(x)


def written(inputs: Any, output_stream: Any, summarize: int, sep: str, end: str) -> None:
    """Write values to a stream, a callable, or a file that is named ``"file://path"``; by default to standard error."""
    text = sep.join(_text(x, summarize) for x in inputs) + end
    if callable(output_stream):
        output_stream(text)
    elif isinstance(output_stream, str) and output_stream.startswith("file://"):
        with open(output_stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text)
    else:
        (output_stream or sys.stderr).write(text)
