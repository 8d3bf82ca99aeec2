"""Operations that are run for their effect or their order: no_op, group, tuple, Print, assertions, Python functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import graph_api as tf
from dualgrad.frontend.flow.composites import opened
from engine.core import nest
from engine.core.aval import Aval
from engine.core.batching import Batches
from engine.core.dtypes import DType, as_dtype
from engine.core.kinds import linear, nondifferentiable
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import as_declared
from engine.ops import shape as shapes
from engine.runtime.errors import InvalidArgumentError, UnimplementedError, of_users_function
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph import no_op as no_op_op
from graph_api.graphs.tensor import Operation, Tensor


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; it can wait for control dependencies."""
    return get_default_graph().apply_for_effect(no_op_op, (), {}, name or "NoOp")


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs all of `inputs` (operations, tensors, variables, or lists of these)."""
    flat = [x for x in nest.flatten(list(inputs)) if x is not None]
    return get_default_graph().group(flat, name or "group_deps")


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The same tensors, each available only when all of them are computed (and `control_inputs` have run)."""
    graph = get_default_graph()
    made = [t for t in nest.flatten(opened(list(tensors))) if t is not None]
    if not made:
        raise ValueError(f"tuple: argument `tensors` must hold at least one tensor, got {tensors!r}")
    waited = made + list(control_inputs or [])
    with graph.name_scope(name or "tuple"), graph.control_dependencies([graph.group(waited)]):
        return [None if t is None else tf.identity(t) for t in tensors]


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Tensor:
    """`output_tensor`, available only when all of `dependencies` have run."""
    graph = get_default_graph()
    with graph.control_dependencies(dependencies):
        return shapes.identity(convert_to_tensor(output_tensor))


def one_by_one(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> Batches:
    """The batch rule of ops that call Python functions: there is none."""
    """The batching rule of what cannot be vectorized."""
    raise UnimplementedError(
        f"{op.name}: a Python function cannot be vectorized; write it with this package's functions"
    )


stateful_op = partial(nondifferentiable, batch=one_by_one, stateful=True)
"""An op that does something, or may give something else each time."""


# ---- Print -----------------------------------------------------------------------------------------------------------


class Times:
    """How often something is still to be done: without end if `left` is None."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    def one(self) -> bool:
        """Whether it is to be done now; counts."""
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


def _print_kernel(x: Any, *data: Any, message: str, summarize: int, times: Times) -> Operand:
    if not times.one():
        return x
    shown = "".join("[" + " ".join(str(v) for v in np.ravel(d)[:summarize]) + "]" for d in data)
    sys.stderr.write(message + shown + "\n")
    return x


print_op = linear(
    "print_op",
    _print_kernel,
    lambda ct, x, *data, **_: ct,
    lambda x, *data, **_: Aval(x.shape, x.dtype),
    one_by_one,
    type="Print",
    args=("input", "*data"),
    stateful=True,
    doc="The identity, with a message on standard error.",
)


def Print(
    input_: Any, data: Sequence[Any], message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`input_`; when it is computed, the first `summarize` elements of each of `data` go to standard error.

    Parameters
    ----------
    input_ : tensor
    data : list of tensors
    message : str, optional
        What stands before them.
    first_n : int, optional
        How often it is printed; always by default.
    summarize : int, optional
        3 by default.
    name : str, optional
    """
    x = convert_to_tensor(input_)
    params = {
        "message": message or "",
        "summarize": summarize or 3,
        "times": Times(None if first_n is None or first_n < 0 else first_n),
    }
    return x.graph.apply(print_op, (x, *[convert_to_tensor(d) for d in data]), params, name=name or "Print")


# ---- assertions ------------------------------------------------------------------------------------------------------


def _assert_kernel(condition: Any, *data: Any, message: str) -> tuple[()]:
    if not np.all(condition):
        shown = " ".join(str(np.asarray(d)) for d in data)
        raise InvalidArgumentError(f"assertion failed: {message} {shown}".rstrip())
    return ()


assert_op = stateful_op(
    "assert_op",
    _assert_kernel,
    abstract=lambda *_, message: (),
    type="Assert",
    args=("condition", "*data"),
    multi=True,
    doc="Raises unless the condition holds.",
)


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError, showing `data`, unless `condition` holds when it runs."""
    return assertion(convert_to_tensor(condition), data, "", name or "Assert")


def assertion(condition: Any, data: Sequence[Any], message: str, name: str) -> Operation:
    """An operation that raises InvalidArgumentError with a message, and `data`, unless `condition` holds."""
    operands = (condition, *[convert_to_tensor(d) for d in data])
    return get_default_graph().apply_for_effect(assert_op, operands, {"message": message}, name)


# ---- Python functions ------------------------------------------------------------------------------------------------


def _call_python(*arrays: Any, func: Callable[..., Any], dtypes: Sequence[DType], single: bool) -> list[np.ndarray]:
    with of_users_function("py_func"):
        result = func(*[np.array(a) for a in arrays])
    results = () if result is None and not dtypes else nest.flatten(result)
    if single and len(results) != 1:
        results = [result]
    if len(results) != len(dtypes):
        raise InvalidArgumentError(f"py_func: the function must return {len(dtypes)} arrays, got {len(results)}")
    # copies: the function may keep its arrays, and change them
    return [np.array(as_declared(r, dtype, "py_func")) for r, dtype in zip(results, dtypes, strict=True)]


def _python_call(name: str, type: str) -> Op:
    return stateful_op(
        name,
        _call_python,
        abstract=lambda *_, func, dtypes, single: [Aval(None, dtype) for dtype in dtypes],
        type=type,
        args=("*inputs",),
        multi=True,
        doc="Calls a Python function on arrays. Derivatives do not pass it.",
    )


python_call = _python_call("python_call", "PyFunc")
stateless_python_call = _python_call("stateless_python_call", "PyFuncStateless")


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function of NumPy arrays when the graph runs.

    Parameters
    ----------
    func : callable
        Takes arrays, returns an array or a list of arrays.
    inp : list of tensors
    Tout : DType, list of DType, or None
        Dtypes of the results.
    stateful : bool
        The function is called on every run, whatever this says; it decides the operation's type.
    name : str, optional

    Returns
    -------
    tensor or list of tensors
        Of unknown shapes (see `set_shape`). The gradient is None: nothing is known of the function.
    """
    single = Tout is not None and not isinstance(Tout, (list, tuple))
    dtypes = tuple([as_dtype(t) for t in ([Tout] if single else Tout or ())])
    graph = get_default_graph()
    params = {"func": func, "dtypes": dtypes, "single": single}
    call = python_call if stateful else stateless_python_call
    outputs = graph.apply(call, [convert_to_tensor(x) for x in inp], params, name=name or call.type)
    return outputs[0] if single else list(outputs)
