"""``tf.contrib.eager``: how gradients were taken when eager execution was new, before `GradientTape`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from engine.core import nest
from engine.transforms.gradient_tape import GradientTape
from tape_api import keras
from tape_api.control_flow.flow import executing_eagerly, py_function
from tape_api.data import Dataset, DatasetIterator
from tape_api.files.checkpoint import Checkpoint
from tape_api.files.saver import Saver
from tape_api.functions.function import function
from tape_api.keras import metrics
from tape_api.keras.models import Model
from tape_api.keras.models import Sequential as _Sequential
from tape_api.legacy.version1 import enable_eager_execution
from tape_api.tensor import convert_to_tensor
from tape_api.variable import Variable

Pairs = list[tuple[Any, Any]]

_layers: Any = keras.layers

in_eager_mode = executing_eagerly
defun = function
py_func = py_function


def _returned(f: Callable[..., Any], value: Any) -> Any:
    if value is None:
        name = getattr(f, "__name__", repr(f))
        raise ValueError(
            f"Cannot differentiate a function that returns None; did you forget to return a value from {name}?"
        )
    return value


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, Pairs]]:
    """A function that gives ``f(...)``, and its gradients by the trainable variables that it reads.

    Parameters
    ----------
    f : callable
        If it returns several tensors, the gradients are those of their sum.

    Returns
    -------
    callable
        With the arguments of `f`. It returns the value and a list of (gradient, variable), which `apply_gradients`
        takes: of the variables that the value depends on.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(3.0)
    >>> loss, pairs = implicit_value_and_gradients(lambda x: w * x)(2.0)
    >>> loss.numpy(), pairs[0][0].numpy(), pairs[0][1] is w
    (np.float32(6.0), np.float32(2.0), True)
    """

    def call(*args: Any, **kwargs: Any) -> tuple[Any, Pairs]:
        """The value and the gradients.

        Raises
        ------
        ValueError
            If the function returns None, or reads no trainable variable.
        """
        with GradientTape() as tape:
            value = _returned(f, f(*args, **kwargs))
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        gradients = tape.gradient(value, list(variables))
        return value, [pair for pair in zip(gradients, variables, strict=True) if pair[0] is not None]

    return call


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Pairs]:
    """The gradients of `implicit_value_and_gradients` alone.

    Examples
    --------
    >>> import tape_api as tf
    >>> w = tf.Variable(3.0)
    >>> [(g.numpy(), v is w) for g, v in implicit_gradients(lambda x: w * w * x)(2.0)]
    [(np.float32(12.0), True)]
    """
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that gives ``f(...)``, and its gradients by some of its arguments.

    Parameters
    ----------
    f : callable
    params : sequence of int or str, optional
        Numbers or names of the arguments; by default all.

    Returns
    -------
    callable
        With the arguments of `f`, all positional, and ``dy=`` for what the gradient of the value is multiplied with.
        It returns the value and a list of gradients, None for what the value does not depend on.

    Examples
    --------
    >>> value, gradients = value_and_gradients_function(lambda x, y: x * x * y)(2.0, 3.0)
    >>> value.numpy(), [g.numpy() for g in gradients]
    (np.float32(12.0), [np.float32(12.0), np.float32(4.0)])
    """

    def call(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """The value and the gradients.

        Raises
        ------
        ValueError
            If there is no such parameter, an argument is given by its name, or the function returns None.
        """
        seed = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, tape, sources = _recorded(f, params, args)
        seed = None if seed is None else nest.map_structure(convert_to_tensor, seed)
        return value, tape.gradient(value, sources, output_gradients=seed)

    return call


def gradients_function(f: Callable[..., Any], params: Sequence[int | str] | None = None) -> Callable[..., list[Any]]:
    """The gradients of `value_and_gradients_function` alone.

    Examples
    --------
    >>> cube = lambda x: x**3
    >>> gradients_function(lambda x: gradients_function(cube)(x)[0])(2.0)[0].numpy()
    np.float32(12.0)
    """
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def make_vjp(f: Callable[..., Any], params: Sequence[int | str] | None = None, persistent: bool = True) -> Any:
    """A function that gives ``f(...)``, and the function that multiplies a vector with its Jacobian.

    Parameters
    ----------
    f, params
        As of `value_and_gradients_function`.
    persistent : bool
        Whether the second function can be called more than once.

    Examples
    --------
    >>> value, vjp = make_vjp(lambda x: x * x)(3.0)
    >>> value.numpy(), [g.numpy() for g in vjp(2.0)]
    (np.float32(9.0), [np.float32(12.0)])
    """

    def call(*args: Any) -> tuple[Any, Callable[..., list[Any]]]:
        value, tape, sources = _recorded(f, params, args, persistent)

        def vjp(dy: Any = None) -> Any:
            return tape.gradient(value, sources, None if dy is None else nest.map_structure(convert_to_tensor, dy))

        return value, vjp

    return call


# the names of these functions in TensorFlow's own module, `backprop`
implicit_val_and_grad = implicit_value_and_gradients
implicit_grad = implicit_gradients
val_and_grad_function = value_and_gradients_function


def _recorded(
    f: Callable[..., Any], params: Sequence[int | str] | None, args: Sequence[Any], persistent: bool = False
) -> tuple[Any, GradientTape, list[Any]]:
    """A call of a function: the value, the tape, the arguments that are watched."""
    given = [x if isinstance(x, Variable) else nest.map_structure(convert_to_tensor, x) for x in args]
    sources = [given[place] for place in _places(f, params, len(args))]
    with GradientTape(persistent=persistent) as tape:
        for source in sources:
            tape.watch(source)
        return _returned(f, f(*given)), tape, sources


def _places(f: Callable[..., Any], params: Sequence[int | str] | None, count: int) -> list[int]:
    """The numbers of parameters."""
    if params is None:
        return list(range(count))
    names = [] if all(isinstance(p, int) for p in params) else list(inspect.signature(f).parameters)
    places = []
    for p in params:
        if isinstance(p, str) and p not in names:
            raise ValueError(f"gradients_function: there is no parameter {p!r}; there are {names}")
        place = names.index(p) if isinstance(p, str) else int(p)
        if not 0 <= place < count:
            raise IndexError(f"gradients_function: parameter {p!r} is not among the {count} arguments")
        places.append(place)
    return places


class Iterator(DatasetIterator):
    """Goes through a data set once, in a for loop or by `next`.

    Examples
    --------
    >>> import tape_api as tf
    >>> [x.numpy().item() for x in Iterator(tf.data.Dataset.range(3))]
    [0, 1, 2]
    """

    def __init__(self, dataset: Dataset) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Iterator: argument `dataset` must be a tf.data.Dataset, got {dataset!r}")
        super().__init__(dataset)

    def next(self) -> Any:
        """The next element.

        Raises
        ------
        StopIteration
            If there is none.
        """
        return next(self)


class Network(Model):
    """A model whose layers are those handed to `track_layer`, or kept as attributes."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self._tracked: list[Any] = []

    def track_layer(self, layer: Any) -> Any:
        """Make a layer's variables those of the model too; returns the layer.

        Raises
        ------
        TypeError
            If it is no layer.
        """
        if not isinstance(layer, _layers.Layer):
            raise TypeError(f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer")
        self._tracked.append(layer)
        return layer


class Sequential(_Sequential):
    """Layers, or functions, applied one after the other: ``tf.keras.Sequential`` with functions among them."""

    def __init__(self, layers_funcs: Sequence[Any] | None = None, name: str | None = None) -> None:
        super().__init__(name=name)
        for layer in layers_funcs or ():
            self.add(layer)

    def add(self, layer: Any) -> None:
        """One more layer or function."""
        super().add(layer if isinstance(layer, _layers.Layer) else _layers.Lambda(layer))


__all__ = [
    "Checkpoint",
    "GradientTape",
    "Iterator",
    "Network",
    "Saver",
    "Sequential",
    "Variable",
    "defun",
    "enable_eager_execution",
    "executing_eagerly",
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "in_eager_mode",
    "metrics",
    "py_func",
    "value_and_gradients_function",
]
