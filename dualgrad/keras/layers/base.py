"""`Layer`: the base of all layers and models."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from dualgrad.autograph.conversion import current
from dualgrad.extras.module import Module, distinct, held_by
from dualgrad.keras import activations, constraints, initializers, regularizers
from dualgrad.keras import functions as tf
from dualgrad.keras.configs import Configured, arguments_of, serialized
from dualgrad.keras.host import Bound
from dualgrad.keras.layers.specs import check_inputs
from dualgrad.keras.masks import fill_masks, handed_on, mask_outputs, masks_of
from dualgrad.keras.policies import Policy, policy_of
from dualgrad.keras.settings import layer_name, unique_name
from dualgrad.keras.symbolic import Call
from engine.core import nest
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.tape import paused
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, dtype_of, unmasked
from engine.core.variable import Variable, go_on
from engine.core.variable import Variable as EngineVariable
from engine.runtime.cache import cached

_NEUTRAL: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("lora_rank", "lora_alpha", "quantization_config"), (None,)),
    **dict.fromkeys(("synchronized", "renorm", "rms_scaling"), (False,)),
}
"""Arguments of Keras's layers that are not here, with the values by which they change nothing."""


class _Context(threading.local):
    """Settings that calls of layers hand on to the layers they call."""

    training: bool | None = None
    is_inside: bool = False
    symbolic: bool = False


_context = _Context()


@contextmanager
def symbolic(value: bool) -> Iterator[None]:
    """Whether calls with symbols are part of one that is remembered, and so not remembered themselves."""
    before = _context.symbolic
    _context.symbolic = value
    try:
        yield
    finally:
        _context.symbolic = before


def is_symbolic() -> bool:
    """Whether a call with symbols is being remembered, for which nothing is to be drawn."""
    return _context.symbolic


@contextmanager
def _training(value: bool | None, lasts: bool) -> Iterator[None]:
    """Set what calls inside inherit; if it `lasts`, calls after this one as well, until the outermost one ends."""
    before, is_inside = _context.training, _context.is_inside
    _context.training, _context.is_inside = value, True
    try:
        yield
    finally:
        _context.is_inside = is_inside
        if not (lasts and is_inside):
            _context.training = before


