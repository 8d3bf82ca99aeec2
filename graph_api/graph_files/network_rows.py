"""Rows of convolutions, pools, normalizations, losses and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.extras.ops import affine, resize
from graph_api.graph_files.rows import ROWS, Made, Row, Site, row, same
from graph_api.library import public
from graph_api.library import root as tf

same(
    """
    AvgPool:nn.avg_pool ksize strides padding data_format
    AvgPool3D:nn.avg_pool3d ksize strides padding data_format
    BiasAdd:nn.bias_add data_format
    BiasAddV1:nn.bias_add
    L2Loss:nn.l2_loss
    LogSoftmax:nn.log_softmax
    MaxPool3D:nn.max_pool3d ksize strides padding data_format
    Softmax:nn.softmax
    """
)


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _windows(site: Site) -> dict[str, Any]:
    """How the windows of a convolution move."""
    padding = site.attr("padding")
    if padding == "EXPLICIT":
        ends = site.attr("explicit_paddings")
        padding = [list(pair) for pair in zip(ends[::2], ends[1::2], strict=True)]
    arguments = {"strides": site.attr("strides"), "padding": padding}
    if "data_format" in site.proto.attr:
        arguments["data_format"] = site.attr("data_format")
    if "dilations" in site.proto.attr:
        arguments["dilations"] = site.attr("dilations")
    return arguments


@row("Conv3DBackpropInputV2")
def _conv3d_input(site: Site) -> Made:
    sizes, filters, dy = site.inputs
    return tf.nn.conv3d_transpose(dy, filters, sizes, **_windows(site))


@row("Conv3DBackpropFilterV2")
def _conv3d_filter(site: Site) -> Made:
    x, sizes, dy = site.inputs
    filters = tf.zeros(sizes, x.dtype)
    return site.region.pulled_back(tf.nn.conv3d(x, filters, **_windows(site)), filters, dy)


def _depthwise(site: Site, x: Any, filters: Any) -> Made:
    arguments = _windows(site)
    dilations = arguments.pop("dilations", None)
    if dilations is not None:
        channels_first = arguments.get("data_format") == "NCHW"
        arguments["dilations"] = dilations[2:] if channels_first else dilations[1:3]
    return tf.nn.depthwise_conv2d(x, filters, **arguments)


@row("DepthwiseConv2dNativeBackpropInput")
def _depthwise_input(site: Site) -> Made:
    sizes, filters, dy = site.inputs
    x = tf.zeros(sizes, dy.dtype)
    return site.region.pulled_back(_depthwise(site, x, filters), x, dy)


@row("DepthwiseConv2dNativeBackpropFilter")
def _depthwise_filter(site: Site) -> Made:
    x, sizes, dy = site.inputs
    filters = tf.zeros(sizes, dy.dtype)
    return site.region.pulled_back(_depthwise(site, x, filters), filters, dy)


@row("ExtractImagePatches")
def _extract_image_patches(site: Site) -> Made:
    how = [site.attr(name) for name in ("ksizes", "strides", "rates", "padding")]
    return tf.extract_image_patches(site.inputs[0], *how)


# ---- pools -----------------------------------------------------------------------------------------------------------


def _pool(site: Site, function: Any, x: Any) -> Made:
    how = {k: site.attr(k) for k in ("ksize", "strides", "padding")}
    return function(x, **how, data_format=site.attr("data_format", "NHWC"))


@row("MaxPool MaxPoolV2")
def _max_pool(site: Site) -> Made:
    if site.proto.op == "MaxPoolV2":
        ksize, strides = [site.known(i, what).tolist() for i, what in ((1, "ksize"), (2, "strides"))]
        return tf.nn.max_pool(site.inputs[0], ksize, strides, site.attr("padding"), site.attr("data_format", "NHWC"))
    return _pool(site, tf.nn.max_pool, site.inputs[0])


@row("MaxPoolGrad")
def _max_pool_gradient(site: Site) -> Made:
    x, _, dy = site.inputs
    return site.region.pulled_back(_pool(site, tf.nn.max_pool, x), x, dy)


@row("AvgPoolGrad")
def _avg_pool_gradient(site: Site) -> Made:
    sizes, dy = site.inputs
    x = tf.zeros(sizes, dy.dtype)
    return site.region.pulled_back(_pool(site, tf.nn.avg_pool, x), x, dy)


@row("MaxPoolWithArgmax")
def _max_pool_with_argmax(site: Site) -> Made:
    how = [site.attr(k) for k in ("ksize", "strides", "padding")]
    more = {"output_dtype": site.attr("Targmax", "int64")}
    return list(tf.nn.max_pool_with_argmax(site.inputs[0], *how, **more))


# ---- biases and normalizations ---------------------------------------------------------------------------------------


@row("BiasAddGrad")
def _bias_gradient(site: Site) -> Made:
    dy = site.inputs[0]
    if site.attr("data_format", "NHWC") == "NCHW":
        dims = tf.shape(dy)
        dy = tf.reshape(dy, tf.stack([dims[0], dims[1], -1]))
        return tf.reduce_sum(dy, [0, 2])
    return tf.reduce_sum(tf.reshape(dy, tf.stack([-1, tf.shape(dy)[-1]])), 0)


def _normalized(site: Site, x: Any, scale: Any, offset: Any, given: tuple[Any, Any] | None) -> tuple[Any, Any, Any]:
    """Normalized images with mean and variance, those of the batch or the given ones."""
    first = site.attr("data_format", "NHWC") == "NCHW"
    if first:
        x = tf.transpose(x, [0, 2, 3, 1])
    wide = tf.cast(x, scale.dtype)
    mean, variance = given or tf.nn.moments(wide, [0, 1, 2])
    y = tf.nn.batch_normalization(wide, mean, variance, offset, scale, site.attr("epsilon", 0.0001))
    y = tf.cast(y, x.dtype)
    return (tf.transpose(y, [0, 3, 1, 2]) if first else y), mean, variance


@row("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
def _fused_batch_norm(site: Site) -> Made:
    x, scale, offset, mean, variance = site.inputs
    extra = [tf.zeros_like(scale)] if site.proto.op.endswith("3") else []
    if not site.attr("is_training", True):
        y, _, _ = _normalized(site, x, scale, offset, (mean, variance))
        return [y, *[tf.identity(v) for v in (mean, variance, mean, variance)], *extra]
    y, batch_mean, batch_variance = _normalized(site, x, scale, offset, None)
    number = tf.cast(tf.size(x) / tf.size(scale), scale.dtype)
    unbiased = batch_variance * (number / tf.maximum(number - 1, tf.ones_like(number)))
    factor = site.attr("exponential_avg_factor", 1.0)
    running = [batch_mean, unbiased]
    if factor != 1.0:
        running = [old + (new - old) * factor for old, new in ((mean, batch_mean), (variance, unbiased))]
    return [y, *running, tf.identity(batch_mean), tf.identity(batch_variance), *extra]


@row("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3")
def _fused_batch_norm_gradient(site: Site) -> Made:
    dy, x, scale, mean, variance = site.inputs[:5]
    offset = tf.zeros_like(scale)
    statistics = None if site.attr("is_training", True) else (mean, variance)
    y, _, _ = _normalized(site, x, scale, offset, statistics)
    gradients = site.region.pulled_back(y, [x, scale, offset], dy)
    return [*gradients, tf.zeros([0], scale.dtype), tf.zeros([0], scale.dtype)]


_lrn = public(affine.local_response_normalization, "nn.lrn")


def _normalized_response(site: Site, x: Any) -> Made:
    names = {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
    return _lrn(x, **{name: site.attr(name, default) for name, default in names.items()})


@row("LRNGrad")
def _local_response_gradient(site: Site) -> Made:
    dy, x, _ = site.inputs
    return site.region.pulled_back(_normalized_response(site, x), x, dy)


# ---- losses ----------------------------------------------------------------------------------------------------------


@row("SoftmaxCrossEntropyWithLogits")
def _softmax_cross_entropy(site: Site) -> Made:
    logits, labels = site.inputs
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    return [loss, tf.nn.softmax(logits) - labels]


@row("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_softmax_cross_entropy(site: Site) -> Made:
    logits, labels = site.inputs
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    right = tf.one_hot(labels, tf.shape(logits)[-1], dtype=logits.dtype)
    return [loss, tf.nn.softmax(logits) - right]


# ---- images ----------------------------------------------------------------------------------------------------------


def _resizing(function: Any) -> Callable[..., Made]:
    lifted = public(function, f"image.{function.__name__}")

    def resized(site: Site, images: Any, size: Any) -> Made:
        centers = {"half_pixel_centers": True} if site.attr("half_pixel_centers", False) else {}
        return lifted(images, size, align_corners=site.attr("align_corners", False), **centers)

    return resized


def _resize_rows(name: str, function: Any, gradient: str) -> None:
    resized = _resizing(function)
    ROWS[name] = Row(lambda site: resized(site, *site.inputs))

    def back(site: Site) -> Made:
        dy, images = site.inputs
        if images.dtype.is_integer:  # of the nearest neighbor: the size
            images = tf.zeros(tf.concat([tf.shape(dy)[:1], images, tf.shape(dy)[3:]], 0), dy.dtype)
        return site.region.pulled_back(resized(site, images, tf.shape(dy)[1:3]), images, dy)

    if gradient:
        ROWS[gradient] = Row(back)


_resize_rows("ResizeBilinear", resize.resize_bilinear, "ResizeBilinearGrad")
_resize_rows("ResizeNearestNeighbor", resize.resize_nearest_neighbor, "ResizeNearestNeighborGrad")
_resize_rows("ResizeBicubic", resize.resize_bicubic, "ResizeBicubicGrad")
_resize_rows("ResizeArea", resize.resize_area, "")


# ---- what is one expression ------------------------------------------------------------------------------------------

_SHORT: dict[str, Callable[[Site], Made]] = {
    "Conv2D": lambda site: tf.nn.conv2d(*site.inputs, **_windows(site)),
    "Conv3D": lambda site: tf.nn.conv3d(*site.inputs, **_windows(site)),
    "Conv2DBackpropInput": lambda site: tf.nn.conv2d_backprop_input(*site.inputs, **_windows(site)),
    "Conv2DBackpropFilter": lambda site: tf.nn.conv2d_backprop_filter(*site.inputs, **_windows(site)),
    "DepthwiseConv2dNative": lambda site: _depthwise(site, *site.inputs),
    "LRN": lambda site: _normalized_response(site, site.inputs[0]),
}
for _types, _make in _SHORT.items():
    row(_types)(_make)
