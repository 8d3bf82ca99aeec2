"""Layers that make one tensor of several, and functions that apply them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.masks import mask_of
from engine.core import nest
from engine.core.operands import Operand
from engine.core.value import shape_of


class _Merge(Layer):
    """The base of the layers that combine a list of inputs element by element."""

    def call(self, inputs: Any) -> Operand:
        """The combination, with broadcasting."""
        if not isinstance(inputs, (list, tuple)) or not inputs:
            raise ValueError(f"layer {self.name!r} must be called on a list of inputs, got {inputs!r}")
        return self._merged(list(inputs))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Operand | None:
        """Steps count that count in one of the inputs; if one has no mask, the result has none."""
        masks = [None] if previous_mask is None else nest.flatten(previous_mask)
        return None if any(mask is None for mask in masks) else reduce(tf.logical_or, masks)

    def _merged(self, inputs: list[Any]) -> Operand:
        raise NotImplementedError


def _folded(function: Callable[[Any, Any], Any], inputs: Sequence[Any]) -> Operand:
    """``function(function(a, b), c)``; where a mask leaves one side out, the other side stands for both."""
    if all(mask_of(x) is None for x in inputs):
        return reduce(function, inputs)
    total, found_mask = inputs[0], _wide_mask(inputs[0])
    for x in inputs[1:]:
        mask = _wide_mask(x)
        x = x if mask is None else tf.where(mask, x, total)
        total = total if found_mask is None else tf.where(found_mask, total, x)
        found_mask = None if mask is None or found_mask is None else tf.logical_or(found_mask, mask)
        total = function(total, x)
    return total


def _wide_mask(x: Any) -> Operand | None:
    """The mask of a tensor, for all its features."""
    mask = mask_of(x)
    return None if mask is None else tf.broadcast_to(tf.expand_dims(mask, -1), tf.shape(x))


class Concatenate(Layer):
    """A list of inputs joined along an axis."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Operand:
        """The inputs, joined."""
        return tf.concat(inputs, axis=self.axis)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Operand | None:
        """Steps count that count in one of the inputs; of inputs without a mask all do."""
        if previous_mask is None:
            return None
        wide = [
            tf.ones_like(x, dtype="bool")
            if mask is None
            else tf.broadcast_to(tf.expand_dims(mask, -1), tf.shape(x))
            if len(shape_of(mask) or ()) < len(shape_of(x) or ())
            else mask
            for x, mask in zip(inputs, previous_mask, strict=True)
        ]
        return tf.reduce_any(tf.concat(wide, axis=self.axis), axis=-1)


class Add(_Merge):
    """The sum of a list of inputs."""

    def _merged(self, inputs: list[Any]) -> Operand:
        return reduce(tf.add, inputs)


class Subtract(_Merge):
    """The first of two inputs less the second."""

    def _merged(self, inputs: list[Any]) -> Operand:
        if len(inputs) != 2:
            raise ValueError(f"A `Subtract` layer should be called on exactly 2 inputs. Received: {len(inputs)}")
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    """The product of a list of inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Operand:
        return reduce(tf.multiply, inputs)


class Average(_Merge):
    """The mean of a list of inputs."""

    def _merged(self, inputs: list[Any]) -> Operand:
        return reduce(tf.add, inputs) / len(inputs)


class Maximum(_Merge):
    """The largest of a list of inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Operand:
        return _folded(tf.maximum, inputs)


class Minimum(_Merge):
    """The smallest of a list of inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Operand:
        return _folded(tf.minimum, inputs)


class Dot(Layer):
    """For each element of the batch, the product of two inputs, summed over one axis of each.

    Parameters
    ----------
    axes : int or 2 ints
        Over which axis of each input to sum; not the first.
    normalize : bool
        Whether to scale both to norm 1 along these axes first: the cosine.
    """

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: the steps are summed over."""

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Operand:
        """The products."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError(f"A `Dot` layer should be called on exactly 2 inputs. Received: {inputs!r}")
        a, b = inputs
        pair = (self.axes,) * 2 if isinstance(self.axes, int) else tuple(self.axes)
        (i, j), ranks = pair, [len(shape_of(x) or ()) for x in (a, b)]
        i, j = i % ranks[0], j % ranks[1]
        if 0 in (i, j):
            raise ValueError(f"layer {self.name!r}: cannot sum over the batch, got axes={self.axes}")
        if self.normalize:
            a, b = tf.l2_normalize(a, axis=i), tf.l2_normalize(b, axis=j)
        letters = "abcdefgh"
        first = ["z", *letters[1 : ranks[0]]]
        second = ["z", *letters.upper()[1 : ranks[1]]]
        first[i] = second[j] = "s"
        out = [c for c in (*first, *second[1:]) if c != "s"]
        product = tf.einsum(f"{''.join(first)},{''.join(second)}->{''.join(out)}", a, b)
        return tf.expand_dims(product, -1) if len(out) == 1 else product


def _applying(kind: type[Layer]) -> Callable[..., Any]:
    def merge(host: Any, inputs: Sequence[Any], *args: Any, **kwargs: Any) -> Operand:
        return host.bound(kind)(*args, **kwargs)(inputs)

    merge.__doc__ = f"`{kind.__name__}` made and applied to a list of inputs."
    merge.__name__ = merge.__qualname__ = kind.__name__.lower()
    return merge


concatenate, add, subtract, multiply = map(_applying, (Concatenate, Add, Subtract, Multiply))
average, maximum, minimum, dot = map(_applying, (Average, Maximum, Minimum, Dot))
