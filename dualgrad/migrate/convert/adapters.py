"""Calls for ops whose parameters are not those of the public function. Each is tried, like any other candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.dtypes import float32, int32, string
from engine.core.op import Node
from engine.ops.indexing import OPERAND

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
INDEX = "[]"
"""The target of a call that is an index: of its first argument, the second. ``f().x`` is the part x of what f gives."""


@dataclass(frozen=True)
class Ref:
    """An operand of a node, by its index."""

    index: int


@dataclass(frozen=True, eq=False)
class Inner:
    """A call among the arguments of a call."""

    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Slices:
    """A gradient of rows among the arguments of a call: its values, its rows, and itself."""

    values: Ref
    indices: Ref
    whole: Any


@dataclass(frozen=True, eq=False)
class Named:
    """A function of the program's own among the arguments of a call, by its name."""

    name: str
    function: Any


SHAPES = {("gather_back_op", 1)}
"""Operands that only say a shape: any value of that shape and dtype does."""


def adapted(node: Node) -> Iterator[Call]:
    """Calls that may make the node."""
    propose = _ADAPTERS.get(node.op.name)
    if propose is not None:
        yield from propose(node)


def _index(node: Node) -> Iterator[Call]:
    rest = iter(range(1, len(node.inputs)))

    def bound(part: Any) -> object:
        return Ref(next(rest)) if part == OPERAND else part

    items: list[Any] = []
    for item in node.params["spec"]:
        if type(item) is not tuple:
            items.append(bound(item))
        elif len(item) == 3:
            items.append(slice(*[bound(p) for p in item]))
        else:
            yield from _sized(node)
            return
    yield INDEX, (Ref(0), items[0] if len(items) == 1 else tuple(items)), {}


def _sized(node: Node) -> Iterator[Call]:
    rest = iter(range(1, len(node.inputs)))
    spec = [item if type(item) is tuple and len(item) == 2 else (0, -1) for item in node.params["spec"]]
    pairs = [[Ref(next(rest)) if p == OPERAND else p for p in item] for item in spec]
    yield "slice", (Ref(0), [p[0] for p in pairs], [p[1] for p in pairs]), {}


def _expanded(node: Node) -> Iterator[Call]:
    axes = node.params["axes"]
    if not axes:
        yield "expand_dims", (Ref(0),), {"axis": ()}
    if len(axes) == 1:
        yield "expand_dims", (Ref(0),), {"axis": axes[0]}


def _squeezed(node: Node) -> Iterator[Call]:
    axes = node.params["axes"]
    yield "squeeze", (Ref(0),), {"axis": axes[0] if len(axes) == 1 else list(axes)}


def _split(node: Node) -> Iterator[Call]:
    split = node.params["split"]
    yield "split", (Ref(0), list(split) if isinstance(split, tuple) else split), {"axis": node.params["axis"]}


def _unstacked(node: Node) -> Iterator[Call]:
    yield "unstack", (Ref(0),), {"axis": node.params.get("axis", 0)}


def _einsum(node: Node) -> Iterator[Call]:
    yield "einsum", (node.params["equation"], *[Ref(i) for i in range(len(node.inputs))]), {}


def _same(values: tuple[int, ...]) -> int | list[int]:
    return values[0] if len(set(values)) == 1 else list(values)


def _steps(windows: Any) -> dict[str, Any]:
    padding = windows.padding
    pads = padding if isinstance(padding, str) else [[0, 0], *[list(p) for p in padding], [0, 0]]
    steps = {"strides": _same(windows.strides), "padding": pads}
    return steps | ({"dilations": _same(windows.dilations)} if set(windows.dilations) != {1} else {})


def _convolution(node: Node) -> Iterator[Call]:
    windows = node.params["windows"]
    steps = _steps(windows)
    rank = len(windows.strides)
    if rank == 1:
        steps = {"stride": steps.pop("strides"), **steps}
    yield f"nn.conv{rank}d", (Ref(0), Ref(1)), steps


def _transposed_convolution(node: Node) -> Iterator[Call]:
    windows = node.params["windows"]
    steps = _steps(windows)
    yield f"nn.conv{len(windows.strides)}d_transpose", (Ref(2), Ref(1), Ref(0)), steps


def _depthwise(node: Node) -> Iterator[Call]:
    steps = _steps(node.params["windows"])
    strides = node.params["windows"].strides
    yield "nn.depthwise_conv2d", (Ref(0), Ref(1)), {**steps, "strides": [1, *strides, 1]}


