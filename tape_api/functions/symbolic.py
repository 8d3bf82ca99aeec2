"""``tf.gradients`` and ``tf.hessians``, which TensorFlow 2 has inside of ``tf.function``.

They need no tape: what a function has done so far is known while it is recorded. A function that asks for them and runs
as Python is watched each time (`watched`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from engine.closed.call_record import Untraceable
from engine.core import nest
from engine.core.op import Node
from engine.core.tape import Seen, Tape, active, paused, record
from engine.core.unconnected import UnconnectedGradients
from engine.core.value import Value, address
from engine.core.variable import Variable, tracked_value
from engine.ops.reduce import add_n, reduce_sum
from engine.transforms.gradient_tape import GradientTape
from engine.transforms.symbolic import as_list
from engine.transforms.symbolic import gradients as symbolic_gradients

_NAMES = frozenset({"gradients", "hessians"})
_NOT_EAGER = (
    "tf.{name} is not supported when eager execution is enabled. Use tf.GradientTape instead:\n"
    "    with tf.GradientTape() as tape:\n"
    "        tape.watch(xs)  # not needed for trainable variables\n"
    "        ys = ...  # what is computed from xs\n"
    "    {use}\n"
    "Inside of a tf.function, and in graph_api, tf.{name}(ys, xs) works as it is."
)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Derivatives of the sum of `ys` with respect to each of `xs`, inside of a ``tf.function``.

    Elsewhere use a `GradientTape`.

    Parameters
    ----------
    ys : tensor or list of tensors
        Summed over all elements of all of them.
    xs : tensor, variable, or list of these
        Whatever the function uses, also what it computes.
    grad_ys : tensor or list of (tensor or None), optional
        Weights of the elements of `ys`, in place of ones.
    name, gate_gradients
        Accepted for compatibility.
    aggregation_method : int, optional
        An `AggregationMethod`.
    stop_gradients : tensor or list of tensors, optional
        Tensors to treat as constants.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to return for an x that no y depends on.

    Returns
    -------
    list
        One per x, of its shape and dtype, or None.

    Raises
    ------
    RuntimeError
        Outside of a ``tf.function``.

    Examples
    --------
    >>> import tape_api as tf
    >>> @tf.function
    ... def slope(x):
    ...     return tf.gradients(x**3, x)[0]
    >>> slope(tf.constant(2.0)).numpy()
    np.float32(12.0)
    """
    targets, sources = as_list(ys), as_list(xs)
    stop = [] if stop_gradients is None else as_list(stop_gradients)
    if active.region is not None:
        return _in_region(targets, sources, grad_ys, stop, unconnected_gradients, aggregation_method)
    tape = _of_function("gradients", "tape.gradient(ys, xs)", sources, stop)
    seeds = None if grad_ys is None else as_list(grad_ys)
    return tape.gradient(targets, sources, seeds, unconnected_gradients, aggregation_method=aggregation_method)


def hessians(ys: Any, xs: Any, name: str = "hessians", **_: Any) -> list[Any]:
    """Second derivatives of the sum of `ys` with respect to each of `xs`, inside of a ``tf.function``.

    Parameters
    ----------
    ys : tensor or list of tensors
    xs : tensor, variable, or list of these

    Returns
    -------
    list
        One per x, of shape ``x.shape + x.shape``.

    Raises
    ------
    RuntimeError
        Outside of a ``tf.function``.
    """
    use, sources = "tape.hessian(ys, xs)", as_list(xs)
    if active.region is not None:
        raise Untraceable("Hessians are planned for values that are there")
    _seen("hessians", use)
    total = add_n([reduce_sum(y) for y in as_list(ys)])
    tape = _of_function("hessians", use, sources, [])
    return [tape.hessian(total, x) for x in sources]


def _in_region(targets: Any, sources: Any, grad_ys: Any, stop: Any, unconnected: Any, method: Any) -> list[Any]:
    """The same where a function is called with symbols, and in branches and loops: nodes of their trace."""
    region = active.region
    ys = [region.operand(y.read_value() if isinstance(y, Variable) else y) for y in targets]
    xs, stopped = [
        [region.handle(x) if isinstance(x, Variable) else region.operand(x) for x in group] for group in (sources, stop)
    ]
    seeds = None if grad_ys is None else [None if g is None else region.operand(g) for g in as_list(grad_ys)]
    with paused():
        return symbolic_gradients(ys, xs, seeds, stopped, unconnected, method)


def _seen(name: str, use: str) -> Sequence[Node]:
    """The nodes that the function has made so far."""
    for tape in active.tapes:
        if type(tape.nondifferentiable) is Seen:
            return tape.nondifferentiable.distinct()
    raise RuntimeError(_NOT_EAGER.format(name=name, use=use))


def _of_function(name: str, use: str, sources: Sequence[Any], stop: Sequence[Any]) -> GradientTape:
    """A tape that has watched the sources while the function did what it has done so far."""
    nodes = _seen(name, use)
    made = GradientTape(persistent=True, watch_accessed_variables=False)
    before, function = active.tapes, active.function
    if function is not None:
        function.is_asked = True
        function.opened.add(id(made._tape))
    made.watch([x for x in nest.flatten(sources) if isinstance(x, Value)])
    stopped = {address(tracked_value(x)) for x in stop if isinstance(x, Value)}
    active.tapes, active.function = (made._tape,), None
    try:
        for node in nodes:
            if stopped.isdisjoint(map(address, node.outputs)):
                record(node.op, node.inputs, node.params, node.outputs if node.op.multi else node.outputs[0])
    finally:
        active.tapes, active.function = before, function
    return made


def asks(function: Callable[..., Any]) -> bool:
    """Whether a function names `gradients` or `hessians`."""
    left: list[Any] = [getattr(getattr(function, "__func__", function), "__code__", None)]
    while left:
        code = left.pop()
        if isinstance(code, CodeType):
            if not _NAMES.isdisjoint(code.co_names):
                return True
            left += code.co_consts
    return False


def watched(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function, and note all that it does."""
    witness = Tape(watch_accessed_variables=False)
    witness.nondifferentiable = Seen()
    witness.start()
    try:
        return function(*args, **kwargs)
    finally:
        witness.close()
