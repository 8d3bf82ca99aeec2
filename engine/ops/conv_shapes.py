"""Abstract evaluation of convolutions (`engine.ops.conv` says what the operands are).

The parameter `name`, for messages, has ``{}`` in the place of the number of spatial dimensions.
"""

from __future__ import annotations

from typing import Any

from engine.core.aval import Aval, Shape, broadcast_shapes, compatible, format_shape, merge_shapes
from engine.core.dtypes import FLOATING, INTEGER
from engine.core.kinds import check_dtype, same_dtype
from engine.ops.shape import known_dims
from engine.ops.windows import Windows, counts
from engine.runtime.errors import ShapeError


def _stacked(name: str, stack: int, *shapes: Shape) -> Shape:
    return broadcast_shapes(name, *[None if s is None else s[:stack] for s in shapes])


def _split_data(name: str, argument: str, x: Aval, stack: int, rank: int) -> tuple[Any, Any, int | None]:
    """Batch, space and channels of data; of unknown ones where the rank is unknown (batch None)."""
    if x.shape is None:
        return None, (None,) * rank, None
    if len(x.shape) < stack + rank + 2:
        raise ShapeError(f"{name}: argument `{argument}` must have rank {rank + 2}, got {x}")
    return x.shape[stack : -rank - 1], x.shape[-rank - 1 : -1], x.shape[-1]


def _split_filters(name: str, dims: Shape, stack: int, rank: int) -> tuple[Any, int | None, int | None]:
    """Window size, channels and outputs of filters (unknown ones where the rank is unknown)."""
    if dims is None:
        return (None,) * rank, None, None
    if len(dims) != stack + rank + 2:
        raise ShapeError(
            f"{name}: argument `filters` must have rank {rank + 2}, got shape {format_shape(dims[stack:])}"
        )
    return dims[stack:-2], dims[-2], dims[-1]


def _check_channels(
    name: str, x: Shape, filters: Shape, given: int | None, expected: int | None, outputs: int | None, depthwise: bool
) -> None:
    """Raise unless the filters are for as many channels as there are, or for groups of so many."""
    if given is None or expected is None or given == expected:
        return
    if depthwise or expected == 0 or given == 0 or given % expected or (outputs or 0) % (given // expected):
        raise ShapeError(
            f"{name}: data of shape {format_shape(x)} have {given} channels, but filters of shape "
            f"{format_shape(filters)} are for {expected}"
        )


def _outputs(channels: int | None, outputs: int | None, depthwise: bool) -> int | None:
    if not depthwise:
        return outputs
    return None if channels is None or outputs is None else channels * outputs


def forward_abstract(x: Aval, w: Aval, *, name: str, depthwise: bool, windows: Windows, stack: int) -> Aval:
    """A convolution of data."""
    rank = len(windows.strides)
    name = name.format(rank)
    check_dtype(name, "input", x, FLOATING)
    dtype = same_dtype(name, ("input", "filters"), (x, w))
    batch, space, channels = _split_data(name, "input", x, stack, rank)
    size, expected, outputs = _split_filters(name, w.shape, stack, rank)
    _check_channels(name, x.shape, w.shape, channels, expected, outputs, depthwise)
    lead = _stacked(name, stack, x.shape, w.shape)
    if batch is None or lead is None:
        return Aval(None, dtype)
    known = expected if channels is None else channels
    return Aval((*lead, *batch, *counts(name, space, size, windows), _outputs(known, outputs, depthwise)), dtype)


def _check_like(name: str, ct: Aval, found: tuple[int | None, ...]) -> None:
    """Raise unless `ct` can be the result of the convolution, whose space and outputs are these."""
    own = None if ct.shape is None else ct.shape[-len(found) :]
    if not compatible(own, found):
        raise ShapeError(
            f"{name}: a convolution with these sizes, strides and padding gives {format_shape(found)} (space and "
            f"channels), but got {ct}"
        )


def data_abstract(sizes: Aval, w: Aval, ct: Aval, *, name: str, depthwise: bool, windows: Windows, stack: int) -> Aval:
    """The aval of a result in the shape of the data."""
    rank = len(windows.strides)
    name = name.format(rank)
    check_dtype(name, "sizes", sizes, INTEGER)
    check_dtype(name, "filters", w, FLOATING)
    dtype = same_dtype(name, ("filters", "input"), (w, ct))
    batch, _, _ = _split_data(name, "input", ct, stack, rank)
    size, channels, outputs = _split_filters(name, w.shape, stack, rank)
    wanted = known_dims(sizes) or (None,) * (rank + 2)
    if len(wanted) < rank + 2:
        raise ShapeError(f"{name}: the shape of the data must have {rank + 2} dimensions, got {wanted}")
    space = wanted[-rank - 1 : -1]
    _check_channels(name, wanted, w.shape, wanted[-1], channels, outputs, depthwise)
    _check_like(name, ct, (*counts(name, space, size, windows), _outputs(channels, outputs, depthwise)))
    lead = _stacked(name, stack, ct.shape, w.shape)
    if batch is None or lead is None:
        return Aval(None, dtype)
    given = wanted[: -rank - 1]
    both = min(len(given), len(batch))
    if not compatible(batch[len(batch) - both :], given[len(given) - both :]):
        raise ShapeError(f"{name}: the shape of the data, {format_shape(wanted)}, does not fit the batch of {ct}")
    if len(given) == len(batch):
        batch = merge_shapes(batch, given)
    return Aval((*lead, *batch, *wanted[-rank - 1 :]), dtype)


def filters_abstract(
    x: Aval, sizes: Aval, ct: Aval, *, name: str, depthwise: bool, windows: Windows, stack: int
) -> Aval:
    """The aval of a result in the shape of the filters."""
    rank = len(windows.strides)
    name = name.format(rank)
    check_dtype(name, "sizes", sizes, INTEGER)
    check_dtype(name, "input", x, FLOATING)
    dtype = same_dtype(name, ("input", "out_backprop"), (x, ct))
    _, space, channels = _split_data(name, "input", x, stack, rank)
    _split_data(name, "out_backprop", ct, stack, rank)
    wanted = (known_dims(sizes) or (None,) * (rank + 2))[-rank - 2 :]
    size, expected, outputs = _split_filters(name, wanted, 0, rank)
    _check_channels(name, x.shape, wanted, channels, expected, outputs, depthwise)
    _check_like(name, ct, (*counts(name, space, size, windows), _outputs(expected, outputs, depthwise)))
    lead = _stacked(name, stack, x.shape, ct.shape)
    return Aval(None if lead is None else (*lead, *wanted), dtype)
