"""`custom_gradient`: a function with a gradient rule of the user's own.

After the function has run, one more node is recorded: ``custom_call(inputs..., outputs...) -> outputs``. It passes the
outputs through and pulls cotangents back to the inputs by the user's rule, past whatever the function did inside. That
is recorded as well: the rule may use intermediate results, and must be differentiable through them. The same node
serves tapes and graphs. Rules made of ops can be differentiated again, so nested custom gradients define second
derivatives.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import levels_of, levels_opened, lowered, materialized, raised
from engine.core.detach import detaching
from engine.core.eager import EagerTensor
from engine.core.kinds import PerOperand, Together, general
from engine.core.op import FROM_VJP, Op
from engine.core.operands import Operand
from engine.core.tape import Tape
from engine.core.value import Value, Zero, as_array, aval_of, dtype_of, shape_of
from engine.core.variable import Variable
from engine.ops.arithmetic import add
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from engine.runtime.public_names import is_named


def _vjp(i: int, cts: Any, outs: Any, *operands: Any, count: int, rule: Callable[..., Any]) -> Operand | Zero:
    # operands from `count` on are the outputs computed by the user's function: no derivative passes through them
    if i >= count:
        return Zero(aval_of(operands[i]))
    return rule(i, cts, operands[i])


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    rule = params["rule"].of_batch(size) if isinstance(params["rule"], _Rule) else params["rule"]
    return op(*materialized(inputs, flags, size), count=params["count"], rule=rule)


custom_call = general(
    "custom_call",
    lambda *operands, count, rule: operands[count:],
    lambda *operands, count, rule: operands[count:],
    vjp=PerOperand(_vjp, carries=lambda i, params: i < params["count"]),
    jvp=FROM_VJP,
    batch=_batch,
    type="IdentityN",
    args=("*operands",),
    multi=True,
    simplify=lambda avals, params: range(params["count"], len(avals)),
    doc="Passes its last operands through; cotangents go to its first ``count`` ones by a rule of the user's own.",
)


# ---- rules that are closed -------------------------------------------------------------------------------------------


def _closed_kernel(*operands: Any, count: int, results: int, given: Sequence[int], pull: Any) -> tuple[Any, ...]:
    return operands[count : count + results]


def _closed_vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, *operands: Any,
    count: int, results: int, given: Sequence[int], pull: Any,
) -> list[Any]:  # fmt: skip
    found = pull.inline(None, [*cts, *operands[count + results :]])
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    for i, ct in zip(given, found, strict=True):
        totals[i] = ct if previous[i] is None else add(previous[i], ct)
    return totals


def _closed_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[np.ndarray, ...]:
    full = materialized(inputs, flags, size)
    # cotangents are like the results
    avals = [Aval(a.shape, a.dtype) for a in map(aval_of, full[params["count"] :])]
    each = [True] * len(avals), avals, size, [True] * len(params["given"])
    return op(*full, **{**params, "pull": params["pull"].batched(*each)[0]})


closed_call = general(
    "closed_call",
    _closed_kernel,
    _closed_kernel,
    vjp=Together(_closed_vjp, carries=lambda i, params: i in params["given"]),
    jvp=FROM_VJP,
    batch=_closed_batch,
    type="IdentityN",
    args=("*operands",),
    multi=True,
    simplify=lambda avals, params: range(params["count"], params["count"] + params["results"]),
    doc="""A `custom_call` whose rule is the closed function `pull`.

    Operands are ``count`` inputs, ``results`` outputs, and what the rule takes besides cotangents; it gives cotangents
    of the inputs `given`.
    """,
)


_DEFAULT = -1
"""In place of an operand: an argument left to its default, whose gradient nobody asks for."""


class _Arguments:
    """The arguments of one call.

    A rule returns one gradient per positional argument, as in TensorFlow. It may also count arguments given by keyword
    that hold tensors, in the order of the signature; leave out those that hold none, such as a string; or count all
    parameters, those left to their defaults included. So a function has the same gradient however it is called.

    Attributes
    ----------
    args, kwargs
        With tensors in place of arrays and fractional numbers.
    operands : list of value
        The tensors among them, in the order of the signature.
    """

    def __init__(
        self, f: Callable[..., Any], convert: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.operands: list[Any] = []
        self.args, self._positional = self._taken(args, convert)
        self.kwargs: dict[str, Any] = {}
        self._function, self._named = f, {}
        for name in _in_order(f, kwargs) if kwargs else ():
            self.kwargs[name], self._named[name] = self._taken(kwargs[name], convert, numbers=False)

    def _taken(self, structure: Any, convert: Callable[[Any], Any], numbers: bool = True) -> tuple[Any, list[Any]]:
        """The structure with its tensors, and for each of its leaves which operand it is."""
        leaves, places = nest.flatten(structure), list[int | None]()
        for i, leaf in enumerate(leaves):
            # whole numbers, flags, names and None tell what to compute
            if not isinstance(
                leaf, (Value, np.ndarray, np.inexact, float, complex) if numbers else (Value, np.ndarray)
            ):
                places.append(None)
                continue
            leaves[i] = convert(leaf)
            places.append(len(self.operands))
            self.operands.append(leaves[i])
        return nest.pack_sequence_as(structure, leaves), places

    def orders(self) -> Iterator[list[Any]]:
        """The orders in which a rule may return gradients.

        For each of them the operand that it belongs to; `_DEFAULT`; or None for something that has no gradient.
        """
        if self._positional:
            yield self._positional
        yield [k for k in [*self._positional, *itertools.chain(*self._named.values())] if k is not None]
        yield [k for k in self._positional if k is not None]
        left = [p for p in _parameters(self._function)[len(self.args) :] if p.kind not in _VARIADIC]
        yield [*self._positional, *itertools.chain(*[self._named.get(p.name, [_DEFAULT]) for p in left])]

    def gradients(self, found: Sequence[Any]) -> list[Any] | None:
        """The gradients that a rule has returned, one for each operand; None if their number fits no order."""
        for order in self.orders():
            pairs = list(zip(order, found, strict=False))
            if len(order) == len(found) and all(k is not None or g is None for k, g in pairs):
                of = dict(pairs)
                return [of.get(k) for k in range(len(self.operands))]
        return None


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(f: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []


def _in_order(f: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """The names of arguments in the order of the signature; further ones as they come."""
    known = [p.name for p in _parameters(f) if p.name in names and p.kind not in _VARIADIC]
    return [*known, *[name for name in names if name not in known]]


class _Rule:
    """The user's gradient function, called once per set of cotangents and checked.

    It is unhashable, because no two are alike: recordings that hold one are not worth remembering for compilation.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, grad_fn: Callable[..., Any], arguments: _Arguments, variables: Sequence[Any]) -> None:
        self.name, self.grad_fn = name, grad_fn
        self.arguments, self.variables = arguments, list(variables)
        self._last: tuple[Any, Any] | None = None
        # the batches whose elements it refers to, but for those that it is called for as a whole
        self.inside: list[int] = []
        self._levels: tuple[tuple[int, int], ...] = ()

    def of_batch(self, size: int) -> _Rule:
        """The rule of all elements of the innermost batch at once: cotangents have their axis in front."""
        made = copy.copy(self)
        if self.inside:
            *made.inside, level = self.inside
            made._levels, made._last = ((level, size), *self._levels), None
        return made

    def __call__(self, i: int, cts: tuple[Any, ...], operand: Any) -> Operand | Zero:
        if self._last is None or self._last[0] is not cts:
            with levels_opened(self._levels):
                self._last = (cts, self._gradients(cts))
        gradient = self._last[1][i]
        if gradient is None:
            return Zero(aval_of(operand))
        return self._checked(gradient, operand, i)

    def _gradients(self, cts: tuple[Any, ...]) -> list[Any]:
        cotangents = [raised(ct if isinstance(ct, Value) else EagerTensor(ct), self._levels) for ct in cts]
        if not self.variables:
            return self._of_arguments(self.grad_fn(*cotangents))
        result = self.grad_fn(*cotangents, variables=self.variables)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"custom_gradient: the gradient function of {self.name} uses variables and must return "
                f"(gradients of the inputs, gradients of the variables)"
            )
        of_variables = nest.flatten(result[1])
        if len(of_variables) != len(self.variables):
            raise self._miscounted(len(self.variables), len(of_variables), "variables")
        return self._of_arguments(result[0]) + of_variables

    def _of_arguments(self, gradients: Any) -> list[Any]:
        flat = nest.flatten(gradients)
        found = self.arguments.gradients(flat)
        if found is None:
            raise self._miscounted(len(next(self.arguments.orders())), len(flat), "inputs")
        return found

    def _miscounted(self, expected: int, count: int, of: str) -> ValueError:
        return InvalidArgumentError(
            f"custom_gradient function expected to return {expected} gradients, but returned {count} instead. "
            f"(The gradient function of {self.name} must return one for each of its {of}.)"
        )

    def _checked(self, gradient: Any, operand: Any, i: int) -> Operand:
        if not isinstance(gradient, Value):
            gradient = as_array(gradient, dtype_of(operand), f"custom_gradient of {self.name}")
        gradient = lowered(gradient, self._levels)
        if not compatible(shape_of(gradient), shape_of(operand)):
            raise ShapeError(
                f"custom_gradient: the gradient function of {self.name} returned shape "
                f"{format_shape(shape_of(gradient))} for input {i}, which has shape {format_shape(shape_of(operand))}"
            )
        if dtype_of(gradient) is not dtype_of(operand):
            raise DTypeError(
                f"custom_gradient: the gradient function of {self.name} returned dtype {dtype_of(gradient).name} for "
                f"input {i}, which has dtype {dtype_of(operand).name}"
            )
        return gradient._array if isinstance(gradient, EagerTensor) and not isinstance(operand, Value) else gradient


