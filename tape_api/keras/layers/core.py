"""The layers of everyday models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.tensor_shape import TensorShape
from tape_api import random
from tape_api.keras import activations, initializers
from tape_api.keras.layers.base import Layer
from tape_api.keras.symbolic import new_input
from tape_api.library import root as tf
from tape_api.variable import Variable


class InputLayer(Layer):
    """Says what the inputs of a `Sequential` model look like.

    Parameters
    ----------
    input_shape, shape : shape
        Of one element of the batch.
    batch_size : int, optional
    batch_shape, batch_input_shape : shape, optional
        The whole shape, with the batch dimension.
    dtype : DType, optional
    name : str, optional
    """

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        *,
        shape: Any = None,
        batch_shape: Any = None,
        batch_input_shape: Any = None,
    ) -> None:
        whole = batch_shape if batch_input_shape is None else batch_input_shape
        if whole is None:
            inner = shape if input_shape is None else input_shape
            if inner is None:
                raise ValueError(f"{type(self).__name__}: argument `shape` must be given")
            whole = (batch_size, *TensorShape(inner))
        super().__init__(name=name, dtype=dtype, batch_input_shape=whole)
        self.aval = Aval(TensorShape(whole).as_tuple(), as_dtype(self.dtype))

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    name: str | None = None,
    batch_shape: Any = None,
) -> Any:
    """A symbol for the input of a model, to call layers with; or the first entry of a `Sequential` model.

    Parameters
    ----------
    shape : shape
        Of one element of the batch.
    batch_size : int, optional
    dtype : DType, optional
        By default `tape_api.keras.backend.floatx`.
    name : str, optional
        Accepted for compatibility.
    batch_shape : shape, optional
        The whole shape, with the batch dimension.

    Examples
    --------
    >>> import tape_api as tf
    >>> inputs = tf.keras.Input(shape=(3,))
    >>> hidden = tf.keras.layers.Dense(4, activation="relu")(inputs)
    >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden + 1.0))
    >>> model(tf.ones([2, 3])).shape
    TensorShape([2, 1])
    """
    return new_input(InputLayer(shape, batch_size, dtype, name, batch_shape=batch_shape).aval)


class Dense(Layer):
    """``activation(inputs @ kernel + bias)``.

    Parameters
    ----------
    units : int
        Number of outputs.
    activation : str or callable, optional
    use_bias : bool
    kernel_initializer, bias_initializer : str or callable
    kernel_regularizer, bias_regularizer : str or callable, optional
    kernel_constraint, bias_constraint : callable, optional
    **kwargs
        Those of `Layer`: `name`, `input_shape`, `input_dim`, `dtype`, ...

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    >>> layer([[1.0, 2.0, 3.0]]).numpy()
    array([[6., 6.]], dtype=float32)
    """

    kernel: Variable
    bias: Variable | None

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: {units=}")
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self._kernel_options = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._bias_options = {"regularizer": bias_regularizer, "constraint": bias_constraint}

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        size = _last(self, input_shape)
        self.kernel = self.add_weight(
            shape=(size, self.units), initializer=self.kernel_initializer, name="kernel", **self._kernel_options
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape=(self.units,), initializer=self.bias_initializer, name="bias", **self._bias_options
            )

    def call(self, inputs: Any) -> Any:
        """``activation(inputs @ kernel + bias)``, over the last dimension of the inputs."""
        expected, shape = self.kernel.shape[0], inputs.shape
        if shape.rank is not None and (shape.rank < 2 or shape[-1] != expected):
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected an input of rank 2 or more "
                f"whose axis -1 has value {expected}, but received input with shape {shape}"
            )
        out = tf.matmul(tf.cast(inputs, self.kernel.dtype), self.kernel)
        if self.bias is not None:
            out = tf.nn.bias_add(out, self.bias)
        return self.activation(out)


def _last(layer: Layer, input_shape: Any) -> int:
    """The size of the last dimension of the inputs, which must be known."""
    shape = TensorShape(input_shape)
    if not shape.rank or shape[-1] is None:
        raise ValueError(f"layer {layer.name!r}: the last dimension of the inputs must be known, got shape {shape}")
    return int(shape[-1])


def _rows(shape: Any) -> int:
    """The size of the batch as `reshape` takes it: -1 while a model is built and does not know it."""
    return -1 if shape[0] is None else shape[0]


class Flatten(Layer):
    """All dimensions but the first made one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format

    def call(self, inputs: Any) -> Any:
        """The inputs, of shape ``(batch, everything else)``."""
        shape = inputs.shape
        return tf.reshape(inputs, (_rows(shape), shape[1:].num_elements()))


