"""How ops of networks, variables, random numbers and effects are written as TensorFlow's."""

from __future__ import annotations

from typing import Any

from engine.control import cond, scan_loop, while_loop
from engine.core.dtypes import int32
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized
from engine.derivatives.custom import closed_call, custom_call
from engine.ops import checked, conv, cross_entropy, nn, pool, random
from graph_api import summaries
from graph_api.control_flow.flow import assert_op, print_op
from graph_api.convert import default_input
from graph_api.graph_files import export_functions
from graph_api.graph_files.bodies import several
from graph_api.graph_files.export_flow import write_choice, write_loop, write_scan
from graph_api.graph_files.export_ways import Way, same, way
from graph_api.graph_files.exporting import WAYS, Own, Shape, Source, graph_def

# ---- networks --------------------------------------------------------------------------------------------------------


def _moves(s: Source) -> dict[str, Any] | None:
    """How the windows of a convolution or pool of images move; None if not as TensorFlow's can."""
    windows = s.node.params["windows"]
    if s.node.params.get("stack") or len(windows.strides) != 2:
        return None
    moves: dict[str, Any] = {"strides": [1, *windows.strides, 1], "data_format": "NHWC", "padding": windows.padding}
    if not isinstance(windows.padding, str):
        moves |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *[n for e in windows.padding for n in e], 0, 0]}
    return {**moves, "dilations": [1, *windows.dilations, 1]}


@way(conv.conv_op, conv.depthwise_op)
def _conv(s: Source) -> None:
    moves = _moves(s)
    if moves is not None:
        s.main(s.node.op.type, T=s.dtype(), **moves)
        return
    if s.node.op is not conv.conv_op:
        raise Own
    _conv_of_lines(s)


def _conv_of_lines(s: Source) -> None:
    """A convolution of lines as one of pictures of one row; one of volumes is an op of its own."""
    windows, t = s.node.params["windows"], s.dtype()
    if s.node.params.get("stack") or not isinstance(windows.padding, str) or len(windows.strides) not in (1, 3):
        raise Own
    volume = len(windows.strides) == 3
    rows = [] if volume else [1]
    moves: dict[str, Any] = {"strides": [1, *rows, *windows.strides, 1], "dilations": [1, *rows, *windows.dilations, 1]}
    moves |= {"padding": windows.padding, "data_format": "NDHWC" if volume else "NHWC"}
    if volume:
        s.main("Conv3D", T=t, **moves)
        return
    flat = s.step("conv", "Conv2D", [_of_one_row(s, 0, 1), _of_one_row(s, 1, 0)], T=t, **moves)
    s.main("Squeeze", [flat], T=t, squeeze_dims=[1])


def _of_one_row(s: Source, i: int, axis: int) -> str:
    return s.step("row", "ExpandDims", [s.inputs[i], s.const("axis", axis)], T=s.dtype(i), Tdim=int32)


@way(conv.conv_data_op, conv.conv_filters_op, conv.depthwise_data_op, conv.depthwise_filters_op)
def _conv_back(s: Source) -> None:
    moves = _moves(s)
    if moves is None:
        raise Own
    sizes = s.node.op.args.index("sizes")
    inputs = list(s.inputs)
    if s.dtype(sizes) is not int32:
        inputs[sizes] = s.step("sizes", "Cast", [inputs[sizes]], SrcT=s.dtype(sizes), DstT=int32, Truncate=False)
    s.main(s.node.op.type, inputs, T=s.dtype(2), **moves)


def _pooling(s: Source) -> dict[str, Any] | None:
    moves, size = _moves(s), s.node.params["size"]
    if moves is None or moves["padding"] == "EXPLICIT" or set(moves.pop("dilations")) != {1} or len(size) != 2:
        return None
    return {**moves, "ksize": [1, *size, 1]}


@way(pool.max_pool_op, pool.avg_pool_op)
def _pool(s: Source) -> None:
    how = _pooling(s)
    if how is not None:
        s.main(s.node.op.type, T=s.dtype(), **how)
        return
    windows, size = s.node.params["windows"], s.node.params["size"]
    if s.node.params.get("stack") or not isinstance(windows.padding, str) or set(windows.dilations) != {1}:
        raise Own
    moves: dict[str, Any] = {"padding": windows.padding, "T": s.dtype()}
    if len(size) == 3:
        moves |= {"strides": [1, *windows.strides, 1], "ksize": [1, *size, 1], "data_format": "NDHWC"}
        s.main(f"{s.node.op.type}3D", **moves)
        return
    if len(size) != 1:
        raise Own
    moves |= {"strides": [1, 1, *windows.strides, 1], "ksize": [1, 1, *size, 1], "data_format": "NHWC"}
    flat = s.step("pool", s.node.op.type, [_of_one_row(s, 0, 1)], **moves)
    s.main("Squeeze", [flat], T=s.dtype(), squeeze_dims=[1])


@way(pool.avg_pool_back_op)
def _avg_pool_back(s: Source) -> None:
    how = _pooling(s)
    if how is None or s.dtype(1) is not int32:
        raise Own
    s.main("AvgPoolGrad", [s.inputs[1], s.inputs[0]], T=s.dtype(), **how)


@way(pool.largest_tap_op)
def _largest_tap(s: Source) -> None:
    """Nothing, where the gradients that need it compare anew."""
    if id(s.node) not in s.writer.unneeded or _pooling(s) is None:
        raise Own


