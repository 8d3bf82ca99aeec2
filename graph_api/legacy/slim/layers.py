"""``tf.contrib.layers``: the layers of ``tf.layers`` with an activation, a normalizer and `arg_scope` defaults.

Their variables are called ``weights`` and ``biases``, and are in the collection MODEL_VARIABLES too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of
from engine.ops.nn import softmax_op
from graph_api import summaries
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.scopes import get_variable, variable_scope
from graph_api.legacy import layers as plain
from graph_api.legacy.recompute import recompute_grad
from graph_api.legacy.slim.applied import ZEROS, channels, collected, collections_of, finished, weighted
from graph_api.legacy.slim.arg_scope import add_arg_scope
from graph_api.legacy.slim.normalizers import batch_norm, layer_norm
from graph_api.legacy.slim.weights import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)

_XAVIER = xavier_initializer()


def _relu(x: Any) -> Operand:
    return tf.relu(x)


_BEHIND = (
    "activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer biases_initializer "
    "biases_regularizer reuse variables_collections outputs_collections trainable scope"
)
_WINDOWS = "inputs num_outputs kernel_size stride padding data_format"
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_BEHIND.split()),
    "activation_fn": _relu,
    "weights_initializer": _XAVIER,
    "biases_initializer": ZEROS,
    "trainable": True,
    "stride": 1,
    "padding": "SAME",
    "data_format": "NHWC",
    "rate": 1,
    "depth_multiplier": 1,
    "pointwise_initializer": None,
    "conv_dims": None,
}
"""Of all arguments of layers with weights that have defaults."""


def _layer(arguments: str, **defaults: Any) -> Callable[[Callable[..., Operand]], Callable[..., Operand]]:
    """Decorator: a function of all arguments of a layer with weights, by name, as the layer with these arguments."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known = {**_DEFAULTS, **defaults}
    parameters = [
        inspect.Parameter(name, either, default=known.get(name, inspect.Parameter.empty)) for name in arguments.split()
    ]
    signature = inspect.Signature(parameters)

    def decorate(make: Callable[..., Operand]) -> Callable[..., Operand]:
        @functools.wraps(make)
        def layer(*args: Any, **kwargs: Any) -> Operand:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return make(**bound.arguments)

        layer.__signature__ = signature  # type: ignore[attr-defined]
        return add_arg_scope(layer)

    return decorate


@_layer(f"inputs num_outputs {_BEHIND}")
def fully_connected(**given: Any) -> Operand:
    """``activation_fn(normalizer_fn(inputs @ weights + biases))``.

    Parameters
    ----------
    inputs : tensor, shape (batch, ..., features)
    num_outputs : int
    activation_fn : callable, optional
        By default relu; None for none.
    normalizer_fn : callable, optional
        Applied to the product, without biases then.
    normalizer_params : dict, optional
        Its arguments.
    weights_initializer, biases_initializer : initializer
        Without a `biases_initializer` there are no biases.
    weights_regularizer, biases_regularizer : callable, optional
    reuse : bool, optional
    variables_collections : list or dict, optional
        Further collections of the variables; a dict has them by name.
    outputs_collections : str or list, optional
        Collections of the result.
    trainable : bool
    scope : str or VariableScope, optional
        By default ``"fully_connected"``, numbered.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.contrib.layers.fully_connected(tf.zeros([2, 3]), 4)
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (2, 4) ['fully_connected/weights:0', 'fully_connected/biases:0']
    """
    outputs = given["num_outputs"]
    if not isinstance(outputs, int):
        raise ValueError(f"num_outputs type should be one of {(int,)}, got {type(outputs).__name__}.")
    return weighted(plain.Dense, "fully_connected", given, units=outputs)


@_layer(f"{_WINDOWS} rate {_BEHIND} conv_dims", data_format=None)
def convolution(**given: Any) -> Operand:
    """``activation_fn(normalizer_fn(convolution(inputs, weights) + biases))``, of sequences, images or volumes.

    Parameters
    ----------
    inputs : tensor, shape (batch, ..., channels)
        In one, two or three spatial dimensions; `conv_dims` says in how many they must be.
    num_outputs : int
    kernel_size, stride, rate : int or one int per dimension
    padding : {"SAME", "VALID"}
    data_format : str, optional
        ``"NHWC"`` and its like, or ``"NCHW"`` and its like.
    activation_fn, normalizer_fn, ..., scope
        As in `fully_connected`; the default scope is ``"Conv"``.
    """
    shape, dims = shape_of(convert_to_tensor(given["inputs"])), given["conv_dims"]
    rank = None if shape is None else len(shape) - 2
    if rank not in (1, 2, 3) or dims not in (None, rank):
        raise ValueError(f"Convolution expects input with rank {(dims or 2) + 2}, got {shape}")
    kind = (plain.Conv1D, plain.Conv2D, plain.Conv3D)[rank - 1]
    return weighted(kind, "Conv", given, dilation_rate=given["rate"])


def _of_dims(dims: int, name: str) -> Callable[..., Any]:
    @functools.wraps(convolution)
    def call(*args: Any, **kwargs: Any) -> Operand:
        return convolution(*args, **{"conv_dims": dims, **kwargs})

    call.__name__ = call.__qualname__ = name
    # defaults are given to each of them by its own name
    call._key_op = call  # type: ignore[attr-defined]
    return add_arg_scope(call)


convolution1d, convolution2d, convolution3d = (_of_dims(d, f"convolution{d}d") for d in (1, 2, 3))
conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d