class Reshape(Layer):
    """Each element of the batch in another shape, of which one dimension may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        """The inputs, of shape ``(batch, *target_shape)``."""
        return tf.reshape(inputs, (_rows(inputs.shape), *self.target_shape))


class Activation(Layer):
    """An activation function as a layer."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        """The activation of the inputs."""
        return self.activation(inputs)


class ReLU(Layer):
    """``max(x, 0)``, with a slope below and a limit above if wanted."""

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        """The activation of the inputs."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """``x`` above 0, ``negative_slope * x`` below (older programs say ``alpha``)."""

    def __init__(self, negative_slope: float = 0.3, alpha: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = negative_slope if alpha is None else alpha

    def call(self, inputs: Any) -> Any:
        """The activation of the inputs."""
        return tf.nn.leaky_relu(inputs, alpha=self.negative_slope)


class Softmax(Layer):
    """Softmax along an axis."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        """The softmax of the inputs."""
        return tf.nn.softmax(inputs, axis=self.axis)


class Dropout(Layer):
    """While training, sets each input to 0 with probability `rate` and scales up the others.

    Parameters
    ----------
    rate : float
        In [0, 1].
    noise_shape : shape, optional
        Of the random choices, broadcast against the inputs.
    seed : int, optional
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError(f"Dropout: argument `rate` must be a float between 0 and 1, got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: bool = False) -> Any:
        """The inputs, with some left out while training."""
        if not training or self.rate == 0:
            return inputs
        if self.rate == 1:
            return tf.zeros_like(inputs)
        return random.dropout(inputs, self.rate, self.noise_shape, self.seed)


class Lambda(Layer):
    """Any function as a layer.

    Parameters
    ----------
    function : callable
        ``function(inputs, **arguments)``.
    output_shape, mask
        Accepted for compatibility.
    arguments : dict, optional
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, arguments or {}

    def call(self, inputs: Any) -> Any:
        """What the function returns."""
        return self.function(inputs, **self.arguments)


class Concatenate(Layer):
    """A list of inputs joined along an axis."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        """The inputs, joined."""
        return tf.concat(inputs, axis=self.axis)


class Add(Layer):
    """The sum of a list of inputs."""

    def call(self, inputs: Any) -> Any:
        """The sum, with broadcasting."""
        total = inputs[0]
        for x in inputs[1:]:
            total = tf.add(total, x)
        return total


class Embedding(Layer):
    """A row of a table for each integer.

    Parameters
    ----------
    input_dim : int
        Number of rows.
    output_dim : int
        Length of a row.
    embeddings_initializer, embeddings_regularizer, embeddings_constraint
        Of the table.
    """

    embeddings: Variable

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("input_length", None)
        super().__init__(**kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self._options = {"regularizer": embeddings_regularizer, "constraint": embeddings_constraint}

    def build(self, input_shape: Any) -> None:
        """Make the table."""
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            name="embeddings",
            **self._options,
        )

    def call(self, inputs: Any) -> Any:
        """Of shape ``inputs.shape + (output_dim,)``."""
        return tf.gather(self.embeddings, tf.cast(inputs, "int32"))


__all__ = [
    "Activation",
    "Add",
    "Concatenate",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "Input",
    "InputLayer",
    "Lambda",
    "LeakyReLU",
    "ReLU",
    "Reshape",
    "Softmax",
]
