"""`custom_gradient`: a function with a gradient rule of the user's own.

After the function has run, one more node is recorded: ``custom_call(inputs..., outputs...) -> outputs``. It passes the
outputs through and pulls cotangents back to the inputs by the user's rule, past whatever the function did inside. That
is recorded as well: the rule may use intermediate results, and must be differentiable through them. The same node
serves tapes and graphs. Rules made of ops can be differentiated again, so nested custom gradients define second
derivatives.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from engine import nest
from engine.aval import Aval, compatible, format_shape
from engine.batching import materialize
from engine.detach import detaching
from engine.eager import EagerTensor
from engine.errors import DTypeError, ShapeError
from engine.kinds import FROM_VJP, PerOperand, Together, general
from engine.op import Op
from engine.ops.arithmetic import add
from engine.tape import Tape
from engine.value import Value, Zero, as_array, aval_of, dtype_of, shape_of
from engine.variable import Variable


def _passed_through(*operands: Any, count: int, rule: Any) -> tuple[Any, ...]:
    return operands[count:]


def _abstract(*operands: Aval, count: int, rule: Any) -> tuple[Aval, ...]:
    return operands[count:]


def _vjp(i: int, cts: Any, outs: Any, *operands: Any, count: int, rule: Callable[..., Any]) -> Any:
    # operands from `count` on are the outputs computed by the user's function: no derivative passes through them
    if i >= count:
        return Zero(aval_of(operands[i]))
    return rule(i, cts, operands[i])


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    full = [x if flag else materialize(x, size) for x, flag in zip(inputs, flags, strict=True)]
    return op(*full, **params)


custom_call = general(
    "custom_call",
    _passed_through,
    _abstract,
    vjp=PerOperand(_vjp),
    jvp=FROM_VJP,
    batch=_batch,
    type="IdentityN",
    args=("*operands",),
    multi=True,
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


def _closed_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    full = [x if flag else materialize(x, size) for x, flag in zip(inputs, flags, strict=True)]
    # cotangents are like the results
    avals = [Aval(a.shape, a.dtype) for a in map(aval_of, full[params["count"] :])]
    each = [True] * len(avals), avals, size, [True] * len(params["given"])
    return op(*full, **{**params, "pull": params["pull"].batched(*each)[0]})


closed_call = general(
    "closed_call",
    _closed_kernel,
    _closed_kernel,
    vjp=Together(_closed_vjp),
    jvp=FROM_VJP,
    batch=_closed_batch,
    type="IdentityN",
    args=("*operands",),
    multi=True,
    doc="""A `custom_call` whose rule is the sub-trace `pull`.

    Operands are ``count`` inputs, ``results`` outputs, and what the rule takes besides cotangents; it gives cotangents
    of the inputs `given`.
    """,
)


class _Rule:
    """The user's gradient function, called once per set of cotangents and checked.

    It is unhashable, because no two are alike: recordings that hold one are not worth remembering for compilation.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, grad_fn: Callable[..., Any], structure: Any, inputs: int, variables: Sequence[Any]):
        self.name, self.grad_fn, self.structure = name, grad_fn, structure
        self.inputs, self.variables = inputs, list(variables)
        self._last: tuple[Any, Any] | None = None

    def __call__(self, i: int, cts: tuple[Any, ...], operand: Any) -> Any:
        if self._last is None or self._last[0] is not cts:
            self._last = (cts, self._gradients(cts))
        gradient = self._last[1][i]
        if gradient is None:
            return Zero(aval_of(operand))
        return self._checked(gradient, operand, i)

    def _gradients(self, cts: tuple[Any, ...]) -> list[Any]:
        cotangents = [ct if isinstance(ct, Value) else EagerTensor(ct) for ct in cts]
        if not self.variables:
            return self._flat(self.grad_fn(*cotangents), self.inputs)
        result = self.grad_fn(*cotangents, variables=self.variables)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"custom_gradient: the gradient function of {self.name} uses variables and must return "
                f"(gradients of the inputs, gradients of the variables)"
            )
        return self._flat(result[0], self.inputs) + self._flat(result[1], len(self.variables), "variables")

    def _flat(self, gradients: Any, expected: int, of: str = "inputs") -> list[Any]:
        flat = nest.flatten(gradients)
        if len(flat) != expected:
            raise ValueError(
                f"custom_gradient function expected to return {expected} gradients, but returned {len(flat)} instead. "
                f"(The gradient function of {self.name} must return one for each of its {of}.)"
            )
        return flat

    def _checked(self, gradient: Any, operand: Any, i: int) -> Any:
        if not isinstance(gradient, Value):
            gradient = as_array(gradient, dtype_of(operand), f"custom_gradient of {self.name}")
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


def custom_gradient(f: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that computes what `f` computes, with the gradient that `f` defines.

    Parameters
    ----------
    f : callable
        ``f(*args, **kwargs) -> (result, grad_fn)``. ``grad_fn(*upstream)`` gets one cotangent per result tensor and
        returns one gradient per positional argument (None for zero). If `f` reads variables, `grad_fn` must take
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
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        arguments = [convert(a) for a in nest.flatten(args)]
        values = [a.read_value() if isinstance(a, Variable) else a for a in arguments]
        watcher = Tape()
        watcher.start()
        try:
            with detaching():
                result, grad_fn = _result_and_rule(f(*nest.pack_sequence_as(args, arguments), **kwargs), name)
        finally:
            watcher.stop()
        passed = {id(a) for a in arguments}
        variables = [v for v in watcher.variables.values() if id(v) not in passed]
        if variables and not _takes_variables(grad_fn):
            raise TypeError(
                f"custom_gradient: {name} reads the variables {[v.name for v in variables]}, so its gradient function "
                f"must take the keyword argument `variables` and return their gradients too"
            )
        outputs = [convert(o) for o in nest.flatten(result)]
        rule = _Rule(name, grad_fn, result, len(values), variables)
        operands = [*values, *[v.read_value() for v in variables]]
        passed_on = custom_call(*operands, *outputs, count=len(operands), rule=rule)
        return nest.pack_sequence_as(result, passed_on)

    return decorated


def _result_and_rule(returned: Any, name: str) -> tuple[Any, Callable[..., Any]]:
    if isinstance(returned, (tuple, list)) and len(returned) == 2 and callable(returned[1]):
        return returned[0], returned[1]
    raise TypeError(f"custom_gradient: {name} must return (result, gradient function), got {returned!r}")


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)
