"""Specs, shapes and paddings as users write them, and whether what generators yield fits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.data.stage import Lasting
from dualgrad.data.structure import Spec, flat, is_structure, mapped, packed
from engine.core.aval import Aval, compatible, format_shape, normalize_shape
from engine.core.dtypes import as_dtype, string
from engine.core.trace import known_value
from engine.core.value import as_array
from engine.runtime.errors import UnknownError, of_users_function


def declared(types: Any, shapes: Any, signature: Any) -> Spec:
    """The spec that dtypes and shapes, or a signature, stand for."""
    if signature is not None:
        if types is not None or shapes is not None:
            raise TypeError("The `output_types` and `output_shapes` arguments can not be used with `output_signature`.")
        return mapped(lambda s: Aval(normalize_shape(s.shape), as_dtype(s.dtype)), signature)
    if types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified.")
    dtypes = [as_dtype(t) for t in flat(types)]
    leaves = [None] * len(dtypes) if shapes is None else _shape_leaves(shapes, types)
    return packed(types, [Aval(normalize_shape(s), d) for s, d in zip(leaves, dtypes, strict=True)])


def _shape_leaves(shapes: Any, like: Any) -> list[Any]:
    """The shapes in a structure of them: tuples of numbers are shapes, not structures."""
    if isinstance(like, tuple):
        return [s for shape, one in zip(shapes, like, strict=True) for s in _shape_leaves(shape, one)]
    if is_structure(like):
        return [s for key in sorted(like) for s in _shape_leaves(shapes[key], like[key])]
    return [shapes]


def yielded(generator: Callable[..., Any], arguments: Sequence[Any], spec: Any) -> Iterator[tuple[Any, ...]]:
    """Elements that a generator yields, as flat elements of a spec."""
    left: Iterator[Any] | None = None

    def elements() -> Iterator[tuple[Any, ...]]:
        nonlocal left
        end = object()
        while True:
            with of_users_function("from_generator", UnknownError):
                if left is None:
                    left = iter(generator(*arguments))
                item = next(left, end)
                element = () if item is end else _element(item, spec)
            if item is end:
                return
            yield element

    return Lasting(elements)


def _element(item: Any, spec: Any) -> tuple[Any, ...]:
    """Something yielded as a flat element of a spec."""
    wanted = flat(spec)
    structure = tuple(item) if isinstance(item, list) and isinstance(spec, tuple) else item
    leaves = flat(structure) if is_structure(spec) else [structure]
    if len(leaves) != len(wanted):
        raise TypeError(
            f"`generator` yielded an element that did not match the expected structure. The expected structure was "
            f"{spec}, but the yielded element was {item!r}."
        )
    return tuple([_fitting(x, aval) for x, aval in zip(leaves, wanted, strict=True)])


def _fitting(x: Any, aval: Aval) -> np.ndarray:
    """Something yielded as an array of the dtype and shape declared."""
    if hasattr(x, "numpy"):
        x = x.numpy()
    try:
        array = np.asarray(x) if aval.dtype is not string else as_array(x, string)
        if array.dtype != aval.dtype.numpy:
            if array.dtype.kind not in "biufc" or aval.dtype is string:
                raise TypeError
            array = array.astype(aval.dtype.numpy)
    except (TypeError, ValueError):
        raise TypeError(
            f"`generator` yielded an element that could not be converted to the expected type. The expected type was "
            f"{aval.dtype.name}, but the yielded element was {x!r}."
        ) from None
    if not compatible(array.shape, aval.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {format_shape(array.shape)} where an element of shape "
            f"{format_shape(aval.shape)} was expected."
        )
    return np.array(array)


def shapes_to_fill(leaves: Sequence[Aval], given: Any, spec: Any) -> list[Any]:
    """The shapes that the tensors of elements are filled up to."""
    if given is None:
        for aval in leaves:
            if aval.shape is None:
                raise ValueError("padded_batch: argument `padded_shapes` is needed where the rank is not known")
        return [aval.shape for aval in leaves]
    return [None if s is None else tuple(normalize_shape(s) or ()) for s in _shape_leaves(given, spec)]


def spread(values: Any, count: int) -> list[Any]:
    """Values for so many tensors: one for each, or one for all."""
    leaves = flat(values)
    return leaves * count if len(leaves) == 1 and not is_structure(values) else leaves


def padding(aval: Aval, value: Any) -> np.generic | int | float | str | bytes | bool:
    """The value to fill a tensor up with."""
    if value is None:
        return b"" if aval.dtype is string else 0
    if aval.dtype is string:
        return value.encode() if isinstance(value, str) else value
    fill = known_value(value)
    if fill is None:
        raise ValueError(f"padded_batch: padding value {value!r} must be known when the data set is made: a constant")
    if fill.dtype.kind in "fc" and aval.dtype.is_integer:
        raise TypeError(f"padded_batch: padding value {value!r} is no {aval.dtype.name}")
    return aval.dtype.numpy.type(fill)