@way(pool.scatter_taps_op)
def _max_pool_back(s: Source) -> None:
    """With the images and the largest of them, which the node before compares, it is TensorFlow's gradient."""
    how, taps = _pooling(s), s.node.inputs[1].node
    if how is None or taps.op is not pool.largest_tap_op or taps.params["windows"] != s.node.params["windows"]:
        raise Own
    images = [s.writer.name_of(x) for x in taps.inputs]
    s.main("MaxPoolGrad", [*images, s.inputs[0]], T=s.dtype(), **how)


@way(nn.softmax_op, nn.log_softmax_op)
def _softmax(s: Source) -> None:
    axis, dims = s.node.params["axis"], s.shape()
    if axis != -1 and (dims is None or axis != len(dims) - 1):
        raise Own
    s.main(s.node.op.type, T=s.dtype())


@way(cross_entropy.softmax_cross_entropy_op)
def _softmax_cross_entropy(s: Source) -> None:
    dims, axis = s.shape(1), s.node.params["axis"]
    if dims is None or len(dims) != 2 or axis not in (-1, 1):
        raise Own
    s.main("SoftmaxCrossEntropyWithLogits", [s.inputs[1], s.inputs[0]], T=s.dtype(1))


@way(cross_entropy.sparse_softmax_cross_entropy_op)
def _sparse_softmax_cross_entropy(s: Source) -> None:
    dims = s.shape(1)
    if dims is None or len(dims) != 2:
        raise Own
    labels, logits = s.inputs
    s.main("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], T=s.dtype(1), Tlabels=s.dtype(0))


# ---- variables, random numbers, effects ------------------------------------------------------------------------------


@way(read_variable)
def _read(s: Source) -> None:
    if s.node.inputs[0].node.op is variable_handle:
        s.main("ReadVariableOp", dtype=s.dtype())
    else:  # in a branch or a loop, to which a variable's value is handed
        s.main("Identity", T=s.dtype())


same(assign_variable, by="AssignVariableOp dtype=0 validate_shape=no")
same(variable_is_initialized, by="VarIsInitializedOp")
same(
    random.random_uniform_op,
    random.random_normal_op,
    random.truncated_normal_op,
    by="T=0 dtype=.dtype seed=zero seed2=zero",
)
same(random.random_integers_op, by="RandomUniformInt T=0 Tout=out seed=zero seed2=zero")
same(summaries.merge_op, by="MergeSummary N=N")


@way(default_input)
def _default_input(s: Source) -> None:
    dims = s.node.params["shape"]
    s.main("PlaceholderWithDefault", dtype=s.dtype(), shape=None if dims is None else Shape(dims))


@way(assert_op)
def _assert(s: Source) -> None:
    if len(s.inputs) == 1:
        raise Own
    s.main("Assert", T=[s.dtype(i) for i in range(1, len(s.inputs))], summarize=3)


@way(print_op)
def _print(s: Source) -> None:
    params = s.node.params
    s.main(
        "Print", T=s.dtype(), U=[s.dtype(i) for i in range(1, len(s.inputs))], message=params["message"],
        summarize=params["summarize"], first_n=-1,
    )  # fmt: skip


@way(custom_call, closed_call)
def _custom(s: Source) -> None:
    """Export the results of a function with a gradient of the user's own; the gradient is Python, and stays behind.

    As in TensorFlow's files its name is of no use to who reads them, unless a gradient of that name is registered.
    """
    first = s.node.params["count"]
    results = s.inputs[first : first + len(s.node.outputs)]
    s.main("IdentityN", results, T=[o.dtype for o in s.node.outputs], _gradient_op_type=f"CustomGradient-{s.name}")


@way(several)
def _several(s: Source) -> None:
    s.main("IdentityN", T=[o.dtype for o in s.node.outputs])


@way(checked.checked_op)
def _checked(s: Source) -> None:
    """Export the value that is checked; the check is Python, and stays behind."""
    s.main("Identity", s.inputs[:1], T=s.dtype())


@way(checked.shaped_op)
def _shaped(s: Source) -> None:
    dims = s.node.params["shape"]
    s.main("EnsureShape", T=s.dtype(), shape=None if dims is None else Shape(dims))


@way(summaries.summary_op)
def _summary(s: Source) -> None:
    params = s.node.params
    kind = next((k for k, f in summaries.KINDS.items() if f is params["describe"]), None)
    if kind is None:
        raise Own
    more = {"max_images": params["options"][0]} if kind == "image" else {}
    tag = s.const("tag", params["tag"].encode(), object)
    s.main(f"{kind.capitalize()}Summary", [tag, s.inputs[0]], T=s.dtype(), **more)


# ---- control flow ----------------------------------------------------------------------------------------------------


@way(scan_loop.empty_sum)
def _empty_sum(s: Source) -> None:
    x, steps = s.inputs
    zeros = s.step("zeros", "ZerosLike", [x], T=s.dtype())
    negative = s.step("negative", "Neg", [zeros], T=s.dtype())
    count = s.step("count", "Size", [steps], T=s.dtype(1), out_type=int32)
    empty = s.step("empty", "Equal", [count, s.const("nothing", 0)], T=int32)
    s.main("SelectV2", [empty, zeros, negative], T=s.dtype())


def _flow(in_graph: Way, in_function: Way) -> Way:
    return lambda s: (in_graph if s.writer.library is None else in_function)(s)


way(cond.cond_op)(_flow(write_choice, export_functions.write_choice))
way(while_loop.while_op)(_flow(write_loop, export_functions.write_loop))
way(scan_loop.scan_op)(_flow(write_scan, export_functions.write_scan))

__all__ = ["WAYS", "graph_def"]
