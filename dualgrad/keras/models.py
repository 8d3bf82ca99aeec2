"""Models: ``tf.keras.Model`` and ``tf.keras.Sequential``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any, Self

import numpy as np

from dualgrad.files import limits
from dualgrad.keras import functions as tf
from dualgrad.keras.calls import described, made_again
from dualgrad.keras.configs import deserialized, serialized
from dualgrad.keras.layers import RNN, InputLayer, Layer
from dualgrad.keras.layers.base import map_shapes, symbolic
from dualgrad.keras.masks import handed_on, masked
from dualgrad.keras.settings import unique_name
from dualgrad.keras.symbolic import evaluate, layers_of, ordered
from dualgrad.keras.training import Trainer
from engine.core import nest
from engine.core.aval import Aval
from engine.core.operands import Operand
from engine.core.tape import paused
from engine.core.tensor_shape import TensorShape
from engine.core.value import aval_of


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

    if _TYPE_CHECKING:
        # files are the tape API's, which adds these (`tape_api.keras.models`)
        def save(self, filepath: Any, overwrite: bool = True, **more: Any) -> None: ...  # noqa: D102
        def to_json(self, **options: Any) -> Any: ...  # noqa: D102
        def export(self, filepath: Any, format: str = "tf_saved_model", **options: Any) -> None: ...  # noqa: D102
        def save_weights(self, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None: ...  # noqa: D102
        def load_weights(self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False) -> Any: ...  # noqa: D102

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A `Functional` model, if inputs and outputs are given."""
        if cls is cls.host.bound(Model) and (args or "inputs" in kwargs):
            return super().__new__(cls.host.bound(Functional), *args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Of a subclass too: inputs and outputs make a `Functional` of it, with the methods of the subclass."""
        ends = (*args[:2], *[kwargs[key] for key in ("inputs", "outputs") if key in kwargs])
        if len(ends) > 1 and all(isinstance(x, self.host.symbols.kind) for x in nest.flatten(ends)):
            if not isinstance(self, Functional):
                self.__class__ = _functional_form(type(self), self.host.bound(Functional))  # type: ignore[arg-type]
            Functional.__init__(self, *args, **kwargs)  # type: ignore[arg-type]
            return
        super().__init__(*args, **kwargs)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The model that `get_config` describes, with new weights: one of layers, if that names them."""
        if not {"layers", "input_layers", "output_layers"} <= set(config):
            return super().from_config(config)
        return cls(*made_again(cls.host, config), name=config.get("name"), trainable=config.get("trainable", True))

    inputs: Any = ()
    outputs: Any = ()

    @property
    def input(self) -> Operand:
        """The symbol for the input, or a list of them: a placeholder in a graph."""
        return self._only("input", self.inputs)

    @property
    def output(self) -> Operand:
        """The output of the model for `input`, or a list of them: a tensor in a graph."""
        return self._only("output", self.outputs)

    def input_avals(self) -> Any:
        """Shapes and dtypes of what it takes, for any number of examples.

        Raises
        ------
        ValueError
            If it was neither built of symbols nor called.
        """
        given = self._structure[0] if isinstance(self, Functional) else self.inputs or self._built_for
        if given is None:
            raise ValueError(
                f"the model {self.name!r} does not know its inputs: build it of keras.Input, or call it on data first"
            )
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
        return nest.map_structure(lambda x: _of_any_number(aval_of(x)), given)

    def input_keywords(self) -> list[str]:
        """Names for the inputs: those of the symbols, or numbered ones."""
        named = [str(getattr(x, "name", "") or "").partition(":")[0] for x in nest.flatten(self.inputs)]
        return named if named and all(named) else [f"args_{i}" for i in range(len(nest.flatten(self.input_avals())))]

    _built_for: Any = None

    def build(self, input_shape: Any = None) -> None:
        """Build all layers for inputs of the given shapes (with the batch dimension): the model is called with zeros.

        Parameters
        ----------
        input_shape : tuple of int or None, or a dict or list of these
        """
        if input_shape is not None and not self.built and self._built_for is None:
            self(map_shapes(_zeros, input_shape))

    def _build_for(self, first: Any, by_name: Mapping[str, Any]) -> None:
        self._built_for = nest.map_structure(lambda x: aval_of(x), first)
        super()._build_for(first, by_name)

    def _only(self, what: str, symbols: Sequence[Any]) -> Any:
        if not symbols:
            raise AttributeError(f"model {self.name!r} has no `{what}`: it was not built from keras.Input or a shape")
        return symbols[0] if len(symbols) == 1 else list(symbols)

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

    def reset_states(self) -> None:
        """Let recurrent layers that keep their states begin with zeros again."""
        for layer in self.layers:
            if isinstance(layer, (RNN, Model)):
                layer.reset_states()

    def summary(self, print_fn: Callable[[str], Any] | None = None, **ignored: Any) -> None:
        """Print the layers with the shapes of their outputs and the numbers of their weights."""
        for line in self._summary():
            (print_fn or print)(line)

    def _summary(self) -> list[str]:
        rows = [("Layer (type)", "Output shape", "Params")]
        for layer in self.layers:
            shape = layer.output_shape if layer._calls else None
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
        self._tops: list[Any] = []
        for layer in layers or ():
            self.add(layer)

    def get_config(self) -> dict[str, Any]:
        """The name and the layers, and the shape of the inputs if it is known."""
        shape = TensorShape(self._tops[0].shape).as_tuple() if self._tops else None
        return {"name": self.name, "layers": [serialized(layer) for layer in self._stack], "build_input_shape": shape}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The model that `get_config` describes, with new weights."""
        made = cls([deserialized(layer) for layer in config["layers"]], name=config.get("name"))
        if config.get("build_input_shape"):
            made.build(config["build_input_shape"])
        return made

    def add(self, layer: Any) -> None:
        """Put a layer (or a function, as one) on top."""
        if isinstance(layer, self.host.symbols.kind):
            layer = self.host.bound(InputLayer)(batch_shape=layer.shape, dtype=layer.dtype)
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} "
                f"(of type {type(layer).__name__})"
            )
        if not self._stack and layer._input_shape is not None:
            aval = Aval(layer._input_shape.as_tuple(), layer._dtype)
            self._tops = [self.host.symbol(aval, f"{layer.name}_input")]
        self._stack.append(layer)
        if self._tops:
            self._call_on_top(layer)
            self.built = True

    def pop(self) -> None:
        """Take the last layer away."""
        if not self._stack:
            raise ValueError("There are no layers in the model.")
        self._stack.pop()
        self._tops = self._tops[:-1] if self._stack else []

    def _call_on_top(self, layer: Layer) -> None:
        """Build a layer, by calling it on a symbol for what comes out of the layers below."""
        with paused(), symbolic(False):
            out = layer(self._tops[-1])
        self._tops.append(out)

    def build(self, input_shape: Any = None) -> None:
        """Build all layers for inputs of the given shape (with the batch dimension)."""
        if input_shape is None or self._tops or not self._stack:
            return
        first = self._stack[0]
        self._tops = [self.host.symbol(Aval(TensorShape(input_shape).as_tuple(), first._dtype), f"{first.name}_input")]
        for layer in self._stack:
            self._call_on_top(layer)
        self.built = True

    @property
    def inputs(self) -> list[Any]:
        """Symbols for the inputs, once the model is built: placeholders in a graph."""
        return nest.flatten(self._tops[0]) if self._tops else []

    @property
    def outputs(self) -> list[Any]:
        """The outputs of the model for `inputs`."""
        return nest.flatten(self._tops[-1]) if self._tops else []

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Operand:
        """The output of the last layer."""
        said = {"training": training} if self.host.eager and training is not None else {}
        if isinstance(inputs, (list, tuple)) and len(inputs) == 1 and self._tops and not nest.is_nested(self._tops[0]):
            (inputs,) = inputs
        if self.host.eager and self._tops and not nest.is_nested(self._tops[0]):
            inputs = _like_input(inputs, self._tops[0])
        inputs = masked(inputs, mask)
        for layer in self._stack:
            inputs = layer(inputs, **(said or layer._default_training()))
        return inputs

    @property
    def output_names(self) -> list[str]:
        """The name of the last layer."""
        return [layer.name for layer in self._stack[-1:]]

    @property
    def layers(self) -> list[Layer]:
        """The layers, without an `InputLayer`."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]


def _zeros(shape: Any) -> Any:
    dims = [1 if n is None else n for n in shape or ()]
    limits.spend(4 * math.prod(dims), f"a model for inputs of shape {dims}")
    return np.zeros(dims, np.float32)


def _like_input(x: Any, symbol: Any) -> Any:
    """An input in the dtype of the model's, and with a last dimension of 1 more or less if that is all it lacks."""
    have, wanted = x.shape.rank, symbol.shape.rank
    if have is not None and wanted is not None:
        if have == wanted - 1 and symbol.shape[-1] == 1:
            x = handed_on(x, tf.expand_dims(x, -1))
        elif have == wanted + 1 and x.shape[-1] == 1:
            x = handed_on(x, tf.squeeze(x, [-1]))
    is_number = "string" not in (x.dtype.name, symbol.dtype.name)
    return handed_on(x, tf.cast(x, symbol.dtype)) if is_number and x.dtype is not symbol.dtype else x


class Functional(Model):
    """A model made by ``Model(inputs, outputs)``: the layers that were called on the way from inputs to outputs.

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
            if not isinstance(x, self.host.symbols.kind):
                raise ValueError(f"Model: inputs and outputs must come from keras.Input, got {x!r}")
        kind = self.host.bound(Functional)
        super().__init__(
            name=name or (unique_name(self.host, "functional") if type(self) is kind else None), trainable=trainable
        )
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._structure = inputs, outputs
        self._symbolic_losses: list[Any] = []
        self._order_layers()
        self.built = True

    def _order_layers(self) -> None:
        ends = [*self.outputs, *self._symbolic_losses]
        self._order = ordered(self.host.symbols, ends, self.inputs)
        self._stack = layers_of(self.host.symbols, ends, self.inputs, self._input_layer)

    def add_loss(self, losses: Any) -> None:
        """Add a loss of each call: a symbol that is computed from the inputs, such as a divergence of an encoder."""
        symbols = nest.flatten(losses)
        if not self.host.eager or not all(self.host.symbols.are_among(x) for x in symbols):
            super().add_loss(losses)
            return
        self._symbolic_losses += symbols
        self._order_layers()

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """The outputs for the given inputs."""
        tensors = self._given(inputs)
        if len(tensors) != len(self.inputs):
            raise ValueError(f"model {self.name!r} takes {len(self.inputs)} inputs, got {len(tensors)}")
        if self.host.eager:
            tensors = [_like_input(x, symbol) for x, symbol in zip(tensors, self.inputs, strict=True)]
        for x, symbol in zip(tensors, self.inputs, strict=True):
            if not x.shape.is_compatible_with(symbol.shape):
                raise ValueError(f"model {self.name!r}: an input must have shape {symbol.shape}, got {x.shape}")
        masks = [None] * len(tensors) if mask is None else nest.flatten(mask)
        values = dict(zip(map(id, self.inputs), map(masked, tensors, masks), strict=True))
        said = {"training": training} if self.host.eager and training is not None else {}
        evaluate(self.host.symbols, self._order, values, said)
        super().add_loss([values[id(x)] for x in self._symbolic_losses])
        return nest.pack_sequence_as(self._structure[1], [values[id(x)] for x in self.outputs])

    def _given(self, inputs: Any) -> list[Any]:
        """The inputs in their order: dicts are taken apart by the keys, or the names, of `keras.Input`."""
        wanted = self._structure[0]
        if not isinstance(inputs, Mapping):
            return nest.flatten(inputs)
        names = sorted(wanted) if isinstance(wanted, Mapping) else self.input_names
        missing = [name for name in names if name not in inputs]
        if missing:
            raise ValueError(f"model {self.name!r}: there are no inputs {missing}, got {sorted(inputs)}")
        return nest.flatten([inputs[name] for name in names])

    def get_config(self) -> dict[str, Any]:
        """The name, the layers, and what each was called with.

        Raises
        ------
        NotImplementedError
            If the outputs depend on something done between layers.
        """
        inner = described(self)
        return {"name": self.name, "trainable": self.trainable, **inner}

    def _input_layer(self, x: Any) -> Layer:
        """The layer that stands for an input."""
        layer: Layer | None = getattr(x, "_input_layer", None)
        if layer is None:
            name = str(x.name).partition(":")[0]
            layer = self.host.bound(InputLayer)(batch_shape=x.shape, dtype=x.dtype, name=name)
            x._input_layer = layer
        return layer

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [str(x.name).partition(":")[0] for x in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers that the outputs came from."""
        calls = [self.host.symbols.call_of(x) for x in self.outputs]
        return [
            x.name if call is None else getattr(call.layer, "name", "")
            for x, call in zip(self.outputs, calls, strict=True)
        ]

    @property
    def layers(self) -> list[Layer]:
        """The layers called, each once, and those that stand for inputs: the ones furthest from the outputs first."""
        return self._stack


def _of_any_number(aval: Aval) -> Aval:
    return Aval((None, *(aval.shape or (None,))[1:]), aval.dtype)


@functools.cache
def _functional_form(subclass: type, functional: type) -> type:
    """A user's subclass of Model as one of `Functional`."""
    return type(subclass)(subclass.__name__, (subclass, functional), {"__module__": subclass.__module__})


def clone_model(
    host: Any, model: Model, input_tensors: Any = None, clone_function: Callable[[Layer], Layer] | None = None
) -> Model:
    """A copy of a model, with new layers and new weights.

    Parameters
    ----------
    model : Model
        A `Sequential` model, or one made of inputs and outputs.
    input_tensors
        Must be None: the copy has inputs of its own.
    clone_function : callable, optional
        ``clone_function(layer)``: what stands for a layer, by default one of the same configuration.

    Raises
    ------
    ValueError
        If it is a model of another kind.
    NotImplementedError
        If `input_tensors` are given.

    Examples
    --------
    >>> import tape_api as tf
    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="first")])
    >>> copy = tf.keras.models.clone_model(model)
    >>> copy.layers[0].name, copy.layers[0] is model.layers[0]
    ('first', False)
    """
    if input_tensors is not None:
        raise NotImplementedError("clone_model: argument `input_tensors` is not supported; call the copy with them")

    def copied(layer: Any) -> Any:
        if isinstance(layer, InputLayer):
            return layer.from_config(layer.get_config())
        if isinstance(layer, Model) and clone_function is None:
            return clone_model(host, layer)
        return (clone_function or (lambda x: x.from_config(x.get_config())))(layer)

    if isinstance(model, Sequential):
        made = type(model)([copied(layer) for layer in model._stack], name=model.name)
        if model._tops and not made._tops:
            made.build(model._tops[0].shape)
        return made
    if not isinstance(model, Functional):
        raise ValueError(f"Expected `model` argument to be a functional or sequential `Model`, got {model!r}")
    copies = {id(layer): copied(layer) for layer in model.layers}
    inputs = [host.input(copies[id(model._input_layer(x))].aval, x.name) for x in model.inputs]
    values = dict(zip(map(id, model.inputs), inputs, strict=True))
    evaluate(host.symbols, model._order, values, standing=lambda layer: copies.get(id(layer), layer))
    structures = [
        nest.pack_sequence_as(structure, [values[id(x)] for x in symbols])
        for structure, symbols in zip(model._structure, (model.inputs, model.outputs), strict=True)
    ]
    result: Model = host.bound(Functional)(*structures, name=model.name)
    return result
