"""Models: ``tf.keras.Model`` and ``tf.keras.Sequential``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.core import nest
from engine.core.aval import Aval
from engine.core.tape import paused
from engine.core.tensor_shape import TensorShape
from engine.core.trace import Trace
from tape_api.keras.backend import unique_name
from tape_api.keras.layers import InputLayer, Layer
from tape_api.keras.symbolic import KerasTensor, evaluate, layers_of, ordered
from tape_api.keras.training import Trainer


class Model(Trainer, Layer):
    """A layer that can be trained as a whole. Subclass it and define `call`.

    Layers among the attributes (also in lists and dicts) are part of the model.

    Examples
    --------
    >>> import tape_api as tf
    >>> class Line(tf.keras.Model):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.dense = tf.keras.layers.Dense(1)
    ...     def call(self, inputs):
    ...         return self.dense(inputs)
    >>> model = Line()
    >>> model(tf.ones([4, 2])).shape, len(model.trainable_variables)
    (TensorShape([4, 1]), 2)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A `Functional` model, if inputs and outputs are given."""
        if cls is Model and (args or "inputs" in kwargs):
            return super().__new__(Functional)
        return super().__new__(cls)

    @property
    def layers(self) -> list[Layer]:
        """The layers that the model holds directly."""
        return list({id(m): m for m in self._members() if isinstance(m, Layer)}.values())

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of that name, or at that place."""
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name!r}. Existing layers are: {[layer.name for layer in self.layers]}")

    def summary(self, print_fn: Callable[[str], Any] | None = None, **ignored: Any) -> None:
        """Print the layers with the shapes of their outputs and the numbers of their weights."""
        for line in self._summary():
            (print_fn or print)(line)

    def _summary(self) -> list[str]:
        rows = [("Layer (type)", "Output shape", "Params")]
        for layer in self.layers:
            shape = layer._output_shape
            count = f"{layer.count_params():,}" if layer.built or not layer.weights else "? (unbuilt)"
            rows.append((f"{layer.name} ({type(layer).__name__})", "?" if shape is None else str(shape), count))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        rule = "-" * len(lines[0])
        trained = sum(int(v.shape.num_elements() or 0) for v in self.trainable_weights)
        total = self.count_params()
        return [
            f'Model: "{self.name}"',
            rule,
            lines[0],
            rule,
            *lines[1:],
            rule,
            f"Total params: {total:,}",
            f"Trainable params: {trained:,}",
            f"Non-trainable params: {total - trained:,}",
        ]


class Sequential(Model):
    """Layers applied one after the other.

    Parameters
    ----------
    layers : sequence of Layer, optional
        If the first one knows its input's shape (``input_shape=``, or an `Input`), all are built at once, else when
        the model is called.
    name : str, optional

    Examples
    --------
    >>> import tape_api as tf
    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu", input_shape=(2,))])
    >>> model.add(tf.keras.layers.Dense(1))
    >>> [v.shape.as_list() for v in model.trainable_variables]
    [[2, 3], [3], [3, 1], [1]]
    """

    def __init__(self, layers: Sequence[Layer] | None = None, name: str | None = None, trainable: bool = True) -> None:
        super().__init__(name=name, trainable=trainable)
        self._stack: list[Layer] = []
        self._shape_known: Any = None
        for layer in layers or ():
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Put a layer (or a function, as one) on top."""
        if isinstance(layer, KerasTensor):
            layer = InputLayer(batch_shape=layer.shape, dtype=layer.dtype)
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} "
                f"(of type {type(layer).__name__})"
            )
        if not self._stack and layer._input_shape is not None:
            self._shape_known = layer._input_shape
        self._stack.append(layer)
        if self._shape_known is not None:
            self._shape_known = self._output_of(layer, self._shape_known)
            self.built = True

    def pop(self) -> None:
        """Take the last layer away."""
        if not self._stack:
            raise ValueError("There are no layers in the model.")
        self._stack.pop()
        if self._shape_known is not None:
            self._shape_known = self._stack[-1]._output_shape if self._stack else None

    def _output_of(self, layer: Layer, shape: Any) -> Any:
        """Build a layer for the given input, by calling it on a symbol; the shape of its output."""
        trace = Trace()
        with paused():
            out = layer(trace.placeholder(Aval(TensorShape(shape).as_tuple(), layer._dtype)))
        layer._output_shape = out.shape
        return out.shape

    def build(self, input_shape: Any = None) -> None:
        """Build all layers for inputs of the given shape (with the batch dimension)."""
        if input_shape is None or self._shape_known is not None:
            return
        shape = TensorShape(input_shape)
        for layer in self._stack:
            shape = self._output_of(layer, shape)
        self._shape_known = shape
        self.built = True

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """What the last layer makes of it."""
        for layer in self._stack:
            inputs = layer(inputs)
        return inputs

    @property
    def layers(self) -> list[Layer]:
        """The layers, without an `InputLayer`."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]


class Functional(Model):
    """What ``Model(inputs, outputs)`` makes: the layers that were called on the way from inputs to outputs.

    Parameters
    ----------
    inputs, outputs : symbol, or structure of symbols
        From `keras.Input`, and what layers and functions made of it. Variables belong into layers: one that is used
        between them counts with the value that it has now.
    name : str, optional
    trainable : bool

    Raises
    ------
    ValueError
        If the outputs depend on an input that is not given.
    """

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, trainable: bool = True) -> None:
        for x in (*nest.flatten(inputs), *nest.flatten(outputs)):
            if not isinstance(x, KerasTensor):
                raise ValueError(f"Model: inputs and outputs must come from keras.Input, got {x!r}")
        super().__init__(name=name or unique_name("functional"), trainable=trainable)
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._structure = inputs, outputs
        self._order = ordered(self.outputs, self.inputs)
        self._stack = layers_of(self._order)
        self.built = True

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """The outputs for the given inputs."""
        given = nest.flatten(inputs)
        if len(given) != len(self.inputs):
            raise ValueError(f"model {self.name!r} takes {len(self.inputs)} inputs, got {len(given)}")
        for x, symbol in zip(given, self.inputs, strict=True):
            if not x.shape.is_compatible_with(symbol.shape):
                raise ValueError(f"model {self.name!r}: an input must have shape {symbol.shape}, got {x.shape}")
        values = dict(zip(map(id, self.inputs), given, strict=True))
        evaluate(self._order, values)
        return nest.pack_sequence_as(self._structure[1], [values[id(x)] for x in self.outputs])

    @property
    def layers(self) -> list[Layer]:
        """The layers called, each once, in order."""
        return self._stack
