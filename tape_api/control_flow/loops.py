"""Loops over values, and over the rows of tensors: `while_loop`, `map_fn`, `scan`, `foldl`, `foldr`.

They are Python's loops. What a step gets and returns becomes a value of its own (`tape_api.functions.own_values`), as
in a graph. While a ``tf.function`` is recorded each is one op (`tape_api.functions.tracing`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.frontend.flow import batched, rows
from dualgrad.frontend.flow import loops as flow
from dualgrad.frontend.flow.closures import refused
from dualgrad.frontend.flow.composites import closed, opened, opening, tabled
from engine.control.checkpoints import limited
from engine.core import nest
from engine.core.batching import Batched, open_levels
from engine.core.dtypes import require_declared
from engine.core.eager import EagerTensor
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.core.tape import active, paused
from engine.core.trace import Symbol
from engine.core.value import Value
from engine.core.variable import Variable
from engine.ops.shape import stop_gradient
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tape_api.control_flow.kept_loops import FEW, Count, Loop, Stepping
from tape_api.control_flow.tensor_array import TensorArray
from tape_api.functions.own_values import apart, kept_apart, marks
from tape_api.functions.tracing import HOST, captured, has_shape_only
from tape_api.library import root as tf
from tape_api.random import counted_apart
from tape_api.tensor import convert_to_tensor

_plain: set[type] = {EagerTensor, Variable, int, float}
"""Types that are known to be no structures."""


def _is_flat(values: Any) -> bool:
    """Whether these are no structures, but tensors and the like."""
    if not _plain.issuperset(map(type, values)):
        if any(nest.is_nested(v) for v in values):
            return False
        _plain.update(map(type, values))
    return True


def _finished(result: Any, back_prop: bool) -> Structure[Any]:
    outcome = nest.map_structure(lambda x: x if isinstance(x, TensorArray) else convert_to_tensor(x), result)
    return outcome if back_prop else nest.map_structure(stop_gradient, outcome)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: int | None = None,
    name: str | None = None,
    max_bytes: int | None = None,
) -> Any:
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``; the last `loop_vars`.

    Parameters
    ----------
    cond, body : callable
    loop_vars : list or tuple of (tensor, TensorArray, number or structure of these)
    shape_invariants, parallel_iterations, swap_memory
        Accepted for compatibility.
    back_prop : bool
        If False, the result counts as a constant in gradients.
    maximum_iterations : int, optional
    name : str, optional
    max_bytes : int, optional
        For the gradient: few states are kept within that, and the steps between are computed again; the same bits.

    Raises
    ------
    ValueError
        If `body` does not return the structure of the loop variables.

    Examples
    --------
    >>> import tape_api as tf
    >>> i, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, 1.0))
    >>> y.numpy()
    np.float32(8.0)
    """
    for argument, function in (("cond", cond), ("body", body)):
        nest.require_callable("while_loop", argument, function)
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError(f"while_loop: argument `loop_vars` must be a non-empty list or tuple, got {loop_vars!r}")
    flow.check_parallel(parallel_iterations)
    given = cond, body
    cond, body = counted_apart(cond, body)
    more = shape_invariants, back_prop, maximum_iterations, name, max_bytes
    return _as_op(
        lambda: flow.while_loop(HOST, cond, body, loop_vars, *more),
        lambda: _while_in_python(cond, body, loop_vars, back_prop, maximum_iterations, given),
        max_bytes,
    )


def _as_op(build: Callable[[], Any], python: Callable[[], Any], max_bytes: int | None = None) -> Any:
    """Python's loop; an op, while a function is recorded, and where its gradient has a limit."""
    if not limited("loop", max_bytes):
        return python() if active.function is None else captured(build, python)
    if active.function is None:
        return tf.function(lambda: captured(build, _no_limit), autograph=False)()
    return captured(build, _no_limit)


def _no_limit() -> Any:
    """Raise, in place of a loop in Python, while an error is handled that says why there is no op."""
    error = f"loop: `max_bytes` needs a step that is recorded once, for all iterations; {sys.exception()}"
    raise refused(UnimplementedError(error))


