"""Choices and loops in graphs: `cond`, `case`, `while_loop`. `dualgrad.frontend.flow.closures` says how they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.frontend.flow import choices, loops
from dualgrad.frontend.flow.closures import as_tensor, holding
from dualgrad.frontend.flow.contexts import Contexts
from dualgrad.frontend.flow.host import FlowHost
from engine.core import nest
from engine.core.batching import Batched
from engine.core.nest import Structure
from engine.core.op import Node
from engine.ops import shape
from graph_api.control_flow.flow import assertion
from graph_api.control_flow.tensor_array import TensorArray
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.tensor import Operation, Tensor


class GraphFlow(FlowHost):
    """Functions add operations to the default graph; what is to be run besides, they return."""

    def trace(self) -> Graph:
        """The default graph."""
        return get_default_graph()

    def convert(self, value: Any, dtype: Any = None, dtype_hint: Any = None) -> Any:
        """`convert_to_tensor`; a value of a batch stays one."""
        return value if isinstance(value, Batched) else convert_to_tensor(value, dtype, dtype_hint=dtype_hint)

    def is_operation(self, leaf: Any) -> bool:
        """Whether it is an operation."""
        return isinstance(leaf, Operation)

    @property
    def allows_none(self) -> bool:  # type: ignore[override]
        """In a `function`, where what happens need not be returned."""
        return self.trace().keeps_order

    def effects(self, trace: Contexts, first: int, leaves: Sequence[Any]) -> list[Node]:
        """The operations that the function returns; in a `function`, all with effects."""
        returned: list[Node] = [x for x in leaves if isinstance(x, Operation)]
        graph = self.trace()
        return [*returned, *(n for n in graph.effects(first) if n not in returned)] if graph.keeps_order else returned

    def waiting_for(self, holds: Any, message: str, data: Sequence[Any], function: Any) -> Structure[Any]:
        """The results wait for an operation that asserts it."""
        check = assertion(holds(), data, message, "Assert")
        graph = get_default_graph()
        with graph.control_dependencies([check]):
            return nest.map_structure(_waiting, function())


def _waiting(leaf: Any) -> Any:
    """A result, as an operation that is made now, and so waits."""
    if isinstance(leaf, Operation):
        return get_default_graph().group([leaf])
    # (a number as well: as a constant of the graph it would not wait)
    return holding(HOST, leaf, shape.identity(as_tensor(HOST, leaf)))


HOST = GraphFlow()


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The results of ``true_fn()`` if `pred` holds when the graph runs, else of ``false_fn()``; only one is computed.

    Parameters
    ----------
    pred : bool tensor, shape () (or of one element)
    true_fn, false_fn : callable
        Without arguments. They must return tensors (or numbers, variables, operations to run) in the same structure and
        of the same dtypes. Variables they assign to are assigned only if they are chosen.
    strict : bool
        If False, a list or tuple of one tensor stands for that tensor.
    name : str, optional
    fn1, fn2 : callable
        Old names of `true_fn` and `false_fn`.

    Returns
    -------
    structure of tensors
        Tensors made outside the functions are computed in any case, as everywhere in TensorFlow 1.

    Raises
    ------
    TypeError
        If `pred` is a Python bool (use ``if``) or not boolean, or the results differ in dtype.
    ValueError
        If `pred` is no scalar, or the structures of the results differ.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     y = tf.cond(x > 0.0, lambda: x * x, lambda: -x)
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {x: -3.0}))
    [np.float32(3.0), np.float32(-1.0)]
    """
    if isinstance(pred, bool):
        raise TypeError("cond: argument `pred` must not be a Python bool; use Python's `if`, or tf.constant(...)")
    functions = fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn
    return choices.cond(HOST, pred, *functions, strict, name)


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = None,
) -> Tensor:
    """The results of the function that stands beside the first condition that holds.

    Parameters
    ----------
    pred_fn_pairs : dict or list of (bool tensor, callable)
    default : callable, optional
        What to call if no condition holds; without it one must hold.
    exclusive : bool
        Whether only one condition may hold.
    strict, name
        As in `cond`.

    Raises
    ------
    InvalidArgumentError
        When the graph runs, if no condition holds and there is no `default`, or (if `exclusive`) more than one holds.
    TypeError
        If a condition is no tensor, or a function not callable.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     y = tf.case([(x < 0.0, lambda: -x), (x > 1.0, lambda: x * x)], default=lambda: x)
    ...     print(sess.run(y, {x: 3.0}))
    9.0
    """
    return choices.case(HOST, pred_fn_pairs, default, exclusive, strict, name)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """The results of the function with the given index when the graph runs; only one is computed.

    Parameters
    ----------
    branch_index : integer scalar
    branch_fns : list of callable, or dict or list of pairs of int and callable
    default : callable, optional
        What to call if there is none with that index; otherwise the one with the largest.
    name : str, optional

    Raises
    ------
    TypeError
        If the index is no integer, or a function not callable.
    ValueError
        If the indices of the functions are not 0, 1, 2, ...

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     i, x = tf.placeholder(tf.int32, []), tf.constant(3.0)
    ...     y = tf.switch_case(i, [lambda: x, lambda: x * x])
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {i: 1}))
    [np.float32(9.0), np.float32(6.0)]
    """
    return choices.switch_case(HOST, branch_index, branch_fns, default, False, name)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
    max_bytes: int | None = None,
) -> Any:
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``, when the graph runs; the last `loop_vars`.

    Parameters
    ----------
    cond : callable
        ``cond(*loop_vars)`` returns a boolean scalar tensor.
    body : callable
        ``body(*loop_vars)`` returns new values for all loop variables, of the same structure and dtypes.
    loop_vars : list or tuple of (tensor, TensorArray, number or structure of these)
    shape_invariants : structure of TensorShape, optional
        What is known of the loop variables' shapes in all iterations; by default that their shapes do not change.
    parallel_iterations, swap_memory
        Accepted for compatibility.
    back_prop : bool
        If False, the result counts as a constant in gradients.
    name : str, optional
    maximum_iterations : int or int tensor, optional
    return_same_structure : bool
        If False, a single loop variable is returned as a tensor, not as a list of one.
    max_bytes : int, optional
        For the gradient: few states are kept within that, and the steps between are computed again; the same bits.

    Raises
    ------
    TypeError, ValueError
        If `cond` does not return a boolean scalar, or `body` changes the structure, a dtype or a shape.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, 1.0))
    ...     print(sess.run([y, tf.gradients(y, x)[0]], {x: 2.0}))
    [np.float32(8.0), np.float32(12.0)]
    """
    loops.check_parallel(parallel_iterations)
    more = shape_invariants, back_prop, maximum_iterations, name, max_bytes
    result = loops.while_loop(HOST, cond, body, loop_vars, *more)
    leaves = nest.flatten(result)
    single = len(leaves) == 1 and not return_same_structure and not isinstance(leaves[0], TensorArray)
    return leaves[0] if single else result
