"""Rows of `engine.ops.conv`."""

from typing import Any

import numpy as np

from engine.ops import conv
from engine.ops.windows import Windows
from tests.row import Row, fixed, offered, real


def _windows(stride: int = 1, padding: Any = "SAME", dilation: int = 1) -> dict[str, Any]:
    return {"windows": Windows((stride,) * 2, padding, (dilation,) * 2), "stack": 0}


def _naive(x: Any, w: Any, stride: int = 1, padding: Any = ((0, 0), (0, 0)), dilation: int = 1) -> Any:
    """A convolution by its definition, one point of the result at a time."""
    x = np.pad(x.astype(np.float64), ((0, 0), *padding, (0, 0)))
    rows, columns = [(k - 1) * dilation + 1 for k in w.shape[:2]]
    height, width = (x.shape[1] - rows) // stride + 1, (x.shape[2] - columns) // stride + 1
    out = np.zeros((len(x), height, width, w.shape[3]))
    for i in range(height):
        for j in range(width):
            top, left = i * stride, j * stride
            window = x[:, top : top + rows : dilation, left : left + columns : dilation]
            out[:, i, j] = np.einsum("nijc,ijco->no", window, w)
    return out


def _conv2d(x: tuple[int, ...], w: tuple[int, ...], label: str, strides: Any = 1, padding: Any = "SAME") -> Row:
    return Row(
        conv.conv_op,
        (real(*x), real(*w)),
        label=label,
        call=lambda x, w: conv.conv2d(x, w, strides, padding),
        # TensorFlow's result for empty data is not empty
        tf=(lambda tf, x, w: tf.nn.conv2d(x, w, strides, padding)) if "empty" not in label else None,
        oracle=(lambda x, w: np.zeros((x.shape[0], x.shape[1] - 3, 3, 1))) if "empty" in label else None,
        tol=3,
    )


def _transpose2d(
    y: tuple[int, ...], w: tuple[int, ...], shape: list[int], label: str, strides: Any, padding: Any
) -> Row:
    return _offered(conv.conv_data_op, conv.conv2d_transpose, y, w, shape, strides, padding, label=label)


def _offered(op: Any, function: Any, x: tuple[int, ...], w: tuple[int, ...], *args: Any, **more: Any) -> Row:
    return offered(op, function, (real(*x), real(*w)), *args, tf=f"nn.{function.__name__}", tol=3, **more)


def _depthwise(
    x: tuple[int, ...], w: tuple[int, ...], label: str, strides: Any = 1, padding: Any = "SAME", **more: Any
) -> Row:
    # TensorFlow wants all four strides
    return Row(
        conv.depthwise_op,
        (real(*x), real(*w)),
        label=label,
        call=lambda x, w: conv.depthwise_conv2d(x, w, strides, padding, **more),
        tf=lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, strides, strides, 1], padding, **more),
        tol=3,
    )


def _spread(y: Any, w: Any) -> Any:
    """The transpose of a convolution in steps of one, on padded data."""
    rows, columns = w.shape[:2]
    out = np.zeros((len(y), y.shape[1] + rows - 1, y.shape[2] + columns - 1, w.shape[2]), y.dtype)
    for i, j in np.ndindex(rows, columns):
        out[:, i : i + y.shape[1], j : j + y.shape[2]] += y @ w[i, j].T
    return out


DILATED: dict[str, Any] = {"label": "dilated", "options": {"dilations": [2, 3]}, "tf_value_only": ("float64",)}