class CustomGradient:
    """A function, or method, that computes what `f` computes, with the gradient that `f` defines."""

    def __init__(self, f: Callable[..., Any], convert: Callable[[Any], Any]) -> None:
        functools.update_wrapper(self, f)
        self._function, self._convert = f, convert
        self._name = getattr(f, "__name__", type(f).__name__)

    def __get__(self, instance: Any, owner: Any = None) -> CustomGradient:
        bind = getattr(self._function, "__get__", None)
        return self if instance is None or bind is None else CustomGradient(bind(instance, owner), self._convert)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if is_named(self, self._function):
            return self.__qualname__  # type: ignore[attr-defined]
        return CustomGradient, (self._function, self._convert)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of `f`, recorded with its rule."""
        name = self._name
        arguments = _Arguments(self._function, self._convert, args, kwargs)
        given = arguments.operands
        values = [a.read_value() if isinstance(a, Variable) else a for a in given]
        watcher = Tape()
        watcher.start()
        try:
            with detaching():
                result, grad_fn = _result_and_rule(self._function(*arguments.args, **arguments.kwargs), name)
        finally:
            watcher.stop()
        passed = {id(a) for a in given}
        variables = [v for v in watcher.variables.values() if id(v) not in passed]
        takes = any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in _parameters(grad_fn))
        if variables and not takes:
            raise TypeError(
                f"custom_gradient: {name} reads the variables {[v.name for v in variables]}, so its gradient function "
                f"must accept keyword argument 'variables' and return their gradients too"
            )
        outputs = [self._convert(o) for o in nest.flatten(result)]
        rule = _Rule(name, grad_fn, arguments, variables)
        operands = [*values, *[v.read_value() for v in variables]]
        rule.inside = sorted(levels_of([*operands, *outputs]))
        passed_on = custom_call(*operands, *outputs, count=len(operands), rule=rule)
        return nest.pack_sequence_as(result, passed_on)


def custom_gradient(f: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that computes what `f` computes, with the gradient that `f` defines.

    Parameters
    ----------
    f : callable
        ``f(*args, **kwargs) -> (result, grad_fn)``. ``grad_fn(*upstream)`` gets one cotangent per result tensor and
        returns one gradient per argument (None for zero), see `_Arguments`. If `f` reads variables, `grad_fn` must take
        ``variables=`` and return ``(gradients of arguments, gradients of variables)``.
    convert : callable
        Makes a tensor of an argument that is not one yet; each front end has its own.

    Raises
    ------
    ValueError
        If `grad_fn` returns the wrong number of gradients, or one of the wrong shape.
    TypeError
        If `f` reads variables but `grad_fn` does not take them, or a gradient has the wrong dtype.
    """
    return CustomGradient(f, convert)


def _result_and_rule(returned: Any, name: str) -> tuple[Any, Callable[..., Any]]:
    if isinstance(returned, (tuple, list)) and len(returned) == 2 and callable(returned[1]):
        return returned[0], returned[1]
    raise TypeError(f"custom_gradient: {name} must return (result, gradient function), got {returned!r}")


def passing(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as what `custom_gradient` takes, with the gradient of the identity and none for variables."""

    def passed(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(*upstream: Any, variables: Sequence[Any] = ()) -> Any:
            return (upstream, [None] * len(variables)) if variables else upstream

        return f(*args, **kwargs), grad

    return passed
