"""The rows of `dualgrad.frontend.version1` for convolutions, pools and blocks of images."""

from __future__ import annotations

from typing import Any

from dualgrad.frontend.rows import Old, ops

_CUDNN = "use_cudnn_on_gpu"
_FILTER = {"filter": "filters"}
_CONV = ("input", "filter", "strides", "padding")
_RATE = {"rate": "dilations"}
_TRANSPOSED = {"value": "input", "filter": "filters"}
_TRANSPOSE = (
    *("value", "filter", "output_shape", "strides", "padding", "data_format", "name", "input", "filters"),
    "dilations",
)
_POOL = ("value", "ksize", "strides", "padding", "data_format", "name", "input")
_BLOCK = ("input", "block_size", "name", "data_format")

TABLE: tuple[tuple[Any, str], ...] = (
    (
        Old(
            ops.conv.conv1d,
            {"value": "input"},
            ("value", "filters", "stride", "padding", _CUDNN, "data_format", "name", "input", "dilations"),
            (_CUDNN,),
        ),
        "nn.conv1d",
    ),
    (
        Old(ops.conv.conv2d, _FILTER, (*_CONV, _CUDNN, "data_format", "dilations", "name", "filters"), (_CUDNN,)),
        "nn.conv2d",
    ),
    (Old(ops.conv.conv3d, _FILTER, (*_CONV, "data_format", "dilations", "name", "filters")), "nn.conv3d"),
    (
        Old(
            ops.conv.convolution,
            {"filter": "filters", "dilation_rate": "dilations"},
            ("input", "filter", "padding", "strides", "dilation_rate", "name", "data_format", "filters", "dilations"),
        ),
        "nn.convolution",
    ),
    (Old(ops.conv.conv2d_transpose, _TRANSPOSED, _TRANSPOSE), "nn.conv2d_transpose"),
    (Old(ops.conv.conv3d_transpose, _TRANSPOSED, _TRANSPOSE), "nn.conv3d_transpose"),
    (
        Old(
            ops.conv.conv2d_backprop_input,
            _FILTER,
            ("input_sizes", "filter", "out_backprop", "strides", "padding", _CUDNN, "data_format", "dilations", "name"),
            (_CUDNN,),
        ),
        "nn.conv2d_backprop_input",
    ),
    (
        Old(
            ops.conv.conv2d_backprop_filter,
            order=("input", "filter_sizes", "out_backprop", *_CONV[2:], _CUDNN, "data_format", "dilations", "name"),
            ignored=(_CUDNN,),
        ),
        "nn.conv2d_backprop_filter",
    ),
    (
        Old(ops.conv.depthwise_conv2d, _RATE, (*_CONV, "rate", "name", "data_format", "dilations")),
        "nn.depthwise_conv2d",
    ),
    (ops.conv.depthwise_conv2d, "nn.depthwise_conv2d_native"),
    (
        Old(
            ops.conv.separable_conv2d,
            _RATE,
            ("input", "depthwise_filter", "pointwise_filter", *_CONV[2:], "rate", "name", "data_format", "dilations"),
        ),
        "nn.separable_conv2d",
    ),
    (Old(ops.pool.max_pool, {"value": "input"}, _POOL), "nn.max_pool"),
    (Old(ops.pool.avg_pool, {"value": "input"}, _POOL), "nn.avg_pool"),
    (Old(ops.pool.avg_pool2d, {"value": "input"}, _POOL), "nn.avg_pool2d"),
    (
        Old(
            ops.pool.pool,
            {"dilation_rate": "dilations"},
            (
                *("input", "window_shape", "pooling_type", "padding", "dilation_rate", "strides", "name"),
                *("data_format", "dilations"),
            ),
        ),
        "nn.pool",
    ),
    (
        Old(
            ops.pool.max_pool_with_argmax,
            {"Targmax": "output_dtype"},
            (
                *("input", "ksize", "strides", "padding", "data_format", "Targmax", "name", "output_dtype"),
                "include_batch_in_index",
            ),
        ),
        "nn.max_pool_with_argmax",
    ),
    (
        Old(
            ops.windows.extract_patches,
            {"ksizes": "sizes"},
            ("images", "ksizes", "strides", "rates", "padding", "name", "sizes"),
        ),
        "extract_image_patches image.extract_image_patches",
    ),
    (Old(ops.blocks.depth_to_space, order=_BLOCK), "depth_to_space nn.depth_to_space"),
    (Old(ops.blocks.space_to_depth, order=_BLOCK), "space_to_depth nn.space_to_depth"),
    (Old(ops.blocks.space_to_batch, {"block_shape": "block_size"}), "space_to_batch nn.space_to_batch"),
    (Old(ops.blocks.batch_to_space, {"block_shape": "block_size"}), "batch_to_space"),
    (ops.blocks.batch_to_space_nd, "batch_to_space_nd"),
)