ROWS = (
    Row(
        conv.conv_op,
        (real(2, 5, 6, 2), real(3, 2, 2, 3)),
        _windows(2, ((1, 0), (0, 2)), 2),
        oracle=lambda x, w: _naive(x, w, 2, ((1, 0), (0, 2)), 2),
        order=3,
        tol=3,
    ),
    _conv2d((2, 5, 6, 2), (3, 3, 2, 3), "same"),
    _conv2d((2, 5, 6, 2), (3, 2, 2, 3), "valid", padding="VALID"),
    _conv2d((2, 6, 5, 2), (2, 3, 2, 3), "strides", [1, 2, 2, 1]),
    _conv2d((1, 7, 6, 2), (2, 2, 2, 1), "stride 3", 3, "VALID"),
    _offered(conv.conv_op, conv.conv2d, (1, 7, 6, 2), (2, 2, 2, 1), 1, "VALID", **DILATED),
    _conv2d((1, 4, 5, 2), (2, 3, 2, 1), "explicit", 2, [[0, 0], [1, 2], [0, 3], [0, 0]]),
    _conv2d((2, 4, 5, 3), (1, 1, 3, 2), "pointwise"),
    _conv2d((2, 4, 5, 3), (1, 1, 3, 2), "pointwise-strides", 2),
    _conv2d((1, 3, 4, 16), (2, 2, 16, 1), "many channels"),
    _conv2d((1, 3, 4, 16), (2, 2, 16, 1), "many channels-valid", padding="VALID"),
    _conv2d((0, 4, 4, 2), (4, 2, 2, 1), "empty batch", padding="VALID"),
    _conv2d((1, 1, 1, 1), (1, 1, 1, 1), "size 1"),
    _conv2d((1, 1, 2, 1), (5, 5, 1, 1), "large filter"),
    Row(
        conv.conv_op,
        (real(2, 2, 4, 5), real(3, 2, 2, 3)),
        label="channels first",
        call=lambda x, w: conv.conv2d(x, w, [1, 1, 2, 2], "SAME", data_format="NCHW"),
        tf=lambda tf, x, w: tf.transpose(tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), w, 2, "SAME"), [0, 3, 1, 2]),
        tol=3,
    ),
    _offered(conv.conv_op, conv.conv2d, (2, 2, 4, 5, 2), (3, 2, 2, 3), 1, "SAME", label="two batch dimensions"),
    Row(
        conv.conv_op,
        (real(2, 3, 4, 4), real(2, 2, 2, 6)),
        label="groups",
        call=lambda x, w: conv.conv2d(x, w, 1, "SAME"),
        oracle=lambda x, w: np.concatenate(
            [_naive(x[..., :2], w[..., :3], 1, ((0, 1), (0, 1))), _naive(x[..., 2:], w[..., 3:], 1, ((0, 1), (0, 1)))],
            -1,
        ),
        tol=3,
    ),
    _offered(conv.conv_op, conv.conv1d, (2, 7, 2), (3, 2, 3), 2, "SAME"),
    _offered(conv.conv_op, conv.conv3d, (1, 3, 4, 3, 2), (2, 2, 2, 2, 2), [1, 1, 2, 1, 1], "SAME"),
    _offered(conv.conv_op, conv.convolution, (1, 6, 2), (2, 2, 2), options={"dilations": 2}),
    _offered(conv.conv_op, conv.atrous_conv2d, (1, 5, 6, 2), (2, 2, 2, 1), 2, "SAME"),
    Row(
        conv.conv_data_op,
        (fixed([2, 5, 6, 2], np.int32), real(3, 2, 2, 3), real(2, 3, 3, 3)),
        _windows(2),
        tf=lambda tf, s, w, y: tf.nn.conv2d_transpose(y, w, s, 2, "SAME"),
        order=3,
        tol=3,
    ),
    _transpose2d((2, 3, 4, 2), (3, 3, 3, 2), [2, 6, 8, 3], "same", 2, "SAME"),
    _transpose2d((2, 3, 4, 2), (2, 3, 3, 2), [2, 4, 6, 3], "valid", 1, "VALID"),
    Row(
        conv.conv_data_op,
        (real(1, 6, 6, 2), real(2, 2, 3, 2)),
        label="more padding than window",
        call=lambda y, w: conv.conv2d_transpose(y, w, [1, 3, 3, 3], 1, [[0, 0], [2, 2], [2, 2], [0, 0]]),
        oracle=lambda y, w: _spread(y, w)[:, 2:-2, 2:-2],
        tol=3,
    ),
    _transpose2d((1, 2, 2, 2), (1, 1, 3, 2), [1, 4, 3, 3], "gaps", [1, 2, 2, 1], "VALID"),
    _offered(conv.conv_data_op, conv.conv1d_transpose, (2, 3, 2), (3, 1, 2), [2, 6, 1], 2),
    _offered(conv.conv_data_op, conv.conv3d_transpose, (1, 2, 3, 2, 2), (2, 2, 2, 1, 2), [1, 4, 6, 3, 1], 2),
    Row(
        conv.conv_data_op,
        (real(2, 3, 2, 2), real(3, 3, 1, 3)),
        label="channels first",
        call=lambda y, w: conv.conv2d_transpose(y, w, [2, 1, 2, 4], [1, 1, 1, 2], data_format="NCHW"),
        tf=lambda tf, y, w: tf.transpose(
            tf.nn.conv2d_transpose(tf.transpose(y, [0, 2, 3, 1]), w, [2, 2, 4, 1], [1, 2]), [0, 3, 1, 2]
        ),
        tol=3,
    ),
    Row(
        conv.conv_data_op,
        (real(3, 2, 2, 3), real(2, 3, 3, 3)),
        label="backprop_input",
        call=lambda w, y: conv.conv2d_backprop_input([2, 3, 6, 2], w, y, [1, 1, 2, 1], "SAME"),
        tf=lambda tf, w, y: tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[2, 3, 6, 2], filter=w, out_backprop=y, strides=[1, 1, 2, 1], padding="SAME"
        ),
        tol=3,
    ),
    Row(
        conv.conv_filters_op,
        (real(2, 5, 6, 2), fixed([3, 2, 2, 3], np.int32), real(2, 3, 3, 3)),
        _windows(2),
        order=3,
        tol=3,
    ),
    Row(
        conv.conv_filters_op,
        (real(2, 4, 5, 2), real(2, 4, 5, 3)),
        label="backprop_filter",
        call=lambda x, y: conv.conv2d_backprop_filter(x, [3, 2, 2, 3], y, 1, "SAME"),
        tf=lambda tf, x, y: tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=[3, 2, 2, 3], out_backprop=y, strides=[1, 1, 1, 1], padding="SAME"
        ),
        tol=3,
    ),
    Row(
        conv.depthwise_op,
        (real(2, 5, 4, 2), real(3, 2, 2, 3)),
        _windows(2),
        tf=lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"),
        order=3,
        tol=3,
    ),
    _depthwise((2, 4, 5, 3), (3, 3, 3, 1), "multiplier 1"),
    _depthwise((1, 4, 5, 2), (2, 2, 2, 2), "valid", padding="VALID"),
    _depthwise((1, 5, 6, 2), (2, 2, 2, 2), "dilated", padding="VALID", dilations=[2, 2]),
    Row(
        conv.depthwise_data_op,
        (fixed([2, 5, 4, 2], np.int32), real(3, 2, 2, 3), real(2, 3, 2, 6)),
        _windows(2),
        tf=lambda tf, s, w, y: tf.nn.depthwise_conv2d_backprop_input(s, w, y, [1, 2, 2, 1], "SAME"),
        order=3,
        tol=3,
    ),
    Row(
        conv.depthwise_filters_op,
        (real(2, 5, 4, 2), fixed([3, 2, 2, 3], np.int32), real(2, 3, 2, 6)),
        _windows(2),
        tf=lambda tf, x, s, y: tf.nn.depthwise_conv2d_backprop_filter(x, s, y, [1, 2, 2, 1], "SAME"),
        order=3,
        tol=3,
    ),
    Row(
        conv.depthwise_op,
        (real(1, 4, 5, 2), real(2, 3, 2, 2), real(1, 1, 4, 3)),
        label="separable",
        call=lambda x, d, p: conv.separable_conv2d(x, d, p, 1, "SAME"),
        tf=lambda tf, x, d, p: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
        tol=3,
    ),
)