def _while_in_python(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, back_prop: bool, maximum_iterations: Any,
    given: Any = (),
) -> Any:  # fmt: skip
    """The loop step by step; those left are one op, if that can be made of the functions `given` by the user."""
    limit = None if maximum_iterations is None else int(maximum_iterations)
    tensors, done = opened(loop_vars), 0
    if tensors is not loop_vars:
        functions = opening(cond), opening(body)
        return closed(_while_in_python(*functions, tensors, back_prop, limit))
    loop = Loop(("while", back_prop), given, lambda *of: _rest_as_op(given[0], given[1], back_prop, *of))
    flat, count = _is_flat(loop_vars), len(loop_vars)
    new: Any = loop_vars
    state = kept_apart(loop_vars) if flat else apart(loop_vars)
    while limit is None or done < limit:
        goes_on = cond(*state)
        if isinstance(goes_on, Batched) and (levels := open_levels()):
            return batched.while_loop(HOST, levels, _while(limit and limit - done, back_prop), cond, body, state)
        if not bool(goes_on):
            break
        if done == loop.due:
            rest = loop([[*state], *([] if limit is None else [limit - done])])
            if rest is not None:
                return rest
        before = marks()
        new = body(*state)
        if not (flat and isinstance(new, (list, tuple)) and len(new) == count and _is_flat(new)):
            new = nest.like_loop_vars(loop_vars, new)
        if active.function is not None:
            _require_dtypes(loop_vars, new)
        state = kept_apart(new, before) if flat else apart(new, before)
        done += 1
    loop.ran(done)
    return _finished(state if type(new) is type(state) else nest.pack_sequence_as(new, state), back_prop)


def _rest_as_op(
    cond: Callable[..., Any], body: Callable[..., Any], back_prop: bool, symbols: Any, numbers: Sequence[bool]
) -> Any:
    """The op, of the structure that the body returns; some loop variables are `numbers` of Python's."""
    made: list[Any] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*state: Any) -> Any:
            for x, is_number in zip(nest.flatten(state), numbers, strict=False):
                if is_number:
                    x.__class__ = Count
            made.append(function(*state))
            return made[-1]

        return call

    start, limit = [*symbols, None][:2]
    last = flow.plain_while_loop(HOST, noted(cond), noted(body), start, None, back_prop, limit, None)
    return nest.pack_sequence_as(nest.like_loop_vars(start, made[-1]), nest.flatten(last))


def rolled(step: Callable[..., Any], numbers: range, state: Sequence[Any], body: Any) -> Any:
    """The state after ``step(number, *state)`` for some numbers, as one op of the function that is recorded.

    None if Python has to go through them, for it is not known that this does the same.
    """
    if active.function is None or active.region is not None or open_levels():
        return None

    def call(state: Any, number: Any) -> Any:
        number.__class__ = Count
        return step(number, *state), []

    def build() -> Any:
        return rows.scanned(HOST, "scan", call, state, convert_to_tensor(list(numbers)))[0]

    try:
        seen = Stepping(body)
    except Exception:  # noqa: BLE001 - Python can run what cannot be looked at
        return None
    return seen.tried(lambda: captured(build, lambda: None, seen.is_kept))


def _while(limit: int | None, back_prop: bool) -> Callable[..., Any]:
    """A loop of values that are no batches, also where it stands inside `vmap`."""
    return lambda cond, body, state: _as_op(
        lambda: flow.plain_while_loop(HOST, cond, body, state, None, back_prop, limit, None),
        lambda: _while_in_python(cond, body, state, back_prop, limit),
    )


def _require_dtypes(before: Any, after: Any) -> None:
    """Raise, inside a ``tf.function``, if an iteration changes the dtype of a loop variable, as TensorFlow does."""
    for i, pair in enumerate(zip(nest.flatten(before), nest.flatten(after), strict=True)):
        if any(isinstance(x, TensorArray) for x in pair):
            continue
        old, new = [x.dtype if isinstance(x, Value) else convert_to_tensor(x).dtype for x in pair]
        if old is not new:
            raise DTypeError(
                f"while_loop: loop variable {i} enters the loop as {old.name}, but `body` returns it as {new.name}; "
                f"cast it with tf.cast"
            )


# ---- rows ------------------------------------------------------------------------------------------------------------


