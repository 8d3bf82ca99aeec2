"""``tf.function`` in graphs: each call adds the function's operations to the graph around it.

What the function assigns, prints and asserts happens in the order in which it is written, and before its results are
there, as in TensorFlow (`Graph.in_order`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.autograph.conversion import converting, current
from engine.core import nest
from engine.core.aval import compatible, format_shape
from engine.core.value import Value
from engine.core.variable import Variable as EngineVariable
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.shape import identity
from graph_api.autograph import HOST
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Operation, Tensor


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **ignored: Any,
) -> Any:
    """`func` as a part of graphs: branches and loops over tensors are rewritten, and its effects have an order.

    Its Python code runs in each call, which adds its operations to the default graph; `tf.gradients` leads through it.

    Parameters
    ----------
    func : callable
    input_signature : sequence of TensorSpec, or of structures of them, optional
        What the arguments must be like. They are converted to the dtypes it says, and have the shapes it says inside.
    autograph : bool
        Whether branches and loops over tensors become those of the graph (`tf.autograph`).
    jit_compile, reduce_retracing
        Have nothing to do: a run compiles what it is asked for.

    Raises
    ------
    TypeError
        If `input_signature` holds no specs; when the function is called, if arguments do not fit it.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     @tf.function
    ...     def twice():
    ...         v.assign(v * 2.0)
    ...         return v + 0.0
    ...     y = twice()
    ...     sess.run(v.initializer)
    ...     print(sess.run(y))
    2.0
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature, autograph=autograph)
    nest.require_callable("function", "func", func)
    return Function(func, input_signature, autograph)


class Function:
    """A function made by `function`.

    Attributes
    ----------
    python_function : callable
    input_signature : tuple of TensorSpec, or None
    """

    def __init__(
        self, func: Callable[..., Any], input_signature: Any = None, autograph: bool = True, owner: Any = None
    ) -> None:
        if input_signature is not None and not isinstance(input_signature, (list, tuple)):
            raise TypeError(f"input_signature must be either a tuple or a list, got {type(input_signature).__name__}")
        self.python_function, self.autograph, self._owner = func, autograph, owner
        self.input_signature = None if input_signature is None else tuple(input_signature)
        functools.update_wrapper(self, func)

    def __get__(self, instance: Any, owner: Any = None) -> Function:
        if instance is None:
            return self
        return Function(self.python_function, self.input_signature, self.autograph, instance)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Function:
        """The function for arguments like these alone."""
        return Function(self.python_function, args, self.autograph, self._owner) if args and not kwargs else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add the function's operations; return its results as tensors."""
        if self.input_signature is not None:
            args, kwargs = self._bound(args, kwargs), {}
        else:
            args, kwargs = nest.map_structure(_argument, (args, kwargs))
        given = args if self._owner is None else (self._owner, *args)
        graph = get_default_graph()
        name = getattr(self, "__name__", "function")
        scope = graph.name_scope(name.strip("_") if name.isidentifier() else "function")
        with scope, graph.in_order() as effects, converting(HOST if self.autograph else None):
            results = current(self.python_function)(*given, **kwargs)
        if results is None and effects:
            return graph.group(effects)
        with graph.control_dependencies(effects):
            return nest.map_structure(functools.partial(_result, name, bool(effects)), results)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the signature, as tensors that have the shapes it says."""
        signature = self.input_signature or ()
        name = getattr(self, "__name__", "function")
        if kwargs:
            own = () if self._owner is None else (self._owner,)
            args = inspect.signature(self.python_function).bind(*own, *args, **kwargs).args[len(own) :]
        if len(args) != len(signature):
            raise TypeError(f"{name}() takes {len(signature)} arguments by its input_signature, got {len(args)}")
        return tuple([_like(name, spec, value) for spec, value in zip(signature, args, strict=True)])


def _argument(x: Any) -> Any:
    return convert_to_tensor(x) if isinstance(x, np.ndarray) else x


def _like(name: str, spec: Any, value: Any) -> Any:
    """An argument as the tensors that a spec, or a structure of them, describes."""
    if nest.is_nested(spec):
        values, specs = nest.flatten(value), nest.flatten(spec)
        if len(values) != len(specs):
            raise TypeError(f"{name}: an argument must have the structure of {spec!r}, got {value!r}")
        return nest.pack_sequence_as(spec, [_like(name, s, v) for s, v in zip(specs, values, strict=True)])
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        return _argument(value)
    tensor = convert_to_tensor(value) if isinstance(value, Value) else convert_to_tensor(value, spec.dtype)
    wanted = None if spec.shape.ndims is None else tuple([None if d is None else int(d) for d in spec.shape.as_list()])
    if tensor.dtype is not spec.dtype or not compatible(tensor.aval.shape, wanted):
        raise TypeError(
            f"{name}: an argument must be a {spec.dtype.name}{format_shape(wanted)} by its input_signature, got "
            f"{tensor.dtype.name}{format_shape(tensor.aval.shape)}"
        )
    return _open(tensor, wanted)


def _open(tensor: Tensor, shape: Sequence[int | None] | None) -> Tensor:
    """The tensor, of which a function may know no more than that shape."""
    if tensor.aval.shape == shape:
        return tensor
    aval = type(tensor.aval)(None if shape is None else tuple(shape), tensor.dtype)
    opened: Tensor = tensor.graph.append(identity, (tensor,), {}, (aval,))[0]
    return opened


def _result(name: str, waits: bool, x: Any) -> Any:
    """One result; if there are effects, made once more, so that it waits for them."""
    if x is None or isinstance(x, Operation):
        return x
    if isinstance(x, IndexedSlices):
        return x.map(identity) if waits else x
    if isinstance(x, Value):
        x = x.read_value() if isinstance(x, EngineVariable) else x
        return identity(x) if waits else x
    if isinstance(x, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
        return convert_to_tensor(x)
    if hasattr(x, "components") or hasattr(x, "buffer"):
        return x
    raise TypeError(f"{name}: a function must return tensors, arrays, numbers, None or structures of these, got {x!r}")
