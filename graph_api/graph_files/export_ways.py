"""How our ops are written as TensorFlow's: the decorator with which rows say so, kept in `exporting.WAYS`.

A way writes a node and says True; it says False where TensorFlow's op does not do what ours does with such parameters,
which is then written as an op of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.core.op import Op
from graph_api.graph_files.exporting import WAYS, Source

Way = Callable[[Source], bool]


def way(*ops: Op) -> Callable[[Way], Way]:
    """Decorator: how some ops are written."""

    def register(function: Way) -> Way:
        for op in ops:
            WAYS[id(op)] = function
        return function

    return register


def without_lead(s: Source) -> bool:
    """Whether an op works on no leading axes of a batch, which TensorFlow's op does not know."""
    return not any(s.node.params.get(k) for k in ("lead", "ref_lead", "like_lead"))
