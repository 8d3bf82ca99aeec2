"""Tensors of the default graph from whatever users write, and the names of what functions make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.control.deferred_call import deferred_call
from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape, normalize_shape
from engine.core.batching import elementwise_rule
from engine.core.dtypes import DType, as_dtype
from engine.core.eager import EagerTensor
from engine.core.kinds import linear
from engine.core.operands import Operand
from engine.core.trace import LARGE, Symbol, follow
from engine.core.value import Value, aval_of, scalar
from engine.core.variable import Variable
from engine.derivatives.custom import custom_gradient as with_custom_gradient
from engine.derivatives.custom import passing
from engine.ops.filling import fill
from engine.ops.lift import as_operand, cast_data, own_array
from engine.ops.shape import reshape
from engine.runtime.errors import DTypeError, NotKnownYet, ShapeError
from graph_api.graphs.defaults import stacks
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Operation, Tensor

default_input = linear(
    "default_input",
    lambda x, *, shape: x,
    lambda ct, x, *, shape: ct,
    lambda x, *, shape: x,
    elementwise_rule,
    type="PlaceholderWithDefault",
    args=("input",),
    stateful=True,  # never to be known in advance, even if the default is a constant
    doc="The identity, of a less specific static shape: something else may be fed in its place.",
)


_HELD = (np.ndarray, np.generic, EagerTensor)
"""Classes of what holds its elements."""


def finish(call: Callable[..., Any], name: str | None, /, *args: Any, **kwargs: Any) -> Any:
    """Run a function that adds nodes; give its result the user's name; make constants of plain arrays.

    This is what `engine.ops.lift.lift` does with a call in graph mode.
    """
    if stacks.eager:
        return _eagerly(call(*args, **kwargs))
    graph = get_default_graph()
    if name is None:
        return in_graph(_called(call, args, kwargs), graph)
    before = len(graph.nodes)
    with graph.name_scope(name) as scope:
        result = in_graph(_called(call, args, kwargs), graph, scope)
    return named(result, scope[:-1], graph, before)


def finish_as(default: str, call: Callable[..., Any], name: str | None, /, *args: Any, **kwargs: Any) -> Any:
    """`finish`, whose results without a user's name are called as TensorFlow calls them.

    Parameters
    ----------
    default : str
        ``"norm/Squeeze"``: the scope of all nodes and the name of the result in it; several for several results.
    """
    scope, inner, _ = default.partition("/")
    if name is not None or stacks.eager:
        return finish(call, name, *args, **kwargs)
    if not inner:
        return finish(call, scope, *args, **kwargs)
    graph = get_default_graph()
    before = len(graph.nodes)
    with graph.name_scope(scope) as within:
        result = in_graph(
            _called(call, args, kwargs), graph, f"{within}{default.split(maxsplit=1)[0].partition('/')[2]}"
        )
    results = result if isinstance(result, (list, tuple)) else [result]
    for one, wanted in zip(results, default.split(), strict=False):
        named(one, f"{within}{wanted.partition('/')[2]}", graph, before)
    return result


def _called(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a call, which is put off until the graph runs if it needs what only a run knows."""
    try:
        with get_default_graph().building():
            result = call(*args, **kwargs)
            return _kept_as_call(call, args, kwargs) if _has_grown(result, [*args, *kwargs.values()]) else result
    except NotKnownYet as error:
        return deferred_call(call, args, kwargs, error)


def _has_grown(result: Any, given: list[Any]) -> bool:
    """Whether the results are arrays, and have many more elements than what the function was given."""
    made, arrays = nest.flatten(result), [x for x in nest.flatten(given) if isinstance(x, _HELD)]
    if not (arrays and all(isinstance(x, _HELD) for x in made)):
        return False
    sizes = [sum([aval_of(x).size or 0 for x in some]) for some in (made, arrays)]
    return sizes[0] > max(LARGE, sizes[1])


