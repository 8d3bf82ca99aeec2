"""``tf.print``."""

from __future__ import annotations

from typing import Any

from dualgrad.platform.printing import tensor_text, written
from engine.core.detach import effect


def print_(
    *inputs: Any, output_stream: Any = None, summarize: int = 3, sep: str = " ", end: str = "\n", **_: Any
) -> None:
    """Print tensors and other things.

    Parameters
    ----------
    *inputs
        Tensors, structures of tensors, and anything that has a ``str``.
    output_stream : file or callable, optional
        Standard error by default, as in TensorFlow. ``"file://path"`` appends to a file.
    summarize : int
        How many entries to show at the beginning and at the end of each dimension; -1 for all.
    sep, end : str
    """
    effect("it prints")
    written(inputs, output_stream, summarize, sep, end)


__all__ = ["print_", "tensor_text"]