def _over_rows(
    how: tuple[Any, ...], fn: Callable[..., Any], given: Sequence[Any], build: Callable[..., Any],
    python: Callable[[Any], Any], max_bytes: int | None = None,
) -> Any:  # fmt: skip
    """A loop over the rows of the first that is `given`: as one op by ``build(fn, *given)``, or by ``python(fn)``."""
    (own,) = counted_apart(fn)
    leaves = nest.flatten(given)
    if active.function is None and max_bytes is None and all(type(x) is EagerTensor for x in leaves):
        count = (leaves[0]._array.shape or (0,))[0]
        loop = Loop(how, (fn,), lambda symbols, _: build(fn, *symbols))
        if count >= FEW and 0 <= loop.due <= count:
            result = loop(list(given))
            if result is not None:
                return result
        loop.ran(count)
    return _as_op(lambda: build(own, *given), lambda: python(own), max_bytes)


def _columns(name: str, elems: Any) -> list[Any]:
    """The tensors of a structure, each to be taken apart along its first dimension."""
    columns = [convert_to_tensor(leaf) for leaf in nest.flatten(elems)]
    if not columns:
        raise ValueError(f"{name}: argument `elems` must hold at least one tensor")
    for x in columns:
        if not x.shape.rank:
            raise ShapeError(f"{name}: argument `elems` must have at least one dimension, got a scalar")
    lengths = [x.shape[0] for x in columns]
    if len(set(lengths)) > 1:
        raise InvalidArgumentError(f"{name}: argument `elems` must agree in the first dimension, got {lengths}")
    return columns


def _rows(columns: Sequence[Any], elems: Any, backwards: bool = False) -> list[Any]:
    """The structures of the rows."""
    every = [nest.pack_sequence_as(elems, row) for row in zip(*[tf.unstack(c) for c in columns], strict=True)]
    return every[::-1] if backwards else every


def _stacked(results: Sequence[Any]) -> Structure[Operand]:
    """A structure of tensors from structures of their rows."""
    first = results[0]
    for other in results[1:]:
        if type(other) is not EagerTensor or type(first) is not EagerTensor:
            nest.require_like("map_fn: argument `fn`", first, other)
    columns = zip(*[nest.flatten(r) for r in results], strict=True)
    return nest.pack_sequence_as(first, [tf.stack(column) for column in columns])


