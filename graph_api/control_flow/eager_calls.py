"""`py_function`: Python functions of eager tensors in a graph, with a derivative.

The derivative is another such function, which records the call on a tape; so it has derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.control.cond import plus
from engine.core import nest
from engine.core.aval import Aval
from engine.core.dtypes import DType, as_dtype
from engine.core.eager import EagerTensor
from engine.core.kinds import Together, general
from engine.core.op import FROM_VJP
from engine.core.operands import Operand, Results
from engine.core.value import Value, Zero, aval_of, dtype_of
from engine.core.variable import Variable
from engine.derivatives.linearity import check_linear, not_linear
from engine.ops.creation import zeros_like
from engine.ops.lift import as_operand
from engine.runtime.errors import DTypeError, InvalidArgumentError, of_users_function
from engine.transforms.gradient_tape import GradientTape
from graph_api.control_flow.flow import one_by_one
from graph_api.convert import convert_to_tensor
from graph_api.graphs.defaults import stacks
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Operation


def _kernel(*arrays: Any, func: Callable[..., Any], dtypes: Sequence[DType], shapes: Any) -> tuple[Any, ...]:
    stacks.eager += 1
    try:
        with of_users_function("py_function"):
            returned = func(*[EagerTensor(a) for a in arrays])
    finally:
        stacks.eager -= 1
    results = [] if returned is None and not dtypes else nest.flatten(returned)
    if len(results) != len(dtypes):
        raise InvalidArgumentError(f"py_function: the function must return {len(dtypes)} values, got {len(results)}")
    return tuple([_declared(r, dtype) for r, dtype in zip(results, dtypes, strict=True)])


def _declared(result: Any, dtype: DType) -> Operand:
    value = as_operand(result, dtype, "py_function")
    if isinstance(value, Variable):
        value = value.read_value()
    if dtype_of(value) is not dtype:
        raise DTypeError(
            f"py_function: the function returned {dtype_of(value).name}, but `Tout` says {dtype.name}; cast it"
        )
    return value._array if isinstance(value, EagerTensor) else value


def _abstract(*operands: Aval, func: Any, dtypes: Sequence[DType], shapes: Any) -> tuple[Aval, ...]:
    known = [None] * len(dtypes) if shapes is None else shapes
    return tuple([Aval(shape, dtype) for shape, dtype in zip(known, dtypes, strict=True)])


class _Pulled:
    """``(operands, cotangents of the results `given`) -> cotangents of the operands `wanted``` of a function."""

    def __init__(self, func: Callable[..., Any], count: int, wanted: Sequence[int], given: Sequence[int]) -> None:
        self.func, self.count, self.wanted, self.given = func, count, wanted, given
        # the derivative with respect to cotangents, by which forward mode goes, is one of a linear function
        self.must_be_linear = False
        if isinstance(func, _Pulled) and any(i >= func.count for i in wanted):
            self.func = _Pulled(func.func, func.count, func.wanted, func.given)
            self.func.must_be_linear = True

    def __call__(self, *values: Any) -> list[Any]:
        operands, cts = values[: self.count], values[self.count :]
        sources = [operands[i] for i in self.wanted]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            results = nest.flatten(self.func(*operands))
        if self.must_be_linear and (node := not_linear(tape._tape.nodes)) is not None:
            check_linear(node)
        targets = [(results[k], ct) for k, ct in zip(self.given, cts, strict=True) if isinstance(results[k], Value)]
        cotangents = tape.gradient([r for r, _ in targets], sources, [ct for _, ct in targets])
        return [zeros_like(x) if g is None else as_operand(g) for x, g in zip(sources, cotangents, strict=True)]


def _vjp(
    wanted: Sequence[bool], previous: Sequence[Any], cts: Any, outs: Any, *operands: Any,
    func: Callable[..., Any], dtypes: Sequence[DType], shapes: Any,
) -> list[Any]:  # fmt: skip
    seeded = [k for k, dtype in enumerate(dtypes) if dtype.is_differentiable]
    asked = [i for i, x in enumerate(operands) if wanted[i] and dtype_of(x).is_differentiable]
    totals: list[Any] = [Zero(aval_of(x)) for x in operands]
    if seeded and asked:
        pulled = _Pulled(func, len(operands), asked, seeded)
        avals = [aval_of(operands[i]) for i in asked]
        params = {"dtypes": tuple([a.dtype for a in avals]), "shapes": tuple([a.shape for a in avals])}
        cotangents = eager_call(*operands, *[cts[k] for k in seeded], func=pulled, **params)
        for i, ct in zip(asked, cotangents, strict=True):
            totals[i] = plus(previous[i], ct)
    return totals


eager_call = general(
    "eager_call",
    _kernel,
    _abstract,
    vjp=Together(_vjp),
    jvp=FROM_VJP,
    batch=one_by_one,
    type="EagerPyFunc",
    args=("*inputs",),
    multi=True,
    stateful=True,
    doc="Calls a Python function of eager tensors.",
)


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Operation | Results:
    """Call a Python function of eager tensors when the graph runs.

    Parameters
    ----------
    func : callable
        Takes tensors that hold arrays (``x.numpy()``), and may use the functions of this package, which compute at once
        inside. What it computes by them is differentiated.
    inp : list of tensors
    Tout : DType, list of DType, or None
        Dtypes of the results.
    name : str, optional

    Returns
    -------
    tensor, list of tensors, or operation
        Of unknown shapes (see `set_shape`); the operation if there are no results.

    Examples
    --------
    >>> import graph_api as tf
    >>> def cubed(x):
    ...     return x * x * x if x > 0 else x
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(2.0)
    ...     y = tf.py_function(cubed, [x], tf.float32)
    ...     print(sess.run([y, tf.gradients(y, x)[0]]))
    [np.float32(8.0), np.float32(12.0)]
    """
    single = Tout is not None and not isinstance(Tout, (list, tuple))
    dtypes = tuple([as_dtype(t) for t in ([Tout] if single else Tout or ())])
    graph = get_default_graph()
    inputs = tuple([convert_to_tensor(x) for x in inp])
    params = {"func": func, "dtypes": dtypes, "shapes": None}
    if not dtypes:
        operation: Operation = graph.apply_for_effect(eager_call, inputs, params, name or "EagerPyFunc")
        return operation
    outputs = graph.apply(eager_call, inputs, params, name=name or "EagerPyFunc")
    return outputs[0] if single else list(outputs)


__all__ = ["eager_call", "py_function"]