class Layer(Bound, Configured, Module):
    """Base of the layers: a function with weights, which it makes when it sees its first input.

    A subclass defines `call`, and `build` (or `__init__`) to make its weights with `add_weight`. Layers and variables
    among the attributes of a layer are part of it.

    Parameters
    ----------
    trainable : bool
        Whether the layer's weights are trained.
    name : str, optional
        By default the name of the class in snake case, numbered.
    dtype : DType, optional
        Of the weights; floating inputs are cast to it. By default `tf.keras.backend.floatx`.
    input_shape : shape, optional
        Of one element of the batch. Builds the layer at once in a `Sequential` model.
    input_dim : int, optional
        The same as ``input_shape=(input_dim,)``.
    batch_input_shape : shape, optional
        The same with the batch dimension in front.
    autocast : bool
        Whether floating inputs are cast.
    activity_regularizer : str or callable, optional
        ``activity_regularizer(outputs)``, divided by the size of the batch, is one of the layer's `losses`.

    Examples
    --------
    >>> import tape_api as tf
    >>> class Scale(tf.keras.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="factor")
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> layer = Scale()
    >>> layer([[1.0, 2.0]]).numpy(), len(layer.trainable_weights)
    (array([[1., 2.]], dtype=float32), 1)
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        *,
        input_shape: Any = None,
        input_dim: int | None = None,
        batch_input_shape: Any = None,
        autocast: bool = True,
        activity_regularizer: Any = None,
        **unknown: Any,
    ) -> None:
        unknown = {k: v for k, v in unknown.items() if v not in _NEUTRAL.get(k, ())}
        if unknown:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {unknown}")
        self._name = name or unique_name(self.host, layer_name(type(self).__name__))
        self.trainable = trainable
        self.built = self._starts_built and type(self).build is Layer.build
        self._policy = policy_of(dtype)
        self._dtype, self._variable_dtype = self._policy.dtypes
        self._autocast = autocast
        self._activity_regularizer = regularizers.get(self.host, activity_regularizer)
        self._added: list[Variable] = []
        self._penalties: list[Callable[[], Any]] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._calls: list[Call] = []
        if input_dim is not None:
            input_shape = (input_dim,)
        if input_shape is not None:
            batch_input_shape = (None, *_as_dims(input_shape))
        self._input_shape = None if batch_input_shape is None else TensorShape(batch_input_shape)

    @property
    def trainable(self) -> bool:
        """Whether the layer's weights are trained. Assigned, it goes for the layers that this one holds, too."""
        return bool(vars(self)["trainable"])

    @trainable.setter
    def trainable(self, value: bool) -> None:
        vars(self)["trainable"] = value  # where configurations look for arguments
        for member in self._members() if "_added" in vars(self) else ():
            if isinstance(member, Layer):
                member.trainable = value

    _starts_built = False
    """Whether a layer of the class, which has no weights, is built as soon as it is made."""
    input_spec: Any = None
    """The first argument of `call` as it must be: an `InputSpec`, or a list or dict of them."""

    # ---- what subclasses define --------------------------------------------------------------------------------------

    def __init_subclass__(cls, **more: Any) -> None:
        """A layer that a program builds itself is built: a call does not make its weights again."""
        super().__init_subclass__(**more)
        own = vars(cls).get("build")
        if own is None:
            return

        @functools.wraps(own)
        def build(self: Any, *args: Any, **kwargs: Any) -> None:
            own(self, *args, **kwargs)
            self.built = True

        cls.build = build  # type: ignore[method-assign]

    def build(self, input_shape: Any) -> None:
        """Make the weights, for inputs of the given shape (with the batch dimension)."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The layer's function."""
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def add_weight(
        self,
        *args: Any,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        name: str | None = None,
        **ignored: Any,
    ) -> Variable:
        """A new weight.

        Parameters
        ----------
        *args
            A shape, or (in the older order) a name and a shape.
        shape : shape
            By default a scalar.
        initializer : str or callable, optional
            By default glorot_uniform, and zeros for integers and bools.
        dtype : DType, optional
            By default the layer's.
        trainable : bool
        regularizer : str or callable, optional
            ``regularizer(weight)`` is one of the layer's `losses`.
        constraint : callable, optional
            Applied to the weight after each step of an optimizer.
        name : str, optional
        """
        for value in args:
            if isinstance(value, str):
                name = value
            else:
                shape = value
        wanted = as_dtype(dtype) if dtype is not None else self._variable_dtype
        make = initializers.get(self.host, self.host.initializer(initializer, wanted))
        dims = _as_dims(() if shape is None else shape)
        if None in dims:
            raise ValueError(f"layer {self.name!r}: the shape of a weight must be known, got {dims}")
        penalty = regularizers.get(self.host, regularizer)
        options = {"trainable": trainable, "constraint": constraints.get(self.host, constraint), "regularizer": penalty}
        weight: Variable = self.host.variable(self, name or "variable", dims, make, wanted, **options)
        self._added.append(weight)
        if penalty is not None:
            self._penalties.append(self.host.penalty(weight, penalty))
        return weight

    add_variable = add_weight

    def add_loss(self, losses: Any) -> None:
        """Add to `losses`, from within `call`; forgotten when the outermost layer is called again (not in a graph)."""
        added = nest.flatten(losses)
        if self.host.eager and self.host.symbols.are_among(added):
            return  # a call for the sake of the shapes has no loss
        self._losses.extend(added)
        self.host.lost(self, added)

    # ---- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer: convert and cast the inputs, build it if need be, and apply `call`.

        With what `keras.Input` gives, the call is remembered for ``Model(inputs, outputs)``.
        """
        self._check_initialized()
        if not _context.symbolic and self.host.symbols.are_among((args, kwargs)):
            call = Call(self, (args, {**self._default_training(), **kwargs}))
            with symbolic(True), self.host.rewriting():
                call.result = self.host.symbols.recorded(call, lambda: self(*args, **kwargs))
            self._calls.append(call)
            return call.result
        accepts = _parameters(type(self).call)
        names = [name for name in accepts if name != "self"]
        if "training" in accepts and len(args) > (at := names.index("training")):
            kwargs.update(zip(names[at:], args[at:], strict=False))
            args = args[:at]
        arguments = [self._converted(a) for a in args]
        kwargs = {name: self._converted(x) if isinstance(x, Value) else x for name, x in kwargs.items()}
        training = self._trains(accepts, kwargs)
        if not _context.is_inside and self.host.eager:
            self._forget_losses()
        by_name = dict(zip(names, arguments, strict=False)) | kwargs
        if any("mask" in name for name in accepts):
            fill_masks(accepts, by_name, kwargs)
        first = arguments[0] if arguments else next(iter(kwargs.values()), None)
        before = masks_of(first) if kwargs.get("mask") is None else kwargs["mask"]
        if self.input_spec is not None:
            check_inputs(self.input_spec, first, self.name)
        with self.host.scope(self):
            if not self.built:
                self._build_for(first, by_name)
            with _training(training, lasts=self.host.eager), self._weights_cast(), self.host.drawing(_context.symbolic):
                outputs = current(self.call)(*arguments, **kwargs)
                if self._policy.name == "mixed_float16" and self._computes_wide:
                    outputs = tf.cast(outputs, self._dtype)
                if self._activity_regularizer is not None:
                    self._penalize(outputs, self._activity_regularizer)
                if before is not None or self._makes_masks:
                    mask_outputs(self, first, outputs, before)
                return outputs

    def _default_training(self) -> dict[str, Any]:
        """Tell what a call in a model says of `training` if the model says nothing: Keras 3 notes the default."""
        declared = _parameters(type(self).call).get("training")
        says = self.host.eager and declared is not None and isinstance(declared.default, bool)
        return {"training": declared.default} if says else {}  # type: ignore[union-attr]

    def _trains(self, accepts: Mapping[str, inspect.Parameter], kwargs: dict[str, Any]) -> Any:
        """Whether the call is one of training: as it says, as the call around it does, or by default.

        By Keras 3's rule the default of one layer goes for those called inside it, and after it by the same layer.
        """
        stated, training = "training" in kwargs, kwargs.pop("training", None)
        declared = accepts["training"].default if "training" in accepts else None
        is_required = declared is inspect.Parameter.empty
        if not self.host.eager:
            training = _context.training if training is None else training
            stated = training is not None
            training = training if isinstance(training, Value) else bool(training)
        else:
            if not stated:
                training = declared if _context.training is None and not is_required else _context.training
                stated = training is not None
            training = bool(training) if training is not None or is_required else None
        if "training" in accepts and (stated or is_required):
            kwargs["training"] = training
        return training

    def _penalize(self, outputs: Any, regularizer: Callable[[Any], Any]) -> None:
        """Add the activity's penalty to the losses: the mean over the batch."""
        for x in nest.flatten(outputs):
            with self.host.name_scope("ActivityRegularizer"):
                penalty = tf.divide_no_nan(regularizer(x), tf.cast(tf.shape(x)[0], dtype_of(x)))
            self.add_loss(penalty)

    def _converted(self, x: Any) -> Any:
        """Arrays and numbers among the inputs as tensors, floating ones in the layer's dtype."""
        if isinstance(x, (list, tuple, dict)) and any(isinstance(i, (Value, np.ndarray)) for i in nest.flatten(x)):
            return nest.map_structure(self._converted, x)
        if isinstance(x, (list, tuple, np.ndarray, np.generic, int, float, Value)) and not isinstance(x, bool):
            tensor = self.host.tensor(x)
            cast = self._autocast and dtype_of(tensor).is_floating
            wanted = self._variable_dtype if self._computes_wide else self._dtype
            return handed_on(x, tf.cast(tensor, wanted)) if cast else tensor
        return x

    def _numbers(self, x: Any) -> Any:
        """Inputs as floating numbers, if they are integers or booleans."""
        return x if dtype_of(x).is_floating or dtype_of(x).is_complex else tf.cast(x, self._dtype)

    _computes_wide = False
    """Whether a layer that mixes precisions computes in that of its weights."""

    @contextmanager
    def _weights_cast(self) -> Iterator[None]:
        """Weights in the dtype of the computation, while it lasts, if they are kept in another one."""
        if self._dtype is self._variable_dtype or self._computes_wide:
            yield
            return
        cell = getattr(self, "cell", None)
        held = [
            (vars(layer), name, value)
            for layer in (self, *(cell._parts()[1] if isinstance(cell, Layer) else ()))
            for name, value in vars(layer).items()
            if isinstance(value, EngineVariable) and value.dtype.is_floating and value.trainable
        ]
        try:
            for attributes, name, value in held:
                attributes[name] = tf.cast(value, self._dtype)
            yield
        finally:
            for attributes, name, value in held:
                attributes[name] = value

    # ---- masks -------------------------------------------------------------------------------------------------------

    _hands_masks_on = False
    """Whether layers of this class do so; those that define `compute_mask` do."""

    @property
    def supports_masking(self) -> bool:
        """Whether the layer hands masks of its inputs on."""
        return bool(vars(self).get("_supports_masking", self._hands_masks_on or self._makes_masks))

    @supports_masking.setter
    def supports_masking(self, value: bool) -> None:
        self._supports_masking = value

    @property
    def _makes_masks(self) -> bool:
        return type(self).compute_mask is not Layer.compute_mask

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the outputs, by that of the inputs: the same."""
        return previous_mask

    def compute_output_shape(self, *shapes: Any) -> Any:
        """The shape of the output, or shapes in the structure of the outputs, for shapes of the arguments of `call`.

        The layer is not built by that: where it is not yet, a copy of it is asked.
        """
        layer = self if self.built else type(self).from_config(self.get_config())
        given = [map_shapes(lambda dims: self.host.symbol(Aval(dims, layer._dtype), "shape"), s) for s in shapes]
        before = list(layer._calls)
        with paused(), symbolic(False):
            outputs = layer(*given)
        layer._calls[:] = before
        return nest.map_structure(_plain_shape, outputs)

    def _forget_losses(self) -> None:
        for layer in self._parts()[1]:
            layer._losses = []

    def _build_for(self, first: Any, by_name: Mapping[str, Any]) -> None:
        """Build the layer for the shapes of the first argument, or of those that `build` names (``query_shape``)."""
        named = {f"{name}_shape": x for name, x in by_name.items()}
        wanted = [name for name in _parameters(type(self).build) if name in named and named[name] is not None]
        if len(wanted) > 1:
            self.build(**{name: _shapes(named[name]) for name in wanted})
        else:
            self.build(_shapes(first))
        self.built = True
        if "_restoring" in vars(self):
            go_on(self)

    def _check_initialized(self) -> None:
        if "_added" not in vars(self):
            raise RuntimeError(f"In layer {type(self).__name__}, you forgot to call `super().__init__()` in `__init__`")

    # ---- weights -----------------------------------------------------------------------------------------------------

    def _members(self) -> list[Any]:
        """Weights and layers, in the order in which they were made."""
        self._check_initialized()
        return list(held_by(vars(self).values()))

    def _parts(self) -> tuple[list[Any], list[Layer]]:
        """The weights, and this layer with all that it holds, directly or not."""
        below = self._walk()
        weights = distinct(x for x in below if isinstance(x, EngineVariable))
        return weights, [self, *(x for x in below if isinstance(x, Layer))]

    @property
    def weights(self) -> list[Any]:
        """All weights: the layer's own in the order in which they were made, then those of each layer it holds."""
        return self._parts()[0]

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights to be trained. A layer that is not trainable has none."""
        weights, layers = self._parts()
        frozen = {id(v) for layer in layers if not layer.trainable for v in layer.weights}
        return [v for v in weights if v.trainable and id(v) not in frozen]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other weights."""
        trained = {id(v) for v in self.trainable_weights}
        return [v for v in self.weights if id(v) not in trained]

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    @property
    def updates(self) -> list[Any]:
        """In a graph, the operations that move the layers' averages on: to be run with each training step."""
        return [update for layer in self._parts()[1] for update in layer._updates]

    @property
    def losses(self) -> list[Any]:
        """The penalties on weights, and what `add_loss` was given."""
        _, layers = self._parts()
        penalties = [penalty() for layer in layers for penalty in layer._penalties]
        return [*penalties, *(loss for layer in layers for loss in layer._losses)]

    def get_weights(self) -> list[Any]:
        """The values of all weights, as arrays."""
        return self.host.values(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set all weights, in the order of `get_weights`.

        Raises
        ------
        ValueError
            If the number of weights or a shape differs. No weight is changed then.
        """
        variables, values = self.weights, [unmasked(w, "set_weights") for w in weights]
        if len(variables) != len(values):
            raise ValueError(
                f"You called `set_weights(weights)` on layer {self.name!r} with a weight list of length {len(values)}, "
                f"but the layer was expecting {len(variables)} weights."
            )
        for variable, value in zip(variables, values, strict=True):
            if not variable.shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"layer {self.name!r}: the weight {variable.name!r} has shape {variable.shape}, which is not "
                    f"compatible with the provided shape {value.shape}"
                )
        self.host.set_values(variables, values)

    def count_params(self) -> int:
        """The number of elements of all weights."""
        return sum(int(w.shape.num_elements() or 0) for w in self.weights)

    # ---- other properties --------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        """Of the weights, as a string."""
        return self._variable_dtype.name

    variable_dtype = dtype

    @property
    def compute_dtype(self) -> str:
        """In which the layer computes."""
        return self._dtype.name

    @property
    def dtype_policy(self) -> Policy:
        """Both."""
        return self._policy

    def _called(self) -> Call:
        """The first call with symbols."""
        if not self._calls:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined input or output")
        return self._calls[0]

    @property
    def input(self) -> Any:
        """The symbol that the layer was called with first, or a structure of them."""
        args, kwargs = self._called().arguments
        return args[0] if args else next(iter(kwargs.values()))

    @property
    def output(self) -> Any:
        """The output of the only call."""
        return self._called().result

    @property
    def input_shape(self) -> Any:
        """The shape of `input`."""
        return nest.map_structure(_plain_shape, self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`."""
        return nest.map_structure(_plain_shape, self.output)

    @classmethod
    def _signatures(cls) -> list[Callable[..., Any]]:
        """The functions that take the layer's arguments: its ``__init__``, and those of the classes above."""
        kinds = cls.__mro__
        return [vars(kind)["__init__"] for kind in kinds[: kinds.index(Layer)] if "__init__" in vars(kind)]

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, but for its weights."""
        own = {"name": self.name, "trainable": self.trainable, "dtype": self._policy.name}
        given = arguments_of(self, self._signatures(), own)
        before, now = given.get("activation"), vars(self).get("activation", self)
        if now is not self and not isinstance(before, Mapping) and now is not activations.get(self.host, before):
            given["activation"] = serialized(now)  # set later
        config = own | given
        return {k: v for k, v in config.items() if k not in self._not_keras or v not in self._not_keras[k]}

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Arguments that Keras's class does not take, with the values that say nothing: these are not in configurations."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


@cached(1 << 10)
def _parameters(call: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(call).parameters)


def _shapes(structure: Any) -> Any:
    """The shapes of tensors, in their structure."""
    return nest.map_structure(lambda x: x.shape if isinstance(x, Value) else None, structure)


def map_shapes(function: Callable[[Any], Any], shapes: Any) -> Any:
    """Apply a function to each shape of a structure: a tuple of sizes is a shape."""
    if isinstance(shapes, Mapping):
        return {name: map_shapes(function, each) for name, each in shapes.items()}
    if isinstance(shapes, (list, tuple)) and not all(n is None or isinstance(n, int) for n in shapes):
        return [map_shapes(function, each) for each in shapes]
    return function(TensorShape(shapes).as_tuple())


def _plain_shape(x: Any) -> tuple[int | None, ...] | None:
    return TensorShape(x.shape).as_tuple()


def _as_dims(shape: Any) -> tuple[Any, ...]:
    """A shape as a tuple of ints and Nones."""
    dims = TensorShape(shape).as_tuple()
    if dims is None:
        raise ValueError("the rank of a layer's shape must be known")
    return dims


__all__ = ["Layer"]
