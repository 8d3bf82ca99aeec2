"""How an object shows itself: in one line, and in a notebook as a small table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.runtime.lazy_scipy import Later

html = Later("html", modules=False)
_CELLS = 60
"""A picture of a pattern has at most so many cells in each direction."""


class Shown:
    """An object that says what it is.

    Examples
    --------
    >>> class Point(Shown):
    ...     def _facts_(self):
    ...         return {"x": 1, "y": 2}
    >>> Point()
    <Point x=1, y=2>
    """

    __slots__ = ()

    def _facts_(self) -> Mapping[str, Any]:
        """The facts that are said, by name: some attributes, of arrays dtype and shape, of groups how many."""
        facts = [(name.strip("_"), _fact(value)) for name, value in vars(self).items()]
        return dict([fact for fact in facts if fact[1]][:8])

    def _picture_(self) -> str:
        """A picture beneath the table, in HTML; none by default."""
        return ""

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self._facts_().items())
        return f"<{type(self).__name__}{' ' * bool(said)}{said}>"

    def _repr_html_(self) -> str:
        rows = [(name, str(value)) for name, value in self._facts_().items()]
        return f"<div><b>{html.escape(type(self).__name__)}</b>{as_table(rows)}{self._picture_()}</div>"


def _fact(value: Any) -> str:
    if isinstance(value, (str, bool, int, float, complex)):
        return repr(value)[:80]
    if isinstance(value, (list, tuple, dict, set)):
        return f"{len(value)} in all" if value else ""
    if isinstance(value, Shown):
        return type(value).__name__
    if hasattr(value, "as_numpy_dtype"):
        return str(value.name)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None or callable(shape) or callable(dtype):
        return str(getattr(value, "__name__", ""))
    return f"{getattr(dtype, 'name', dtype)}{shape}"


def as_table(rows: Iterable[Iterable[str]], head: Iterable[str] = ()) -> str:
    """Rows of text as a table in HTML; the first of each row names it."""
    titles = "".join(f"<th style='text-align:left'>{html.escape(t)}</th>" for t in head)
    lines = [f"<tr>{titles}</tr>"] if titles else []
    for name, *others in rows:
        cells = "".join(f"<td style='text-align:left'>{html.escape(t)}</td>" for t in others)
        lines.append(f"<tr><th style='text-align:left'>{html.escape(name)}</th>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def pattern_picture(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> str:
    """Where a matrix can be nonzero, as SVG; a cell stands for several entries of a large one.

    Parameters
    ----------
    rows, columns : array of int, shape (entries,)
    shape : (int, int)
    """
    height, width = (max(1, min(size, _CELLS)) for size in shape)
    down = rows.astype(np.int64) * height // max(shape[0], 1)
    across = columns.astype(np.int64) * width // max(shape[1], 1)
    cells = np.unique(down * width + across)
    side = max(2, 180 // max(height, width))
    squares = "".join(f"M{c % width * side} {c // width * side}h{side}v{side}h-{side}z" for c in cells.tolist())
    w, h = width * side, height * side
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{w + 2}' height='{h + 2}' viewBox='-1 -1 {w + 2} {h + 2}'>"
        f"<title>pattern of a {shape[0]} x {shape[1]} matrix</title>"
        f"<rect width='{w}' height='{h}' fill='white' stroke='gray'/><path d='{squares}' fill='#1f5fa8'/></svg>"
    )
