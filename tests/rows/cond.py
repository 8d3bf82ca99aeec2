"""Rows of `engine.control.cond`, `engine.control.scan_loop` and `engine.control.while_loop`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.control.cond import cond_op
from engine.control.scan_loop import empty_sum, scan_op
from engine.control.while_loop import while_op, while_saving_op
from engine.core.aval import Aval
from engine.core.value import aval_of
from engine.ops.compare import less
from engine.ops.explog import exp
from engine.ops.shape import identity
from engine.ops.trig import cos, sin
from tests.row import Row, fixed, integers, real, unit


def closed_function(function: Callable[..., Sequence[Any]], *values: Any, rows: Sequence[int] = ()) -> ClosedFunction:
    """A closed function for operands like the values (for rows of those named)."""
    avals = []
    for i, x in enumerate(values):
        aval = aval_of(x)
        shape = aval.shape[1:] if i in rows and aval.shape is not None else None if i in rows else aval.shape
        avals.append(Aval(shape, aval.dtype))
    return build(avals, lambda _, symbols: function(*symbols))


def chosen(pred: Any, x: Any, y: Any) -> Any:
    """Branches that differ in what they use, and a result that is an operand."""
    true = closed_function(lambda a, b: [sin(a) * b, a, a * 2.0], x, y)
    false = closed_function(lambda a, b: [exp(a), a, a + b * b * a], x, y)
    return cond_op(pred, x, y, true=true, false=false)


def chosen_by_numpy(pred: Any, x: Any, y: Any) -> Any:
    return (np.sin(x) * y, x, x * 2) if pred else (np.exp(x), x, x + y * y * x)


def counted(op: Any, n: Any, x: Any, w: Any, **params: Any) -> Any:
    """A loop of n steps in which two variables feed each other, and one stays as it is."""

    def body(i: Any, a: Any, b: Any, c: Any, n: Any, w: Any) -> Sequence[Any]:
        return [i + 1, sin(a * w) + b, a * 0.5 + w, c]

    operands = [np.int32(0), x, identity(x), w * 2.0, n, w]
    goes_on = closed_function(lambda i, a, b, c, n, w: [less(i, n)], *operands)
    return op(*operands, cond=goes_on, body=closed_function(body, *operands), count=4, **params)


def counted_by_numpy(n: Any, x: Any, w: Any) -> Any:
    a, b = x, x
    for _ in range(int(n)):
        a, b = np.sin(a * w) + b, a * 0.5 + w
    return n * (n > 0), a, b, w * 2


def until_large(x: Any, w: Any) -> Any:
    """A loop whose number of steps depends on its operands."""
    goes_on = closed_function(lambda a, w: [less(a, 10.0)], x, w)
    return while_op(x, w, cond=goes_on, body=closed_function(lambda a, w: [a * w + 1.0], x, w), count=1)


def until_large_by_numpy(x: Any, w: Any) -> Any:
    while x < 10:
        x = x * w + 1
    return [x]


def recurrence(state: Any, rows: Any, w: Any, **params: Any) -> Any:
    """A recurrence with a result per step."""
    body = closed_function(lambda h, x, w: [sin(h * w) + x, cos(h) * x * w], state, rows, w, rows=[1])
    return scan_op(state, rows, w, body=body, carries=1, sequences=1, **params)


def recurrence_by_numpy(state: Any, rows: Any, w: Any) -> Any:
    outputs = []
    for x in rows:
        outputs.append(np.cos(state) * x * w)
        state = np.sin(state * w) + x
    return state, np.stack(outputs) if outputs else np.zeros((0, *rows.shape[1:]))


def backwards_by_numpy(state: Any, rows: Any, w: Any) -> Any:
    state, outputs = recurrence_by_numpy(state, rows[::-1], w)
    return state, outputs[::-1]


def mapped(x: Any, y: Any) -> Any:
    """No carry: a function of each row."""
    body = closed_function(lambda a, b: [a * b, sin(a)], x, y, rows=[0, 1])
    return scan_op(x, y, body=body, carries=0, sequences=2)


TRUE, FALSE = fixed(True), fixed(False)
STEPS = integers(low=3, high=4)

ROWS = (
    Row(empty_sum, (real(2, 3), real(4)), oracle=lambda x, steps: np.full((2, 3), -0.0)),
    Row(empty_sum, (real(2, 3), real(0)), label="no steps", oracle=lambda x, steps: np.zeros((2, 3))),
    Row(cond_op, (TRUE, real(3), real(3)), call=chosen, oracle=chosen_by_numpy, label="true"),
    Row(cond_op, (FALSE, real(3), real(3)), call=chosen, oracle=chosen_by_numpy, label="false"),
    Row(while_op, (STEPS, unit(3), unit(3)), call=lambda *x: counted(while_op, *x), oracle=counted_by_numpy),
    Row(
        while_op,
        (fixed(np.int32(0)), unit(3), unit(3)),
        call=lambda *x: counted(while_op, *x),
        oracle=counted_by_numpy,
        label="no steps",
    ),
    Row(
        while_op,
        (real(low=0, high=1), real(low=1.5, high=3)),
        call=until_large,
        oracle=until_large_by_numpy,
        label="until",
    ),
    Row(while_saving_op, (STEPS, unit(3), unit(3)), call=lambda *x: counted(while_saving_op, *x, saved=(1, 0))),
    Row(scan_op, (unit(3), real(4, 3), unit(3)), call=recurrence, oracle=recurrence_by_numpy),
    Row(
        scan_op,
        (unit(3), real(4, 3), unit(3)),
        call=lambda *x: recurrence(*x, backwards=True),
        oracle=backwards_by_numpy,
        label="backwards",
    ),
    Row(scan_op, (unit(3), real(0, 3), unit(3)), call=recurrence, oracle=recurrence_by_numpy, label="no rows"),
    Row(scan_op, (real(4, 3), real(4, 3)), call=mapped, oracle=lambda x, y: (x * y, np.sin(x)), label="map"),
)
