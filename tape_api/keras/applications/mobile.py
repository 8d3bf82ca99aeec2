"""MobileNet and MobileNetV2.

References
----------
A. G. Howard et al., MobileNets: efficient convolutional neural networks for mobile vision applications,
arXiv:1704.04861. M. Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, arXiv:1801.04381.
"""

from __future__ import annotations

from typing import Any

from tape_api.keras.applications.common import (
    check_weights,
    decode_predictions,
    finished,
    first,
    layers,
    normal,
    pooled,
    shape_of_input,
)
from tape_api.keras.applications.common import preprocess_input as _preprocess


def _size(shape: Any, known: tuple[int, ...]) -> int:
    """The usual size of a square image among those that weights are known for."""
    return shape[0] if shape is not None and shape[0] == shape[1] and shape[0] in known else 224


def _check(alpha: float, known: tuple[float, ...], weights: Any) -> None:
    if weights == "imagenet" and alpha not in known:
        raise ValueError(
            f"If imagenet weights are being loaded, alpha can be one of {', '.join(map(str, known))} only. Received: "
            f"alpha={alpha}"
        )


def _clipped(x: Any, name: str) -> Any:
    return layers.ReLU(6.0, name=name)(x)


def MobileNet(
    input_shape: Any = None, alpha: float = 1.0, depth_multiplier: int = 1, dropout: float = 1e-3,
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, pooling: Any = None,
    classes: int = 1000, classifier_activation: Any = "softmax", name: str | None = None,
) -> Any:  # fmt: skip
    """A network of separable convolutions.

    Parameters
    ----------
    input_shape, include_top, weights, input_tensor, pooling, classes, classifier_activation
        As in `VGG19`.
    alpha : float
        Multiplies the number of channels.
    depth_multiplier : int
        Of the depthwise convolutions.
    dropout : float
    name : str, optional

    Returns
    -------
    Model
    """
    check_weights(weights, include_top, classes)
    _check(alpha, (0.25, 0.5, 0.75, 1.0), weights)
    if weights == "imagenet" and depth_multiplier != 1:
        raise ValueError(
            f"If imagenet weights are being loaded, depth multiplier must be 1. Received: {depth_multiplier}"
        )
    default = _size(input_shape, (128, 160, 192, 224))
    shape = shape_of_input(input_shape, default, 32, include_top, weights)
    rows = shape[0] if shape[0] in (128, 160, 192, 224) else 224
    x = inputs = first(input_tensor, shape)
    x = layers.Conv2D(int(32 * alpha), 3, padding="same", use_bias=False, strides=2, name="conv1")(x)
    x = _clipped(normal(x, "conv1_bn"), "conv1_relu")
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for i, (width, strides) in enumerate(blocks, 1):
        if strides == 2:
            x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
        x = layers.DepthwiseConv2D(
            3, padding="same" if strides == 1 else "valid", depth_multiplier=depth_multiplier, strides=strides,
            use_bias=False, name=f"conv_dw_{i}",
        )(x)  # fmt: skip
        x = _clipped(normal(x, f"conv_dw_{i}_bn"), f"conv_dw_{i}_relu")
        x = layers.Conv2D(int(width * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
        x = _clipped(normal(x, f"conv_pw_{i}_bn"), f"conv_pw_{i}_relu")
    if include_top:
        x = layers.GlobalAveragePooling2D(keepdims=True)(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        x = layers.Activation(classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling)
    text = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0"}.get(alpha, "2_5")
    files = {top: (f"mobilenet/mobilenet_{text}_{rows}_tf{'' if top else '_no_top'}.h5", "") for top in (True, False)}
    return finished(inputs, x, name or f"mobilenet_{alpha:0.2f}_{shape[0]}", weights, files, include_top)


def _divisible(v: float) -> int:
    """The nearest multiple of 8, not less than 0.9 of the number."""
    new = max(8, int(v + 4) // 8 * 8)
    return new + 8 if new < 0.9 * v else new


def _inverted(x: Any, number: int, expansion: int, strides: int, alpha: float, width: int) -> Any:
    """An inverted residual: more channels, a depthwise convolution, fewer channels."""
    before, channels, thin = x, int(x.shape[-1]), _divisible(int(width * alpha))
    prefix = f"block_{number}_" if number else "expanded_conv_"
    how = {"epsilon": 1e-3, "momentum": 0.999}
    if number:
        x = layers.Conv2D(expansion * channels, 1, padding="same", use_bias=False, name=f"{prefix}expand")(x)
        x = _clipped(normal(x, f"{prefix}expand_BN", **how), f"{prefix}expand_relu")
    if strides == 2:
        ends = [(1 if d is None else 0 if d % 2 == 0 else 1, 1) for d in x.shape[1:3]]
        if x.shape[1] is None:
            ends = [(0, 1), (0, 1)]
        x = layers.ZeroPadding2D(tuple(ends), name=f"{prefix}pad")(x)
    x = layers.DepthwiseConv2D(
        3, strides=strides, use_bias=False, padding="same" if strides == 1 else "valid", name=f"{prefix}depthwise"
    )(x)
    x = _clipped(normal(x, f"{prefix}depthwise_BN", **how), f"{prefix}depthwise_relu")
    x = layers.Conv2D(thin, 1, padding="same", use_bias=False, name=f"{prefix}project")(x)
    x = normal(x, f"{prefix}project_BN", **how)
    return layers.Add(name=f"{prefix}add")([before, x]) if channels == thin and strides == 1 else x


def MobileNetV2(
    input_shape: Any = None, alpha: float = 1.0, include_top: bool = True, weights: Any = "imagenet",
    input_tensor: Any = None, pooling: Any = None, classes: int = 1000, classifier_activation: Any = "softmax",
    name: str | None = None,
) -> Any:  # fmt: skip
    """A network of inverted residuals; see `MobileNet`."""
    check_weights(weights, include_top, classes)
    sizes = (96, 128, 160, 192, 224)
    _check(alpha, (0.35, 0.5, 0.75, 1.0, 1.3, 1.4), weights)
    shape = shape_of_input(input_shape, _size(input_shape, sizes), 32, include_top, weights)
    rows = shape[0] if shape[0] == shape[1] and shape[0] in sizes else 224
    x = inputs = first(input_tensor, shape)
    x = layers.Conv2D(_divisible(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1")(x)
    x = _clipped(normal(x, "bn_Conv1", epsilon=1e-3, momentum=0.999), "Conv1_relu")
    blocks = [(16, 1, 1), (24, 2, 6), (24, 1, 6), (32, 2, 6), *[(32, 1, 6)] * 2, (64, 2, 6), *[(64, 1, 6)] * 3]
    blocks += [*[(96, 1, 6)] * 3, (160, 2, 6), *[(160, 1, 6)] * 2, (320, 1, 6)]
    for i, (width, strides, expansion) in enumerate(blocks):
        x = _inverted(x, i, expansion, strides, alpha, width)
    x = layers.Conv2D(_divisible(1280 * alpha) if alpha > 1 else 1280, 1, use_bias=False, name="Conv_1")(x)
    x = _clipped(normal(x, "Conv_1_bn", epsilon=1e-3, momentum=0.999), "out_relu")
    if include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling)
    stem = f"mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{rows}"
    files = {top: (f"{stem}{'' if top else '_no_top'}.h5", "") for top in (True, False)}
    return finished(inputs, x, name or f"mobilenetv2_{alpha:0.2f}_{shape[0]}", weights, files, include_top)


def preprocess_input(x: Any, data_format: Any = None) -> Any:
    """Pixels as these networks were trained with them: from -1 to 1."""
    return _preprocess(x, data_format, "tf")


__all__ = ["MobileNet", "MobileNetV2", "decode_predictions", "preprocess_input"]
