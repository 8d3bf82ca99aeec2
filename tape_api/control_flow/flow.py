"""Control flow and scopes. Outside of functions everything happens at once, so these are the plain Python constructs.

While a ``tf.function`` is recorded a choice by a value that differs from call to call is one op (`functions.tracing`).
What a branch returns becomes a value of its own (`functions.own_values`), as in a graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from dualgrad.frontend.flow import batched, choices
from engine.core import nest
from engine.core.aval import Aval
from engine.core.batching import Batched
from engine.core.detach import detached, effect
from engine.core.dtypes import DType, as_dtype
from engine.core.tape import active
from engine.core.value import Value, as_declared
from engine.derivatives import custom
from engine.ops.compare import equal
from engine.runtime.errors import DTypeError, InvalidArgumentError, of_users_function
from tape_api.functions.own_values import apart, marks
from tape_api.functions.tracing import HOST, captured, has_shape_only, is_symbolic
from tape_api.random import counted_apart
from tape_api.tensor import convert_to_tensor

T = TypeVar("T")


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Decorator for a function that defines its own gradient.

    Parameters
    ----------
    f : callable
        ``f(*args) -> (result, grad_fn)``, where ``grad_fn(*upstream)`` returns one gradient per argument. If `f` reads
        variables, `grad_fn` must take ``variables=`` and return (gradients of arguments, gradients of variables).

    Examples
    --------
    >>> import tape_api as tf
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(1.0)
    """
    return custom_gradient if f is None else custom.custom_gradient(f, convert_to_tensor)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with the gradient of the identity.

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.constant(2.6)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.round)(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(1.0)
    """
    return custom_gradient(custom.passing(f))


def cond(pred: Any, true_fn: Callable[[], T], false_fn: Callable[[], T], name: str | None = None) -> T:
    """``true_fn()`` if `pred` holds, else ``false_fn()``.

    As in a graph, the result is another value than a tensor from outside that the function returns, and a variable
    that it returns is read.
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        nest.require_callable("cond", argument, function)
    if pred is None:
        raise ValueError("cond: argument `pred` must be a boolean scalar, got None")
    if isinstance(pred, Batched):
        return choices.cond(HOST, pred, true_fn, false_fn, strict=True)
    true_fn, false_fn = counted_apart(true_fn, false_fn)
    return _by_value(
        [pred],
        lambda: choices.cond(HOST, pred, true_fn, false_fn, strict=True, name=name),
        lambda: _chosen(true_fn if has_shape_only(pred) or bool(pred) else false_fn),
    )


def _by_value(values: Sequence[Any], build: Callable[[], Any], python: Callable[[], Any]) -> Any:
    """Python's choice; an op, if one of the values that it depends on differs from call to call."""
    if active.function is not None and any(map(is_symbolic, values)):
        return captured(build, python)
    return python()


def _chosen(function: Callable[[], T]) -> T:
    """The result of a branch."""
    before = marks()
    return apart(function(), before)


def case(
    pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, name: str | None = None
) -> Any:
    """The result of the function that stands beside the first condition that holds.

    Raises
    ------
    InvalidArgumentError
        If no condition holds and there is no `default`, or (if `exclusive`) more than one holds.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    default = default and counted_apart(default)[0]
    pairs = [(pred, *counted_apart(fn)) for pred, fn in pairs]

    if any(isinstance(pred, Batched) for pred, _ in pairs):
        batched.require_default(default, exclusive)
        chosen: Any = default
        for pred, fn in reversed(pairs):
            chosen = functools.partial(cond, pred, fn, chosen)
        return chosen()

    def python() -> Any:
        if any(has_shape_only(pred) for pred, _ in pairs):
            return _chosen(pairs[0][1])
        chosen = [fn for pred, fn in pairs if bool(pred)]
        if exclusive and len(chosen) > 1:
            raise InvalidArgumentError(f"case: {len(chosen)} conditions hold, but they must exclude each other")
        if not chosen and default is None:
            raise InvalidArgumentError("case: none of the conditions holds, and there is no default")
        return _chosen(chosen[0] if chosen else default)  # type: ignore[arg-type]

    def build() -> Any:
        tensors = [(pred if isinstance(pred, Value) else HOST.convert(pred), fn) for pred, fn in pairs]
        return choices.case(HOST, tensors, default, exclusive, strict=True, name=name)

    return _by_value([pred for pred, _ in pairs], build, python)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """The result of the function with the given index; of `default` (or else the last) if there is none."""
    dtype = getattr(branch_index, "dtype", None) or np.asarray(branch_index).dtype
    if not as_dtype(dtype).is_integer:
        raise DTypeError(f"switch_case: argument `branch_index` must be an integer, got {branch_index!r}")
    branches = counted_apart(*nest.branches("switch_case", branch_fns))
    default = default and counted_apart(default)[0]
    if isinstance(branch_index, Batched):
        rest = branches if default else branches[:-1]
        return case([(equal(branch_index, i), fn) for i, fn in enumerate(rest)], default or branches[-1])

    def python() -> Any:
        if has_shape_only(branch_index):
            return _chosen(branches[0])
        index = int(branch_index)
        return _chosen(branches[index] if 0 <= index < len(branches) else default or branches[-1])

    return _by_value(
        [branch_index], lambda: choices.switch_case(HOST, branch_index, branches, default, strict=True), python
    )


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Accepted for compatibility: everything runs on the CPU."""
    yield


@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Accepted for compatibility: everything happens in the order of the program."""
    yield


@contextmanager
def init_scope() -> Iterator[None]:
    """Accepted for compatibility: everything happens at once."""
    yield


def executing_eagerly() -> bool:
    """True."""
    return True


def _decorates(call: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``@call(Tout=...)``: what makes a function of one that is called through `call`."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(func)(lambda *inp: call(func, inp, **options))

    return decorate


def tuple_(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """The tensors as a list: each has been computed, or will be with the others."""
    return [None if x is None else convert_to_tensor(x) for x in tensors]


def py_function(
    func: Callable[..., Any] | None = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: str | None = None
) -> Any:
    """``func(*inp)`` with tensors; what it does is recorded.

    The results must be of the dtypes in `Tout`; Python numbers take them. Without `func` it is a decorator:
    ``@tf.py_function(Tout=tf.float32)``.
    """
    if func is None:
        return _decorates(py_function, Tout=Tout, name=name)
    if getattr(active.region, "for_specs", False):
        return _stand_ins(Tout)
    effect("py_function calls Python")
    with of_users_function("py_function"):
        results = func(*[convert_to_tensor(x) for x in inp or ()])
    return _as_declared(results, Tout, lambda r, dtype: convert_to_tensor(r, dtype))


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """``func(*inp)`` with arrays; no gradient passes.

    The results must be of the dtypes in `Tout`; Python numbers take them. Without `func` it is a decorator:
    ``@tf.numpy_function(Tout=tf.float32)``.
    """
    if func is None:
        return _decorates(numpy_function, Tout=Tout, stateful=stateful, name=name)
    if getattr(active.region, "for_specs", False):
        return _stand_ins(Tout)
    effect("numpy_function calls Python")
    tensors = [convert_to_tensor(x) for x in inp or ()]
    if active.tapes:
        for x in tensors:
            detached(x, "function")
    results = func(*[x.numpy() for x in tensors])
    return _as_declared(results, Tout, lambda r, dtype: convert_to_tensor(as_declared(r, dtype, "numpy_function")))


def _stand_ins(dtypes: Any) -> Any:
    """Tensors of the dtypes declared, of which nothing else is known."""
    return nest.map_structure(lambda d: active.region.placeholder(Aval(None, as_dtype(d))), dtypes)


def _as_declared(results: Any, dtypes: Any, convert: Callable[[Any, DType], Any]) -> Any:
    if dtypes is None or (isinstance(dtypes, (list, tuple)) and not dtypes and results is None):
        return dtypes
    if not isinstance(dtypes, (list, tuple)):
        only = results[0] if isinstance(results, (list, tuple)) and len(results) == 1 else results
        return convert(only, as_dtype(dtypes))
    if len(dtypes) == 1 and not isinstance(results, (list, tuple)):
        results = [results]
    if not isinstance(results, (list, tuple)) or len(results) != len(dtypes):
        raise InvalidArgumentError(f"py_function: the function must return {len(dtypes)} values, got {results!r}")
    return [convert(r, as_dtype(d)) for r, d in zip(results, dtypes, strict=True)]


def group(*inputs: Any, **_: Any) -> None:
    """Nothing: what the inputs stand for has happened."""


def no_op(name: str | None = None) -> None:
    """Nothing."""


def get_static_value(tensor: Any, partial: bool = False) -> np.ndarray:
    """The tensor's value as an array."""
    return np.asarray(convert_to_tensor(tensor))
