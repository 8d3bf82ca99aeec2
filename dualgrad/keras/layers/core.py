"""The layers of everyday models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

from dualgrad.keras import activations, initializers
from dualgrad.keras import functions as tf
from dualgrad.keras.configs import REGISTERED, deserialized
from dualgrad.keras.host import Bound
from dualgrad.keras.layers.base import Layer
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, dtype_of, known_shape, shape_of
from engine.core.variable import Variable


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

    _starts_built = True

    _hands_masks_on = True

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

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {"name": self.name, "dtype": self.dtype, "batch_shape": self.aval.shape}

    def call(self, inputs: Any) -> Operand:
        """The inputs."""
        return inputs


class Input(Bound):
    """A symbol for the input of a model, to call layers with; or the first entry of a `Sequential` model.

    Parameters
    ----------
    shape : shape
        Of one element of the batch.
    batch_size : int, optional
    dtype : DType, optional
        By default `tf.keras.backend.floatx`.
    name : str, optional
    batch_shape : shape, optional
        The whole shape, with the batch dimension.
    tensor : tensor, optional
        In a graph: what to use as the input instead.

    Examples
    --------
    >>> import tape_api as tf
    >>> inputs = tf.keras.Input(shape=(3,))
    >>> hidden = tf.keras.layers.Dense(4, activation="relu")(inputs)
    >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden + 1.0))
    >>> model(tf.ones([2, 3])).shape
    TensorShape([2, 1])
    """

    def __new__(
        cls,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        batch_shape: Any = None,
        tensor: Any = None,
    ) -> Any:
        """The symbol."""
        host = cls.host
        if tensor is not None:
            return host.input(host.tensor(tensor).aval, name, tensor)
        layer = host.bound(InputLayer)(shape, batch_size, dtype, name, batch_shape=batch_shape)
        symbol = host.input(layer.aval, layer.name)
        symbol._input_layer = layer
        return symbol


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

    _hands_masks_on = True

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
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: {units=}")
        self.units = units
        self.activation = activations.get(self.host, activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(self.host, kernel_initializer)
        self.bias_initializer = initializers.get(self.host, bias_initializer)
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

    def call(self, inputs: Any) -> Operand:
        """``activation(inputs @ kernel + bias)``, over the last dimension of the inputs."""
        (expected, _), shape = known_shape(self.kernel, self.name), TensorShape(shape_of(inputs))
        if shape.rank is not None and (shape.rank < 2 or shape[-1] != expected):
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected an input of rank 2 or more "
                f"whose axis -1 has value {expected}, but received input with shape {shape}"
            )
        out = tf.matmul(tf.cast(inputs, self.kernel.dtype), self.kernel)
        bias = self.bias
        if bias is not None:
            out = self.host.named("BiasAdd", lambda x: tf.bias_add(x, bias), out)
        return out if self.activation is None else self.activation(out)


def _last(layer: Layer, input_shape: Any) -> int:
    """The size of the last dimension of the inputs, which must be known."""
    shape = TensorShape(input_shape)
    if not shape.rank or shape[-1] is None:
        raise ValueError(f"layer {layer.name!r}: the last dimension of the inputs must be known, got shape {shape}")
    return int(shape[-1])


def _rows(x: Any) -> int:
    """The size of the batch as `reshape` takes it: -1 while a model is built and does not know it."""
    size = (shape_of(x) or (None,))[0]
    return -1 if size is None else size


class Flatten(Layer):
    """All dimensions but the first made one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format

    def call(self, inputs: Any) -> Operand:
        """The inputs, of shape ``(batch, everything else)``."""
        shape = shape_of(inputs)
        if self.data_format == "channels_first" and shape is not None and len(shape) > 2:
            inputs = tf.transpose(inputs, [0, *range(2, len(shape)), 1])
        size = None if shape is None or None in shape[1:] else math.prod(d or 0 for d in shape[1:])
        if size is None:
            return tf.reshape(inputs, tf.stack([tf.shape(inputs)[0], -1]))
        return tf.reshape(inputs, (_rows(inputs), size))


class Reshape(Layer):
    """Each element of the batch in another shape, of which one dimension may be -1."""

    _starts_built = True

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Operand:
        """The inputs, of shape ``(batch, *target_shape)``."""
        shape, known = [*self.target_shape], shape_of(inputs)
        if -1 in shape and _rows(inputs) == -1:
            sizes = [] if known is None else known[1:]
            if known is None or None in sizes:
                return tf.reshape(inputs, tf.stack([tf.shape(inputs)[0], *shape]))
            shape[shape.index(-1)] = math.prod(sizes) // -math.prod(shape)  # type: ignore[arg-type]
        return tf.reshape(inputs, (_rows(inputs), *shape))


class Activation(Layer):
    """An activation function as a layer."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(self.host, activation)

    def call(self, inputs: Any) -> Operand:
        """The activation of the inputs."""
        return inputs if self.activation is None else self.activation(inputs)


class ReLU(Layer):
    """``max(x, 0)``, with a slope below and a limit above if wanted."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Operand:
        """The activation of the inputs."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """``x`` above 0, ``negative_slope * x`` below (older programs say ``alpha``)."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, negative_slope: float = 0.3, alpha: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = negative_slope if alpha is None else alpha

    def call(self, inputs: Any) -> Operand:
        """The activation of the inputs."""
        return tf.leaky_relu(inputs, alpha=self.negative_slope)


