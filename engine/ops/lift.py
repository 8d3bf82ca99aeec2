"""From an engine function to a public one: what both front ends do with their tables of names.

An engine function says which of its parameters are tensors (`engine.core.operands`); an `Op` knows by itself. `lift`
turns either into the function that users call: lists and Python numbers become arrays by TensorFlow's rules, and what
comes back is handed to the front end, which wraps what is still a plain array.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from engine.core.composite import Composite
from engine.core.dtypes import DType
from engine.core.eager import in_c
from engine.core.op import Op
from engine.core.operands import Array, Operand
from engine.core.value import Value, as_array, check_unmasked, held_in
from engine.runtime.errors import ResourceExhaustedError

Wrap = Callable[[Any], Any]
_INEXACT = frozenset(map(np.dtype, "fdFD"))


def conversion(
    name: str, same: tuple[str, ...], alone: tuple[str, ...], optional: Container[str] = (), wrap: Wrap | None = None
) -> Callable[[dict[str, Any]], None]:
    """A function that converts the tensor arguments of another in place; only the `optional` ones may be None.

    `wrap` makes the front end's tensors of what became an array.
    """
    plan = [
        (key.lstrip("*"), key.startswith("*"), key in same, f"{name}: argument `{key.lstrip('*')}`")
        for key in (*same, *alone)
    ]

    def convert(arguments: dict[str, Any]) -> None:
        items: list[Any] = []
        for plain, starred, counts, _ in plan:
            if starred and isinstance(arguments.get(plain), Iterator):
                arguments[plain] = list(arguments[plain])
            if counts:
                value = arguments.get(plain)
                items += value if starred and isinstance(value, (list, tuple)) else (value,)
        dtype = _common_dtype(items)
        for plain, starred, counts, label in plan:
            if plain not in arguments or ((value := arguments[plain]) is None and plain in optional):
                continue
            wanted = dtype if counts else None
            if starred and (parts := getattr(value, "in_parts", None)) is not None:
                value = parts()
            if starred and isinstance(value, (list, tuple)):
                arguments[plain] = [_wrapped(as_operand(v, wanted, label), wrap) for v in value]
            elif not isinstance(value, Value):
                arguments[plain] = converted = _wrapped(as_operand(value, wanted, label), wrap)
                if counts and dtype is None:
                    dtype = converted.dtype  # of Python data the first decides

    return convert


def _common_dtype(items: list[Any]) -> DType | np.dtype | None:
    """The dtype of the first value, or else of the first array; None if there are Python data only."""
    for kinds in (Value, (np.ndarray, np.generic)):
        for item in items:
            if isinstance(item, kinds) and not (kinds is not Value and item.dtype.kind in "OSU"):
                return item.dtype
            if kinds is Value and hasattr(item, "as_value"):
                # an object of a program's own need not say what it becomes
                return item.dtype if hasattr(item, "dtype") else item.as_value().dtype
    return None


def _wrapped(x: Any, wrap: Wrap | None) -> Operand:
    return x if wrap is None or isinstance(x, Value) else wrap(x)


def as_operand(x: Any, dtype: Any = None, name: str = "value") -> Operand:
    """`x` itself if it is a value or an object that converts itself; else an array of its own in the given dtype.

    A list that contains values is packed into one (``[x, 1.0]``), as TensorFlow does.
    """
    if isinstance(x, Value):
        return x
    if type(x) is float or type(x) is int:
        return as_array(x, dtype, name)
    if type(x) is np.ndarray and x.dtype in _INEXACT and (dtype is None or dtype == x.dtype):
        return np.array(x, order="C")  # the common case, made quick
    if hasattr(x, "as_value"):
        return x.as_value()
    if (held := held_in(x)) is not None:
        x = held
    if isinstance(x, (list, tuple)) and _contains_value(x):
        return _pack(x, dtype, name)
    return x if isinstance(x, Value) else own_array(x, dtype, name)


def opened_array(x: Any) -> Any:
    """`x`, or the value that an array of another library is if it holds any (`engine.core.value.held_in`)."""
    return x if held_in(x) is None else as_operand(x)


def own_array(x: Any, dtype: Any = None, name: str = "value") -> Array:
    """`as_array`, but an array that nobody else holds, in C order: what becomes of `x` later must not show."""
    array = as_array(x, dtype, name)
    fresh = isinstance(x, (bool, int, float, complex, list, tuple, np.generic))
    return array if fresh else np.array(array, order="C")


def cast_data(x: Any, dtype: DType | None) -> Array | None:
    """NumPy data in the dtype that `constant` and its like are asked for, to which TensorFlow casts them; else None.

    Python data must fit the dtype (`as_array`). Where none is asked for, a float or a list of them is float32.
    """
    if dtype is None and (type(x) is float or (type(x) is list and x and _FLOATS.issuperset(map(type, x)))):
        return np.array(x, np.float32)
    if dtype is None or not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biufc":
        return None
    check_unmasked(x, "constant")
    return np.array(x, dtype=dtype.numpy, order="C")


_FLOATS = frozenset({float})
_NUMBERS = frozenset({bool, int, float, complex})


def _contains_value(x: Any) -> bool:
    if _NUMBERS.issuperset(map(type, x)):
        return False
    return any(
        _contains_value(i) if isinstance(i, (list, tuple)) else isinstance(i, Value) or held_in(i) is not None
        for i in x
    )


def _are_values(x: Any) -> bool:
    if not isinstance(x, (list, tuple)):
        return False
    for i in x:  # noqa: SIM110 - a generator takes three times as long
        if not isinstance(i, Value):
            return False
    return True


def _first_dtype(x: Any) -> DType | None:
    for item in x:
        item = item if (held := held_in(item)) is None else held
        if isinstance(item, Value):
            return item.dtype
        if isinstance(item, (list, tuple)) and (dtype := _first_dtype(item)) is not None:
            return dtype
    return None


def _pack(x: Any, dtype: Any, name: str) -> Operand:
    from engine.ops.joining import stack

    dtype = dtype or _first_dtype(x)
    return stack([as_operand(i, dtype, name) for i in x])


class _Signature:
    """The signature of a function or op, as `lift` knows it: its parameters, and which of them are tensors."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        if isinstance(function, Op):
            self.parameters = [p.lstrip("*") for p in function.args]
            self.variadic = next((p.lstrip("*") for p in function.args if p.startswith("*")), None)
            self.required, self.optional = set(self.parameters), set()
            self.least = len(self.parameters)
            self.same, self.alone = function.args, ()
            self.doc = function.doc
            return
        parameters = inspect.signature(function).parameters
        self.parameters = list(parameters)
        self.variadic = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), None)
        self.required = {p.name for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
        self.least = max([i + 1 for i, p in enumerate(self.parameters) if p in self.required], default=0)
        self.optional = {p.name for p in parameters.values() if p.default is None}
        self.same, self.alone = getattr(function, "__operands__", ((), ()))
        self.doc = function.__doc__ or ""

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The arguments by name, and the `name` given as the last positional one, with which TensorFlow's end."""
        names, label = self.parameters, None
        if not kwargs and self.variadic is None and self.least <= len(args) <= len(names):
            return dict(zip(names, args, strict=False)), None
        arguments: dict[str, Any] = {}
        if self.variadic is not None:
            before = names.index(self.variadic)
            arguments[self.variadic] = list(args[before:])
            args = args[:before]
        elif len(args) == len(names) + 1:
            args, label = args[:-1], args[-1]
        if len(args) > len(names):
            raise TypeError(f"{self.name}() takes {len(names)} positional arguments, got {len(args)}")
        arguments.update(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in arguments:
                why = "multiple values for" if key in arguments else "an unexpected keyword"
                raise TypeError(f"{self.name}() got {why} argument '{key}'; its arguments are {', '.join(names)}, name")
            arguments[key] = value
        missing = [p for p in names if p in self.required and p not in arguments]
        if missing:
            raise TypeError(f"{self.name}() misses the argument `{missing[0]}`")
        return arguments, label

    def positional(self, arguments: dict[str, Any]) -> list[Any]:
        """Takes out of `arguments` those that must be passed by position."""
        if self.variadic is None:
            return []
        before = self.parameters[: self.parameters.index(self.variadic)]
        return [*[arguments.pop(p) for p in before], *arguments.pop(self.variadic)]


def lift(
    function: Callable[..., Any],
    finish: Callable[..., Any],
    name: str | None = None,
    wrap: Wrap | None = None,
    finished: type | None = None,
) -> Callable[..., Any]:
    """The public function for an engine function or op.

    Parameters
    ----------
    function : Op or callable declared with `operands`
    finish : callable
        ``finish(call, name, *args, **kwargs)``: runs ``call(*args, **kwargs)`` and wraps its result in the front end's
        tensors. ``name`` is what the user passed as ``name=``.
    name : str, optional
        The public name, for error messages.
    wrap : callable, optional
        Makes the front end's tensor of an array that an argument was converted to.
    finished : type, optional
        Of results that are the front end's tensors already, where calls leave no trace and have no names.
    """
    public = name or getattr(function, "name", None) or function.__name__
    signature = _Signature(function, public)
    parameters, same, alone = signature.parameters, signature.same, signature.alone
    tensors = {*same, *alone}
    positions = [(i, f"*{p}" in tensors) for i, p in enumerate(parameters) if p in tensors or f"*{p}" in tensors]
    by_name = {t.lstrip("*") for t in tensors}
    least = len(parameters) if isinstance(function, Op) else 0
    most = len(parameters) if signature.variadic is None else -1
    short = public.rpartition(".")[2]
    convert = conversion(public, same, alone, signature.optional, wrap)
    call = function if isinstance(function, Op) else _in_memory(function, public)

    def lifted(*args: Any, **kwargs: Any) -> Any:
        label = kwargs.pop("name", None) if kwargs else None
        count = len(args)
        if least <= count <= most and not (kwargs and not by_name.isdisjoint(kwargs)):
            # the common case, which each eager call pays for: all tensors among the arguments are tensors already
            for i, is_list in positions:
                if i < count and not (_are_values(args[i]) if is_list else isinstance(args[i], Value)):
                    break
            else:
                if finished is None:
                    return finish(call, label, *args, **kwargs)
                out = call(*args, **kwargs)
                return out if type(out) is finished else finish(_given, label, out)
        arguments, last = signature.bind(args, kwargs)
        if isinstance(arguments.get(parameters[0]), Composite):
            more = {key: value for key, value in arguments.items() if key != parameters[0]}
            taken = arguments[parameters[0]].taken_by(short, lifted, **more)
            if taken is not NotImplemented:
                return taken
        convert(arguments)
        if isinstance(function, Op):
            return finish(call, label or last, *_operands_of(signature, arguments))
        positional = signature.positional(arguments)
        return finish(call, label or last, *positional, **arguments)

    if isinstance(function, Op):
        lifted.__signature__ = _shown(signature)  # type: ignore[attr-defined]
    else:
        functools.update_wrapper(lifted, function)
    lifted.__name__ = lifted.__qualname__ = public.rpartition(".")[2]
    lifted.__doc__ = signature.doc
    lifted.__engine__ = function  # type: ignore[attr-defined]
    if finished is not None:
        _shorten(lifted, call, functools.partial(finish, _given, None), by_name, (least, most), positions)
    return lifted


def _shorten(
    lifted: Callable[..., Any],
    function: Callable[..., Any],
    finish: Callable[..., Any],
    by_name: set[str],
    count: tuple[int, int],
    positions: list[tuple[int, bool]],
) -> None:
    """Let calls with tensors at all positions where tensors stand go to the function itself."""
    if in_c:
        tensors, lists = (sum(1 << i for i, is_list in positions if is_list is kind) for kind in (False, True))
        in_c.shortcut(lifted, function, finish, frozenset({*by_name, "name"}), *count, tensors, lists)


def _in_memory(function: Callable[..., Any], public: str) -> Callable[..., Any]:
    """The function, which may need more memory than there is before it comes to an op."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            raise ResourceExhaustedError.of(error, public) from error

    return called


def _shown(signature: _Signature) -> inspect.Signature:
    """The signature that `help` shows of an op, whose arguments are all tensors."""
    kinds = inspect.Parameter
    last = kinds.POSITIONAL_OR_KEYWORD if signature.variadic is None else kinds.KEYWORD_ONLY
    shown = [
        kinds(p, kinds.VAR_POSITIONAL if p == signature.variadic else kinds.POSITIONAL_OR_KEYWORD)
        for p in signature.parameters
    ]
    return inspect.Signature([*shown, kinds("name", last, default=None)])


def _given(x: Any) -> Any:
    return x


def _operands_of(signature: _Signature, arguments: dict[str, Any]) -> list[Any]:
    positional = signature.positional(arguments)
    return [*positional, *[arguments[p] for p in signature.parameters if p in arguments]]
