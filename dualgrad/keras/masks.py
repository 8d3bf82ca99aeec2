"""Masks of sequences: which steps count, and what hands that on from layer to layer.

A mask travels with the tensor it belongs to, as its attribute ``_keras_mask``. Layers that know what to do with one set
`supports_masking`; others lose it, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from dualgrad.keras import functions as tf
from engine.core import nest
from engine.core.dtypes import bool_
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.core.value import Value

_ATTRIBUTE = "_keras_mask"


def mask_of(x: Any) -> Operand | None:
    """The mask of a tensor, None if it has none."""
    return getattr(x, _ATTRIBUTE, None) if isinstance(x, Value) else None


def set_mask(x: Any, mask: Any) -> None:
    """Give a tensor a mask, or take it away (None)."""
    if mask is not None or mask_of(x) is not None:
        setattr(x, _ATTRIBUTE, mask)


def handed_on(source: Any, x: Any) -> Any:
    """`x`, which stands for `source`, with its mask."""
    mask = mask_of(source)
    if mask is not None and x is not source:
        set_mask(x, mask)
    return x


def masked(x: Any, mask: Any) -> Any:
    """`x` with the mask that a call gave for it, if any; the caller's tensor keeps its own."""
    if mask is None or mask is mask_of(x):
        return x
    x = tf.identity(x)
    set_mask(x, tf.cast(mask, bool_))
    return x


def masks_of(structure: Any) -> Structure[Any]:
    """The masks of a structure of tensors; None if there are none at all."""
    if isinstance(structure, Value):
        return mask_of(structure)
    if not nest.is_nested(structure):
        return None
    masks = nest.map_structure(mask_of, structure)
    return None if all(mask is None for mask in nest.flatten(masks)) else masks


def fill_masks(accepts: Mapping[str, Any], given: Mapping[str, Any], kwargs: dict[str, Any]) -> None:
    """Add the masks of tensors among a layer's arguments to those that `call` takes and that were not given.

    Parameters
    ----------
    accepts : mapping
        The parameters of `call` by their names.
    given : mapping
        The arguments, by the same names.
    kwargs : dict
        What is given by name: added to.
    """
    tensors = [name for name, x in given.items() if any(isinstance(leaf, Value) for leaf in nest.flatten(x))]
    if len(tensors) == 1 and "mask" in accepts and given.get("mask") is None:
        kwargs["mask"] = masks_of(given[tensors[0]])
    elif len(tensors) > 1:
        for name in tensors:
            if f"{name}_mask" in accepts and given.get(f"{name}_mask") is None:
                kwargs[f"{name}_mask"] = masks_of(given[name])


def mask_outputs(layer: Any, inputs: Any, outputs: Any, before: Any) -> None:
    """Give the outputs of a layer the masks that its `compute_mask` says."""
    flat = nest.flatten(outputs)
    if not layer.supports_masking:
        if before is not None:
            warnings.warn(
                f"Layer '{layer.name}' (of type {type(layer).__name__}) was passed an input with a mask attached to "
                f"it. However, this layer does not support masking and will therefore destroy the mask information. "
                f"Downstream layers will not see the mask.",
                stacklevel=4,
            )
        return
    if all(mask_of(x) is not None for x in flat):
        return
    masks = layer.compute_mask(inputs, before)
    for x, mask in zip(flat, [] if masks is None else nest.flatten(masks), strict=False):
        if isinstance(x, Value) and mask is not None and mask_of(x) is None:
            set_mask(x, mask)


def masked_weights(sample_weight: Any, mask: Any, dtype: Any, is_mean: bool) -> Operand | None:
    """Weights of samples with those of a mask; for a mean such that it is one over what counts.

    Parameters
    ----------
    sample_weight, mask : tensor or None
    dtype : DType
    is_mean : bool
        Whether the sum of the weighted values is divided by their number.
    """
    if mask is None:
        return sample_weight
    weights = tf.cast(mask, dtype)
    if is_mean:
        total = tf.cast(tf.size(mask), dtype)
        weights = weights * tf.divide_no_nan(total, tf.reduce_sum(weights))
    if sample_weight is None:
        return weights
    own = tf.cast(sample_weight, dtype)
    shapes = [len(x.shape) for x in (own, weights)]
    for _ in range(shapes[1] - shapes[0]):
        own = tf.expand_dims(own, -1)
    for _ in range(shapes[0] - shapes[1]):
        weights = tf.expand_dims(weights, -1)
    return own * weights