def _pool(kind: str) -> Callable[[Node], Iterator[Call]]:
    def propose(node: Node) -> Iterator[Call]:
        steps = _steps(node.params["windows"])
        rank = len(node.params["size"])
        for name in (f"nn.{kind}_pool{rank}d", f"nn.{kind}_pool"):
            yield name, (Ref(0),), {"ksize": _same(node.params["size"]), **steps}

    return propose


def _band(node: Node) -> Iterator[Call]:
    low, high = node.params["low"], node.params["high"]
    yield "linalg.band_part", (Ref(0), -1 if low is None else -low, -1 if high is None else high), {}


def _padded(node: Node) -> Iterator[Call]:
    paddings = getattr(node.inputs[1].node, "params", {}).get("value")
    if paddings is not None:
        mode, value = node.params["mode"], node.params["value"]
        keywords = {} if mode == "CONSTANT" else {"mode": mode}
        yield (
            "pad",
            (Ref(0), paddings.reshape(-1, 2).tolist()),
            keywords | ({"constant_values": value} if value else {}),
        )


def _scattered(node: Node) -> Iterator[Call]:
    yield "scatter_nd", (Ref(1), Ref(0), Ref(2)), {}


def _summed_rows(node: Node) -> Iterator[Call]:
    shape = node.inputs[1].aval.shape
    if shape is not None and None not in shape and node.params == {"axis": 0, "batch_dims": 0}:
        yield "convert_to_tensor", (Inner("IndexedSlices", (Ref(0), Ref(2), list(shape))),), {}


def _turned(node: Node) -> Iterator[Call]:
    if len(node.params["batch_axes"]) == 1:
        (batch_axis,) = node.params["batch_axes"]
        keywords = {"batch_axis": batch_axis} if batch_axis else {}
        yield "reverse_sequence", (Ref(0), Ref(1)), {"seq_axis": node.params["axis"], **keywords}


def _largest(node: Node) -> Iterator[Call]:
    yield "math.top_k().indices", (Ref(0),), {"k": node.params["k"]}


def _checked(node: Node) -> Iterator[Call]:
    yield "debugging.check_numerics", (Ref(0), node.params["message"]), {}


def _repeated(node: Node) -> Iterator[Call]:
    x = node.inputs[0]
    value = getattr(x.node, "params", {}).get("value")
    scalar: Any = value.item() if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 else None
    if (name := {0: "zeros", 1: "ones"}.get(scalar)) is not None:
        yield name, (Ref(1),), {} if x.aval.dtype is float32 else {"dtype": x.aval.dtype}


def _filled(node: Node) -> Iterator[Call]:
    yield from _repeated(node)
    yield "fill", (Ref(1), Ref(0)), {}


def _columns(node: Node) -> Iterator[Call]:
    usual = {float32: float, int32: int, string: bytes}
    defaults: list[Any] = []
    for dtype, value in zip(node.params["dtypes"], node.params["defaults"], strict=True):
        given = [] if value is None else [value.decode() if dtype is string else value]
        plain = bool(given) and type(value) is usual.get(dtype)
        defaults.append(given if plain else Inner("constant", (given, dtype)))
    options = {"field_delim": node.params["delim"].decode(), "use_quote_delim": node.params["quotes"],
               "na_value": node.params["missing"].decode(), "select_cols": node.params["columns"]}  # fmt: skip
    yield "io.decode_csv", (Ref(0), defaults), options


_ADAPTERS: dict[str, Callable[[Node], Iterator[Call]]] = {
    "getitem_op": _index,
    "expand_dims_op": _expanded,
    "squeeze_op": _squeezed,
    "split_op": _split,
    "unstack_op": _unstacked,
    "einsum_op": _einsum,
    "conv_op": _convolution,
    "conv_data_op": _transposed_convolution,
    "depthwise_op": _depthwise,
    "max_pool_op": _pool("max"),
    "avg_pool_op": _pool("avg"),
    "band_op": _band,
    "finite_op": _checked,
    "pad_op": _padded,
    "top_k_indices": _largest,
    "scatter_nd_op": _scattered,
    "gather_back_op": _summed_rows,
    "reverse_sequence_op": _turned,
    "broadcast_to_op": _repeated,
    "fill_op": _filled,
    "decode_csv_op": _columns,
}