class Softmax(Layer):
    """Softmax along an axis, or several together; what a mask leaves out has the probability 0."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Operand:
        """The softmax of the inputs."""
        if mask is None:
            return activations.softmax(inputs, axis=self.axis)
        on = tf.cast(mask, "bool")
        probabilities = activations.softmax(tf.where(on, inputs, tf.cast(-1e9, dtype_of(inputs))), axis=self.axis)
        return tf.where(on, probabilities, tf.zeros_like(probabilities))


class Dropout(Layer):
    """While training, sets each input to 0 with probability `rate` and scales up the others.

    Parameters
    ----------
    rate : float
        In [0, 1]; in a graph also a scalar tensor.
    noise_shape : shape, optional
        Of the random choices, broadcast against the inputs.
    seed : int, optional
    """

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        fed = isinstance(rate, Value) and not self.host.eager
        if not fed and not 0 <= rate <= 1:
            raise ValueError(f"Dropout: argument `rate` must be a float between 0 and 1, got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self._seeds = self.host.seeds(seed) if fed or rate > 0 else None

    def call(self, inputs: Any, training: bool = False) -> Operand:
        """The inputs, with some left out while training."""
        return self.host.choose(training, lambda: self._dropped(inputs), lambda: inputs)

    def _dropped(self, inputs: Any) -> Operand:
        if self.rate == 0:
            return inputs
        if self.rate == 1:
            return tf.zeros_like(inputs)
        return self.host.dropout(inputs, self.rate, self.noise_shape, self._seeds)


class Wrapper(Layer):
    """Base of layers around another one, `layer`, which is built with them."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise ValueError(f"{type(self).__name__}: argument `layer` must be a layer, got {layer!r}")
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        """Build the layer."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True


class Lambda(Layer):
    """Any function as a layer.

    Parameters
    ----------
    function : callable
        ``function(inputs, **arguments)``.
    output_shape
        Accepted for compatibility.
    mask : tensor or callable, optional
        The mask of the outputs: ``mask(inputs, mask of the inputs)``.
    arguments : dict, optional

    Notes
    -----
    A file has the function by its name, which must be registered or given in `custom_objects`. Where older or other
    versions have put bytecode into a file, it is never run; the function must be given under the name of the layer.
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
        self.function, self.arguments, self.mask = function, arguments or {}, mask

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The layer that `get_config` describes.

        Raises
        ------
        ValueError
            If its function is not known by a name.
        """
        function, name = config.get("function"), config.get("name")
        if not callable(function):
            said = function if isinstance(function, Mapping) and function.get("class_name") == "function" else {}
            names = (said.get("registered_name"), said.get("config"), function, name)
            known = (REGISTERED.get(n) for n in names if isinstance(n, str))
            function = next((f for f in known if callable(f) and not isinstance(f, type)), None)
        if not callable(function):
            raise ValueError(
                f"Lambda layer {name!r}: its function is not known. Functions in files are looked up by their names, "
                f"never imported, and a Python lambda, which is bytecode there, is never run (in safe mode or not). "
                f"The way out: give the function under the layer's name, `custom_objects={{{name!r}: function}}`"
            )
        return cls(function, **deserialized({k: x for k, x in config.items() if k != "function"}))

    def call(self, inputs: Any) -> Operand:
        """Call the function."""
        return self.function(inputs, **self.arguments)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask that `mask` gives."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask


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
    mask_zero : bool
        Whether 0 stands for no word: the outputs have a mask that leaves it out.
    """

    embeddings: Variable

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("input_length", None)
        super().__init__(**kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.embeddings_initializer = initializers.get(self.host, embeddings_initializer)
        self._options = {"regularizer": embeddings_regularizer, "constraint": embeddings_constraint}

    def build(self, input_shape: Any) -> None:
        """Make the table."""
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            name="embeddings",
            **self._options,
        )

    def call(self, inputs: Any) -> Operand:
        """Of shape ``inputs.shape + (output_dim,)``."""
        return tf.gather(self.embeddings, tf.cast(inputs, "int32"))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Operand | None:
        """False where the input is 0, if `mask_zero`."""
        return tf.not_equal(self.host.tensor(inputs), 0) if self.mask_zero else None


class Masking(Layer):
    """Leaves steps of a sequence out whose features all have one value: they become 0, and the outputs have a mask.

    Parameters
    ----------
    mask_value : float

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.Masking()([[[1.0, 2.0], [0.0, 0.0]]])._keras_mask.numpy()
    array([[ True, False]])
    """

    _starts_built = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Operand:
        """True where a feature has another value."""
        return tf.reduce_any(tf.not_equal(self.host.tensor(inputs), self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Operand:
        """The inputs, with zeros for what is left out."""
        kept = tf.reduce_any(tf.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        return tf.where(kept, inputs, tf.zeros_like(inputs))
