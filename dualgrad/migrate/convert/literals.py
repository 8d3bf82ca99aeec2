"""Python data as code: numbers, lists, dtypes, slices; and expressions in the place of names."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.trace import constant

LARGEST = 16
"""Elements up to which an array is written out; a larger one goes to the file beside the module."""


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._values.get(node.id, node))


def substituted(code: Any, values: Mapping[str, ast.expr]) -> Any:
    """A copy of a piece of code with expressions in the place of names."""
    return _Substitution(values).visit(copy.deepcopy(code))


def literal_of(x: Any) -> int | float | None:
    """Python data for a symbol that holds a small constant; None if it holds none.

    A call that is given these must make the same constant of them, which whoever uses them has to see to.
    """
    node = getattr(x, "node", None)
    if node is None or node.op is not constant:
        return None
    return data(np.asarray(node.params["value"]))


def data(array: np.ndarray) -> Any:
    """A small array of numbers or strings as Python data, the shortest that give the same; else None."""
    if array.size > LARGEST or 0 in array.shape[1:] or array.ndim > 2 or array.dtype.kind not in "biufO":
        return None
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            return None
        return _shortest(array)
    return array.tolist()


def bits(array: np.ndarray) -> Any:
    """A key that is equal for arrays of the same elements; those of strings hold references."""
    return array.tobytes() if array.dtype.kind != "O" else repr(array.tolist())


def stored(array: np.ndarray) -> np.ndarray:
    """An array as it lies in the file beside the module: strings in places of one size.

    Raises
    ------
    ValueError
        If that loses something: NumPy leaves out zeros at the end of a string.
    """
    if array.dtype.kind != "O":
        return array
    strings = array.astype(bytes)
    if strings.astype(object).tolist() != array.tolist():
        raise ValueError("strings that end with a zero byte cannot be stored")
    return strings


def _shortest(array: np.ndarray) -> float | list[Any]:
    if array.ndim:
        return [_shortest(row) for row in array]
    return float(str(array)) if array.dtype == np.float16 or array.dtype == np.float32 else float(array)


def literal(x: Any) -> ast.expr:
    """Python data as an expression.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(x, (np.bool_, np.number)):
        x = x.item()
    if isinstance(x, DType):
        return ast.Attribute(ast.Name("tf"), x.name, ast.Load())
    if isinstance(x, (int, float)) and not isinstance(x, bool) and np.signbit(x):
        return ast.UnaryOp(ast.USub(), ast.Constant(-x))
    if x is None or x is Ellipsis or isinstance(x, (bool, int, float, complex, str, bytes)):
        return ast.Constant(x)
    if isinstance(x, slice):
        parts = [None if p is None else literal(p) for p in (x.start, x.stop, x.step)]
        return ast.Slice(*parts)
    if isinstance(x, list):
        return ast.List([literal(i) for i in x], ast.Load())
    if isinstance(x, tuple):
        return ast.Tuple([literal(i) for i in x], ast.Load())
    raise TypeError(f"{x!r} of type {type(x).__name__} is not plain data")