def _kept_as_call(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a call that was made with arrays, as what nodes compute from these."""
    operand = get_default_graph().operand
    given = nest.map_structure(lambda x: operand(x) if isinstance(x, _HELD) else x, (args, kwargs))
    return call(*given[0], **given[1])


def _eagerly(result: Any) -> Any:
    """Results as eager tensors: what functions give inside of a `py_function`."""
    return nest.map_structure(lambda r: EagerTensor(r) if isinstance(r, (np.ndarray, np.generic)) else r, result)


def in_graph(result: Any, graph: Graph, name: str | None = None) -> Any:
    """Results as tensors of the graph, also inside lists and tuples."""
    if isinstance(result, _HELD):
        # an operation of its own, which runs after the control dependencies that there are
        if isinstance(result, EagerTensor):
            return follow(result, graph.constant(result._array, name=name))
        return graph.constant(result, name=name)
    if isinstance(result, (list, tuple)):
        return nest.map_structure(lambda r: in_graph(r, graph), result)
    if isinstance(result, Variable):
        # a function that has nothing to do gives back its argument, and means what it holds now
        return result.read_value()
    return result if isinstance(result, (Symbol, Operation)) or not isinstance(result, Value) else graph.operand(result)


def named(result: Any, name: str, graph: Graph, before: int) -> Any:
    """The result under the given name: its operation is renamed if it was made just now (node `before` or later)."""
    first = result[0] if isinstance(result, (list, tuple)) and result else result
    operation = first.op if isinstance(first, Tensor) else first
    if not isinstance(operation, Operation) or operation.name == name:
        return result
    if isinstance(result, (list, tuple)) and any(r.op is not operation for r in result if isinstance(r, Tensor)):
        return result
    if any(operation is node for node in graph.nodes[before:]):
        graph.rename(operation, name)
    return result


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is fed when the graph is run.

    Parameters
    ----------
    dtype : DType
    shape : shape, optional
        Dimensions may be None; without it the shape may be anything.
    name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     tf.placeholder(tf.float32, [None, 3], name="x")
    <tf.Tensor 'x:0' shape=(?, 3) dtype=float32>
    """
    return get_default_graph().placeholder(Aval(normalize_shape(shape), as_dtype(dtype)), name=name)


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor holding `value`.

    Parameters
    ----------
    value : array or Python data
        Copied.
    dtype : DType, optional
        By default float32 for Python floats, int32 for Python ints, their own for NumPy data. NumPy data are cast to
        it; Python numbers must fit.
    shape : shape, optional
        The value is reshaped to it, or broadcast if it is a scalar.
    name : str
    verify_shape : bool
        If True, the value must have the shape already.

    Raises
    ------
    ValueError, TypeError
        If the value does not fit shape or dtype.
    """
    array = cast_data(value, None if dtype is None else as_dtype(dtype))
    if array is None:
        array = own_array(value, dtype, "constant")
    if stacks.eager and shape is None:
        return EagerTensor(array)  # type: ignore[return-value]
    if shape is not None:
        dims = normalize_shape(shape)
        if verify_shape and array.shape != dims:
            raise TypeError(
                f"constant: expected a value of shape {format_shape(dims)}, got {format_shape(array.shape)}"
            )
        if array.size == 1:
            return finish(fill, name, dims, reshape(array, ()))
        array = reshape(array, dims)
    return get_default_graph().constant(scalar(array), name=name)


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Tensor:
    """`value` as a tensor of the default graph.

    Parameters
    ----------
    value : tensor, variable, array or Python data
    dtype : DType, optional
        NumPy data are cast to it; Python numbers must fit; a tensor of another dtype is an error.
    name : str, optional
    preferred_dtype, dtype_hint : DType, optional
        Used for Python data if it fits.

    Raises
    ------
    ValueError
        If `value` is a tensor of another dtype, or None.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if stacks.eager:
        return _eagerly(_operand(value, wanted))
    if isinstance(value, Variable):
        value = value.read_value()
    if isinstance(value, Value):
        if wanted is not None and value.dtype is not wanted:
            raise DTypeError(
                f"convert_to_tensor: tensor conversion requested dtype {wanted.name} for a tensor of dtype "
                f"{value.dtype.name}; use tf.cast"
            )
        return get_default_graph().operand(value) if not isinstance(value, Symbol) else value  # type: ignore[return-value]
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    if wanted is None and hint is not None:
        try:
            return in_graph(_operand(value, as_dtype(hint)), get_default_graph(), name)
        except (TypeError, ValueError):
            pass
    return in_graph(_operand(value, wanted), get_default_graph(), name)


def _operand(value: Any, dtype: DType | None) -> Operand:
    array = cast_data(value, dtype)
    return as_operand(value, dtype) if array is None else array


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that has the value of `input` unless it is fed.

    Raises
    ------
    ValueError
        If `input` does not fit `shape`.
    """
    tensor = convert_to_tensor(input)
    dims = normalize_shape(shape)
    if not compatible(tensor._aval.shape, dims):
        raise ShapeError(
            f"placeholder_with_default: input has shape {format_shape(tensor._aval.shape)}, not {format_shape(dims)}"
        )
    graph = tensor.graph
    aval = Aval(dims, tensor.dtype)
    return graph.append(default_input, (tensor,), {"shape": dims}, (aval,), name=name or "PlaceholderWithDefault")[0]


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with the gradient of the identity.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(2.6)
    ...     print(sess.run(tf.gradients(tf.grad_pass_through(tf.round)(x), x)))
    [np.float32(1.0)]
    """
    return custom_gradient(passing(f))


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function that returns ``(result, grad_fn)`` and has the gradient that `grad_fn` computes.

    See `engine.derivatives.custom.custom_gradient`, of which this is the form for graph tensors.

    Examples
    --------
    >>> import graph_api as tf
    >>> @tf.custom_gradient
    ... def halved(x):
    ...     return x * 1.0, lambda dy: dy * 0.5
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.0)
    ...     print(sess.run(tf.gradients(halved(x), x)))
    [np.float32(0.5)]
    """
    return with_custom_gradient(f, convert_to_tensor)
