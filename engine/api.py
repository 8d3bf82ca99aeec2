"""From an engine function to a public one: what both front ends do with their tables of names.

An engine function says which of its parameters are tensors with `operands`; an `Op` knows by itself. `lift` turns either
into the function that users call: lists and Python numbers become arrays by TensorFlow's rules, and what comes back is
handed to the front end, which wraps what is still a plain array.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from engine.op import Op
from engine.value import Value, as_array

F = TypeVar("F", bound=Callable[..., Any])


def operands(*same: str, alone: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare which parameters of an engine function are tensors.

    Parameters
    ----------
    *same : str
        Parameters that share one dtype: Python data among them take the dtype of the first tensor or array among them.
        A name starting with ``*`` is a list of tensors.
    alone : tuple of str
        Tensor parameters that are converted on their own (conditions, indices).
    """

    def declare(function: F) -> F:
        function.__operands__ = (same, alone)  # type: ignore[attr-defined]
        return function

    return declare


def convert_operands(name: str, arguments: dict[str, Any], same: tuple[str, ...], alone: tuple[str, ...]) -> None:
    """Convert the tensor arguments in place."""
    dtype = None
    for key in same:
        for item in _items(arguments, key):
            if isinstance(item, (Value, np.ndarray, np.generic)):
                dtype = item.dtype
                break
        if dtype is not None:
            break
    for key in same:
        _convert(name, arguments, key, dtype)
    for key in alone:
        _convert(name, arguments, key, None)


def _items(arguments: dict[str, Any], key: str) -> list[Any]:
    value = arguments.get(key.lstrip("*"))
    if key.startswith("*") and isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def _convert(name: str, arguments: dict[str, Any], key: str, dtype: Any) -> None:
    plain = key.lstrip("*")
    if plain not in arguments:
        return
    value = arguments[plain]
    if key.startswith("*") and isinstance(value, (list, tuple)):
        arguments[plain] = [as_operand(v, dtype, f"{name}: argument `{plain}`") for v in value]
    elif value is not None:
        arguments[plain] = as_operand(value, dtype, f"{name}: argument `{plain}`")


def as_operand(x: Any, dtype: Any = None, name: str = "value") -> Any:
    """`x` itself if it is a value, an array or an object that converts itself; else an array in the given dtype.

    A list that contains values is packed into one (``[x, 1.0]``), as TensorFlow does.
    """
    if isinstance(x, (Value, np.ndarray, np.generic)):
        return x
    if hasattr(x, "as_value"):
        return x.as_value()
    if isinstance(x, (list, tuple)) and _contains_value(x):
        return _pack(x, dtype, name)
    return as_array(x, dtype, name)


def _contains_value(x: Any) -> bool:
    return any(isinstance(i, Value) or (isinstance(i, (list, tuple)) and _contains_value(i)) for i in x)


def _first_dtype(x: Any) -> Any:
    for item in x:
        if isinstance(item, Value):
            return item.dtype
        if isinstance(item, (list, tuple)) and (found := _first_dtype(item)) is not None:
            return found
    return None


def _pack(x: Any, dtype: Any, name: str) -> Any:
    from engine.ops.shape import stack

    dtype = dtype or _first_dtype(x)
    return stack([as_operand(i, dtype, name) for i in x])


def lift(function: Callable[..., Any], finish: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The public function for an engine function or op.

    Parameters
    ----------
    function : Op or callable declared with `operands`
    finish : callable
        ``finish(call, name)``: runs ``call()`` and wraps its result in the front end's tensors. ``name`` is what the user
        passed as ``name=``.
    name : str, optional
        The public name, for error messages.
    """
    public = name or getattr(function, "name", None) or function.__name__
    if isinstance(function, Op):
        parameters, (same, alone) = list(function.args), (function.args, ())
        doc = function.doc
    else:
        parameters = list(inspect.signature(function).parameters)
        same, alone = getattr(function, "__operands__", ((), ()))
        doc = function.__doc__ or ""

    def lifted(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if len(args) > len(parameters):
            # TensorFlow's signatures end with `name`
            *args, name = args  # type: ignore[assignment]
        if len(args) > len(parameters):
            raise TypeError(f"{public}() takes {len(parameters)} positional arguments, got {len(args)}")
        arguments = dict(zip(parameters, args, strict=False))
        for key, value in kwargs.items():
            if key not in parameters or key in arguments:
                why = "got twice the" if key in arguments else "has no"
                raise TypeError(f"{public}() {why} argument `{key}`; its arguments are {', '.join(parameters)}, name")
            arguments[key] = value
        convert_operands(public, arguments, same, alone)
        if isinstance(function, Op):
            missing = [p for p in parameters if p not in arguments]
            if missing:
                raise TypeError(f"{public}() misses the argument `{missing[0]}`")
            return finish(lambda: function(*[arguments[p] for p in parameters]), name)
        return finish(lambda: function(**arguments), name)

    functools.update_wrapper(lifted, function if not isinstance(function, Op) else lifted)
    lifted.__name__ = lifted.__qualname__ = public.rpartition(".")[2]
    lifted.__doc__ = doc
    return lifted
