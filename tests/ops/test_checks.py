"""Bad calls are refused by every op: with the same error the first time and the thousandth, in every mode.

Each op of the op table gets operands of wrong shapes and ranks, bad contents and bad parameters, made from the good
ones of its rows. What abstract evaluation refuses, an eager call must refuse with the same error, whatever came before.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from engine.compiler.lowering import lower
from engine.core import eager as eager_module
from engine.core.aval import Aval, aval_of_array
from engine.core.eager import EagerTensor, abstract_operand
from engine.core.op import Op
from engine.core.trace import Trace
from engine.runtime.errors import InvalidArgumentError
from tests.op_table import ROWS
from tests.row import Row

EXEMPT = {
    "while_op": "looks at its body each time it runs; a loop of no iterations never does",
    "while_saving_op": "as while_op",
    "pull_varying_op": "as while_op",
    "scan_op": "as while_op",
    "checked_op": "checks what it is given a function for",
    "custom_call": "passes on what the user's function has made",
    "py_func_op": "passes on what the user's function makes",
}
"""Ops to which the tests cannot give bad operands, and why."""

TESTED = [row for row in ROWS if not row.op.stateful and row.op.name not in EXEMPT]
Call = tuple[list[Any], dict[str, Any]]


def resized(a: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    return np.resize(a, shape) if a.size else np.zeros(shape, a.dtype)


def other_shapes(a: np.ndarray) -> Iterator[np.ndarray]:
    shape = a.shape
    for more in (1, 2):
        yield resized(a, (*shape, more))
        yield resized(a, (more, *shape))
    for i, d in enumerate(shape):
        for e in {d + 1, max(d - 1, 0), 1, 0, 2 * d} - {d}:
            yield resized(a, (*shape[:i], e, *shape[i + 1 :]))
        yield resized(a, shape[:i] + shape[i + 1 :])
    yield resized(a, shape[::-1])
    yield resized(a, ())


def other_contents(a: np.ndarray) -> Iterator[np.ndarray]:
    if a.dtype.kind != "i" or not a.size:
        return
    for value in (-1, -2, 0, 1, 100):
        yield np.full_like(a, value)
        for i in (0, -1):
            changed = np.array(a, order="C")
            changed.reshape(-1)[i] = value
            yield changed


def other_parameter(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            for other in other_parameter(item):
                yield (*value[:i], other, *value[i + 1 :])
        yield from (value[:-1], value + value[-1:], value[::-1])
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from {value + 1, value - 1, value + 100, -value - 1, -100, 0} - {value}


def mutants(arrays: list[Any], params: dict[str, Any]) -> Iterator[Call]:
    """The call with one thing changed: mostly a bad call, sometimes a good one."""
    for i, a in enumerate(arrays):
        for other in (*other_shapes(a), *other_contents(a)):
            yield [*arrays[:i], other, *arrays[i + 1 :]], params
    for name, value in params.items():
        for other in other_parameter(value):
            yield arrays, {**params, name: other}


def bad_calls(op: Op, arrays: list[Any], params: dict[str, Any]) -> Iterator[tuple[Call, Exception]]:
    """Calls that abstract evaluation refuses, with its errors; also some with two things changed."""
    once = list(mutants(arrays, params))
    rng = np.random.default_rng(len(once))
    twice = [list(mutants(*once[i])) for i in rng.integers(0, len(once), 12)] if once else []
    for call in [*once, *[some[rng.integers(0, len(some))] for some in twice if some]]:
        try:
            op.result_avals([abstract_operand(a) for a in call[0]], call[1])
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is expected
            yield call, error


def applications(row: Row, monkeypatch: Any) -> list[Call]:
    """The arrays and parameters with which the row applies its op."""
    found: list[Call] = []
    plain = eager_module._applied

    def noted(op: Op, inputs: Any, arrays: Any, params: dict[str, Any]) -> Any:
        if op is row.op and all(isinstance(a, (np.ndarray, np.generic)) for a in arrays):
            found.append(([np.asarray(a) for a in arrays], params))
        return plain(op, inputs, arrays, params)

    monkeypatch.setattr(eager_module, "_applied", noted)
    row.apply(*[EagerTensor(a) for a in row.arrays(row.dtypes[-1])])
    monkeypatch.setattr(eager_module, "_applied", plain)
    return found[:2]


def refusal(op: Op, call: Call) -> Any:
    """Class and message of the error that an eager call raises, or None."""
    try:
        op(*[EagerTensor(a) for a in call[0]], **call[1])
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.id)
def test_what_abstract_evaluation_refuses_is_refused_everywhere(row: Row, monkeypatch: Any) -> None:
    """By eager calls, cold and warm; and by programs, where shapes are known only when they are compiled."""
    for i, good in enumerate(applications(row, monkeypatch)):
        bad = list(bad_calls(row.op, *good))
        for call, error in bad:
            expected = type(error), str(error)
            shown = f"{[(a.shape, a.dtype.name) for a in call[0]]} {call[1]}"
            row.op.accepted.clear()
            assert refusal(row.op, call) == expected, f"cold: {shown}"
            assert refusal(row.op, good) is None
            assert refusal(row.op, call) == expected, f"warm: {shown}"
        if i == 0:
            assert_refused_when_compiled(row.op, good, bad[::3])


def assert_refused_when_compiled(op: Op, good: Call, bad: list[tuple[Call, Exception]]) -> None:
    arrays, params = good
    trace = Trace()
    try:
        inputs = [trace.placeholder(Aval(None, aval_of_array(a).dtype)) for a in arrays]
        out = op(*inputs, **params) if inputs else None
    except Exception:  # noqa: BLE001 - it needs to know more while a graph is built, and says so
        return
    outputs = list(out) if op.multi else [out]
    for (operands, changed), error in bad:
        if changed is not params:
            continue
        avals = [aval_of_array(a) for a in operands]
        # lowering may have made a simpler op of it, whose kernel finds what contents are bad
        with pytest.raises((type(error), InvalidArgumentError)):
            lower(trace.nodes[len(inputs) :], list(zip(inputs, avals, strict=True)), outputs)[0](*operands)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [row for row in TESTED if not row.op.refuses], ids=lambda row: row.id)
def test_ops_that_refuse_contents_say_so(row: Row, monkeypatch: Any) -> None:
    """The others can be applied later than the program says (`engine.core.late_tape`)."""
    for arrays, params in applications(row, monkeypatch):
        integers = any(a.dtype.kind in "iuO" for a in arrays)
        if integers and row.op.refuses is None:
            continue
        for i, last in itertools.product(range(len(arrays)), (1, None)):
            for value in (-7, 100) if arrays[i].dtype.kind in "iu" else (np.nan, np.inf, 0.0, -1.0, 0.5, 1e30):
                changed = np.array(arrays[i], order="C")
                changed.reshape(-1)[:last] = value
                row.op(*arrays[:i], changed, *arrays[i + 1 :], **params)