@_layer(f"{_WINDOWS} {_BEHIND}")
def conv2d_transpose(**given: Any) -> Operand:
    """The transpose of a convolution of images; arguments as in `convolution`, default scope ``"Conv2d_transpose"``."""
    return weighted(plain.Conv2DTranspose, "Conv2d_transpose", given)


@_layer(
    "inputs num_outputs kernel_size depth_multiplier stride padding data_format rate "
    + _BEHIND.replace("weights_initializer", "weights_initializer pointwise_initializer")
)
def separable_conv2d(**given: Any) -> Operand:
    """A convolution of each channel, then one of single points; arguments as in `convolution`."""
    if given["num_outputs"] is None:
        raise NotImplementedError("separable_conv2d: without `num_outputs`, use tf.nn.depthwise_conv2d")
    return weighted(
        plain.SeparableConv2D,
        "SeparableConv2d",
        given,
        ("depthwise", "pointwise"),
        dilation_rate=given["rate"],
        depth_multiplier=given["depth_multiplier"],
        pointwise_initializer=given["pointwise_initializer"] or given["weights_initializer"],
    )


def _pool(kind: Any, name: str) -> Callable[..., Any]:
    @add_arg_scope
    def pool(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = "NHWC",
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Operand:
        """The largest entry, or the mean, of each window of images."""
        with get_default_graph().name_scope(scope or name):
            arguments = {"pool_size": kernel_size, "strides": stride, "padding": padding}
            layer = kind(**arguments, data_format=channels(data_format))
            return collected(layer.call(convert_to_tensor(inputs)), outputs_collections)

    return pool


max_pool2d, avg_pool2d = _pool(plain.MaxPooling2D, "MaxPool2D"), _pool(plain.AveragePooling2D, "AvgPool2D")


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Operand:
    """All dimensions but the first made one."""
    x = convert_to_tensor(inputs)
    if shape_of(x) is not None and len(shape_of(x) or ()) < 2:
        raise ValueError(f"flatten: inputs must have a least 2 dimensions, got {shape_of(x)}")
    with get_default_graph().name_scope(scope or "Flatten"):
        return collected(plain.Flatten().call(x), outputs_collections)


@add_arg_scope
def softmax(logits: Any, scope: str | None = None) -> Operand:
    """`tf.nn.softmax` along the last dimension."""
    with get_default_graph().name_scope(scope or "softmax"):
        return softmax_op(convert_to_tensor(logits), axis=-1)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Operand:
    """While training, each element kept with probability `keep_prob` and scaled up, or else set to 0."""
    with variable_scope(scope, "Dropout", [inputs]) as opened:
        layer = plain.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, _scope=opened)
        return collected(layer.apply(inputs, training=is_training), outputs_collections)


@add_arg_scope
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Operand:
    """A row of a table, the variable ``embeddings``, for each of some integers."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and "
            f"embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size else None
        where = collections_of(None, "embeddings")
        table = get_variable("embeddings", shape, None, initializer, regularizer, trainable, where)
        return tf.gather(table, convert_to_tensor(ids))


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Operand:
    """Integer labels as rows of zeros with a one."""
    with get_default_graph().name_scope(scope or "OneHotEncoding"):
        rows = tf.one_hot(convert_to_tensor(labels), num_classes, on_value=on_value, off_value=off_value)
        return collected(rows, outputs_collections)


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = ZEROS,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Operand:
    """The inputs plus a learned bias per channel."""
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse):
        x = convert_to_tensor(inputs)
        shape = shape_of(x) or ()
        size = shape[1] if channels(data_format) == "channels_first" else shape[-1]
        where = collections_of(variables_collections, "biases")
        biases = get_variable("biases", [size], dtype_of(x), initializer, regularizer, trainable, where)
        return finished(tf.bias_add(x, biases, data_format), None, None, activation_fn, outputs_collections)


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Operand:
    """A layer applied several times, each time a new one: ``repeat(x, 3, fully_connected, 64, scope="fc")``."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        name = scope or getattr(layer, "__name__", "layer")
        for i in range(repetitions):
            inputs = layer(inputs, *args, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return inputs


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any) -> Operand:
    """Layers on top of each other, with the arguments of each: ``stack(x, fully_connected, [32, 64, 10])``."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise TypeError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        name = scope or getattr(layer, "__name__", "layer")
        for i, own in enumerate(stack_args):
            own_args = own if isinstance(own, (list, tuple)) else [own]
            inputs = layer(inputs, *own_args, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return inputs


relu = functools.partial(fully_connected, activation_fn=_relu)
relu6 = functools.partial(fully_connected, activation_fn=lambda x: tf.relu6(x))
linear = functools.partial(fully_connected, activation_fn=None)


def summarize_activation(op: Any) -> Operand:
    """A histogram of a tensor, and the fraction of zeros in the results of a relu."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summaries.scalar(f"{op.op.name}/zeros", tf.zero_fraction(op))
    if op.op.type == "Relu6":
        above = tf.cast(op == 6.0, "float32")
        summaries.scalar(f"{op.op.name}/sixes", tf.reduce_mean(above))
    return summaries.histogram(f"{op.op.name}/activation", op)


__all__ = [
    "apply_regularization",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution3d",
    "dropout",
    "embed_sequence",
    "flatten",
    "fully_connected",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "linear",
    "max_pool2d",
    "one_hot_encoding",
    "recompute_grad",
    "relu",
    "relu6",
    "repeat",
    "separable_conv2d",
    "softmax",
    "stack",
    "sum_regularizer",
    "summarize_activation",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]  # fmt: skip
