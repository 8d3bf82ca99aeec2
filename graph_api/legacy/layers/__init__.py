"""Layers of TensorFlow 1, as classes and as functions: ``tf.layers``.

The definitions are Keras's (`dualgrad.keras.layers`). A row of `_TABLE` says how TensorFlow 1 calls one of them:
the class, the function, and the arguments of both in their order. The function makes a layer and applies it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dualgrad.keras import layers as shared
from engine.core.operands import Operand
from graph_api.initial_values import ones_initializer, zeros_initializer
from graph_api.legacy.layers.base import Layer, host

_WEIGHTS = (
    "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint "
    "bias_constraint trainable name"
)
_CONV = f"filters kernel_size strides padding data_format dilation_rate activation use_bias {_WEIGHTS}"
_TRANSPOSE = f"filters kernel_size strides padding data_format activation use_bias {_WEIGHTS}"
_SEPARABLE = (
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
    "depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer pointwise_regularizer "
    "bias_regularizer activity_regularizer depthwise_constraint pointwise_constraint bias_constraint trainable name"
)
_POOL = "pool_size strides padding data_format name"
_NORM = (
    "axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint "
)
_FURTHER = "renorm renorm_clipping renorm_momentum fused virtual_batch_size adjustment"

_TABLE: tuple[tuple[type, str, str, str], ...] = (
    # class, function, arguments of the class, arguments of the function behind `inputs` where they are others
    (shared.Dense, "dense", f"units activation use_bias {_WEIGHTS}", ""),
    (shared.Conv1D, "conv1d", _CONV, ""),
    (shared.Conv2D, "conv2d", _CONV, ""),
    (shared.Conv3D, "conv3d", _CONV, ""),
    (shared.Conv2DTranspose, "conv2d_transpose", _TRANSPOSE, ""),
    (shared.Conv3DTranspose, "conv3d_transpose", _TRANSPOSE, ""),
    (shared.SeparableConv1D, "separable_conv1d", _SEPARABLE, ""),
    (shared.SeparableConv2D, "separable_conv2d", _SEPARABLE, ""),
    (shared.MaxPooling1D, "max_pooling1d", _POOL, ""),
    (shared.MaxPooling2D, "max_pooling2d", _POOL, ""),
    (shared.MaxPooling3D, "max_pooling3d", _POOL, ""),
    (shared.AveragePooling1D, "average_pooling1d", _POOL, ""),
    (shared.AveragePooling2D, "average_pooling2d", _POOL, ""),
    (shared.AveragePooling3D, "average_pooling3d", _POOL, ""),
    (shared.Dropout, "dropout", "rate noise_shape seed name", "rate noise_shape seed training name"),
    (shared.Flatten, "flatten", "data_format trainable name", "name data_format"),
    (
        shared.BatchNormalization,
        "batch_normalization",
        f"{_NORM} renorm renorm_clipping renorm_momentum fused trainable virtual_batch_size adjustment name",
        f"{_NORM} training trainable name reuse {_FURTHER}",
    ),
)
_DEFAULTS: dict[str, Any] = {
    "kernel_initializer": None,
    "depthwise_initializer": None,
    "pointwise_initializer": None,
    "bias_initializer": zeros_initializer(),
    "beta_initializer": zeros_initializer(),
    "gamma_initializer": ones_initializer(),
    "moving_mean_initializer": zeros_initializer(),
    "moving_variance_initializer": ones_initializer(),
    "rate": 0.5,
    "use_bias": True,
    "training": False,
    "trainable": True,
    "name": None,
    "reuse": None,
    **dict.fromkeys(["renorm_clipping", "fused", "virtual_batch_size", "adjustment"]),
    "renorm": False,
    "renorm_momentum": 0.99,
}
"""TensorFlow 1's defaults, where they are not Keras's."""
_REQUIRED = frozenset({"units", "filters", "kernel_size", "pool_size", "strides of a pool"})


def _signature(shared_class: type, arguments: str, first: str) -> inspect.Signature:
    """The parameters named, with their defaults."""
    keras = inspect.signature(shared_class).parameters
    pools = hasattr(shared_class, "function")
    parameters = [inspect.Parameter(first, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name in arguments.split():
        own = keras[name].default if name in keras else None
        default = _DEFAULTS.get(name, own)
        if name in _REQUIRED or (pools and name == "strides"):
            default = inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(parameters)


_UNSUPPORTED = {"renorm": False, "renorm_clipping": None, "virtual_batch_size": None, "adjustment": None}


def _supported(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments without those that must have their default, and those that choose an implementation."""
    for key, default in _UNSUPPORTED.items():
        if given.pop(key, default) not in (default, None):
            raise NotImplementedError(f"layers.{name}: argument `{key}` is not supported; leave it out")
    given.pop("renorm_momentum", None)
    return given


def _class(shared_class: type, arguments: str) -> Callable[..., Any]:
    """The class of ``tf.layers`` for a shared one."""
    bound = host.bound(shared_class)
    signature = _signature(shared_class, arguments, "self")

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        names = signature.parameters
        own = {k: kwargs.pop(k) for k in [*kwargs] if k in names}
        binding = signature.bind(self, *args, **own)
        binding.apply_defaults()
        bound = _supported(shared_class.__name__, {k: v for k, v in binding.arguments.items() if k != "self"})
        fused = bound.pop("fused", None)
        super(made, self).__init__(**bound, **kwargs)
        if "fused" in names:  # there is one implementation; TensorFlow's two differ in what their averages follow
            self.fused = fused

    initialize.__signature__ = signature  # type: ignore[attr-defined]
    body = {"__init__": initialize, "__doc__": shared_class.__doc__, "__module__": __name__}
    made: Any = type(shared_class.__name__, (bound, Layer), body)
    return made


def _function(made: Any, name: str, shared_class: type, arguments: str) -> Callable[..., Any]:
    """The function of ``tf.layers``: a layer made and applied."""
    signature = _signature(shared_class, arguments, "inputs")

    def apply(*args: Any, **kwargs: Any) -> Operand:
        binding = signature.bind(*args, **kwargs)
        binding.apply_defaults()
        bound = dict(binding.arguments)
        inputs, reuse = bound.pop("inputs"), bound.pop("reuse", None)
        call = {"training": bound.pop("training")} if "training" in bound else {}
        layer = made(**bound, _reuse=reuse, _scope=bound["name"])
        return layer.apply(inputs, **call)

    apply.__signature__ = signature  # type: ignore[attr-defined]
    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"""Make a layer `{made.__name__}` and apply it.

    With `reuse` (or in a variable scope that shares), a layer of the same `name` shares its variables.

    {inspect.cleandoc(shared_class.__doc__ or "")}"""
    return apply


_made_here = {}
for _shared_class, _name, _arguments, _others in _TABLE:
    _made = _made_here[_shared_class.__name__] = _class(_shared_class, _arguments)
    _made_here[_name] = _function(_made, _name, _shared_class, _others or f"{_arguments} reuse")
globals().update(_made_here)

if TYPE_CHECKING:
    from dualgrad.frontend.untyped import __getattr__ as __getattr__

__all__ = ["Layer", *_made_here]  # noqa: PLE0604 - they are strings