def scanned(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, sequences: Any, backwards: bool = False,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``state, result = step(state, row)`` for each row of some tensors: the last state, and the results stacked."""
    if has_shape_only(nest.flatten(sequences)[0]):
        return _looked_at(counted_apart(step)[0], state, sequences, _columns("scan", sequences))
    return _over_rows(
        ("scanned", backwards), step, (sequences, state),
        lambda fn, xs, start: rows.scanned(HOST, "scan", fn, start, xs, backwards, max_bytes),
        lambda fn: _scanned_in_python(fn, state, sequences, backwards),
        max_bytes,
    )  # fmt: skip


def _scanned_in_python(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, sequences: Any, backwards: bool
) -> tuple[Any, Any]:
    columns = _columns("scan", sequences)
    results = []
    state = apart(state)
    for row in _rows(columns, sequences, backwards):
        before = marks()
        state, result = apart(step(state, row), before)
        results.append(result)
    return state, _stacked(results[::-1] if backwards else results)


def _looked_at(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, sequences: Any, columns: Any
) -> tuple[Any, Any]:
    """How the results of `scanned` look: of symbols only that is asked, by a model that is being built."""
    length = tf.shape(columns[0])[0]
    after, result = step(state, nest.pack_sequence_as(sequences, [c[0] for c in columns]))
    known = columns[0].shape[0]

    def repeated(x: Any) -> Symbol:
        count = length if known is None else known
        return tf.tile(tf.expand_dims(x, 0), [count, *[1] * len(x.shape)])

    return after, nest.map_structure(repeated, result)


def _mapped(fn: Callable[[Any], Any], elems: Any, declared: Any, back_prop: bool, name: str | None) -> Any:
    nest.require_callable("map_fn", "fn", fn)
    return _over_rows(
        ("map_fn", str(declared), back_prop), fn, (elems,),
        lambda fn, xs: rows.map_fn(HOST, fn, xs, declared, back_prop, name),
        lambda fn: _mapped_in_python(tabled(fn), elems, declared, back_prop),
    )  # fmt: skip


def _mapped_in_python(fn: Callable[[Any], Any], elems: Any, declared: Any, back_prop: bool) -> Any:
    columns = _columns("map_fn", elems)
    if has_shape_only(columns[0]):
        _, result = _looked_at(lambda _, row: ((), fn(row)), (), elems, columns)
    elif columns[0].shape[0]:
        results = []
        for row in _rows(columns, elems):
            before = marks()
            result = fn(row)
            # it is stacked, which nothing need tell apart where nothing records
            results.append(apart(result, before) if before else result)
        result = _stacked(results)
    else:
        # there are no rows; how the results look is seen with zeros
        with paused():
            row = nest.pack_sequence_as(elems, [tf.zeros(c.shape[1:], c.dtype) for c in columns])
            result = nest.map_structure(lambda x: tf.stack([x])[:0], fn(row))
    require_declared("map_fn", result, declared)
    return _finished(result, back_prop)


def _started(name: str, fn: Any, elems: Any, initializer: Any, backwards: bool) -> tuple[Any, list[Any]]:
    """The initial value (the initializer, or else the first row), and the rows to go through."""
    nest.require_callable(name, "fn", fn)
    columns = _columns(name, elems)
    if initializer is not None:
        start = nest.map_structure(convert_to_tensor, initializer)
    else:
        if not columns[0].shape[0]:
            raise InvalidArgumentError(f"{name}: argument `elems` has no rows; give an `initializer`")
        start = nest.pack_sequence_as(elems, [c[-1] if backwards else c[0] for c in columns])
        columns = [c[:-1] if backwards else c[1:] for c in columns]
    own = apart(start)
    return (start, own), _rows(columns, elems, backwards) if columns[0].shape[0] else []


def _step(name: str, fn: Callable[[Any, Any], Any], state: Any, row: Any) -> Structure[Any]:
    """The result of `fn`, which must be like the state."""
    new = fn(state, row)
    if type(new) is EagerTensor is type(state):
        return new
    nest.require_like(f"{name}: argument `fn`", state, new)
    return nest.map_structure(convert_to_tensor, new)


def _folded(
    name: str, fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, back_prop: bool, scope: str | None,
    max_bytes: int | None,
) -> Structure[Any]:  # fmt: skip
    nest.require_callable(name, "fn", fn)

    def python(fn: Any) -> Any:
        if has_shape_only(nest.flatten(elems)[0]):
            # any row shows how the result looks
            row = nest.map_structure(lambda x: x[0], elems)
            return _step(name, fn, row if initializer is None else initializer, row)
        (_, state), left = _started(name, fn, elems, initializer, name == "foldr")
        if left and initializer is not None:
            # a Python number meets the first row as one, and takes its dtype
            state = nest.map_structure(lambda x, own: x if type(x) in (int, float) else own, initializer, state)
        for row in left:
            before = marks()
            state = apart(_step(name, fn, state, row), before)
        return _finished(state, back_prop)

    return _over_rows(
        (name, back_prop), fn, (elems,) if initializer is None else (elems, initializer),
        lambda fn, xs, start=None: rows.fold(HOST, name, fn, xs, start, back_prop, scope, max_bytes),
        python, max_bytes,
    )  # fmt: skip


def _scan(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, back_prop: bool, reverse: bool, name: str | None,
    max_bytes: int | None,
) -> Any:  # fmt: skip
    nest.require_callable("scan", "fn", fn)
    if initializer is not None and active.function is None:
        initializer = nest.map_structure(convert_to_tensor, initializer)
    return _over_rows(
        ("scan", back_prop, reverse), fn, (elems,) if initializer is None else (elems, initializer),
        lambda fn, xs, start=None: rows.scan(HOST, fn, xs, start, back_prop, reverse, name, max_bytes),
        lambda fn: _scan_in_python(fn, elems, initializer, back_prop, reverse), max_bytes,
    )  # fmt: skip


def _scan_in_python(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, back_prop: bool, reverse: bool) -> Any:
    if has_shape_only(nest.flatten(elems)[0]):
        state = nest.map_structure(lambda x: x[0], elems) if initializer is None else initializer
        columns = _columns("scan", elems)
        return _looked_at(lambda s, row: (s, _step("scan", fn, s, row)), state, elems, columns)[1]
    (start, state), left = _started("scan", fn, elems, initializer, reverse)
    results = [start] if initializer is None else []
    for row in left:
        before = marks()
        new = _step("scan", fn, state, row)
        results.append(apart(new, before) if before else new)
        # it is stacked as well
        state = apart(new)
    if not results:
        return nest.map_structure(lambda x: tf.stack([x])[:0], start)
    return _finished(_stacked(results[:: -1 if reverse else 1]), back_prop)


map_fn, scan, foldl, foldr = rows.offered(__name__, _mapped, _scan, _folded)
