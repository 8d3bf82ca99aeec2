"""Eager ops that call NumPy's loops themselves give what NumPy's calls give (`engine/core/_eager_loops.h`)."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from engine.core.eager import EagerTensor, applied_in_python, in_c
from engine.executor.loops import same_bits
from engine.runtime import elementary
from engine.runtime.errors import OpError
from tests.executor.test_eager_in_c import needs_c, outcome
from tests.op_table import OPS

SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 1e30, 88.0, -745.0, 0.3, 3.0, 7.25, -1e-3]
ELEMENTWISE = sorted((op.name, op) for op in OPS.values() if op.is_ufunc)


def laid_out(dtype: Any) -> list[Any]:
    """Operands of several shapes and layouts, with numbers that are out of range for many functions."""
    whole = np.resize(np.array(SPECIAL, np.float64), 60).astype(dtype)
    tame = np.linspace(0.1, 0.9, 12).astype(dtype)
    return [
        tame, tame[::2], tame[::-1][:6], tame.reshape(3, 4), tame.reshape(4, 3).T, tame.reshape(3, 1, 4), tame[:4],
        tame[:3].reshape(3, 1), tame[:1], tame[3], np.array(tame[3]), tame[:0], np.broadcast_to(tame[:4], (3, 4)),
        whole, whole[::3], whole[6:18].reshape(3, 4), whole[4], np.array(whole[6]), np.resize(tame, 5000),
        np.resize(tame, (700, 1, 3)), np.frombuffer(b"x" + tame.tobytes(), dtype, offset=1),
        tame.astype(tame.dtype.newbyteorder()),
    ]  # fmt: skip


@pytest.fixture
def at_once() -> None:
    """All loops have been looked for."""
    for _, op in ELEMENTWISE:
        for dtype in (np.float32, np.float64):
            given = [EagerTensor(np.full(2, 0.5, dtype))] * len(op.args)
            with suppress(OpError, TypeError, ValueError):
                for _ in range(20):
                    op(*given)


@needs_c
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name, _ in ELEMENTWISE])
def test_a_loop_gives_what_numpy_gives(name: str, dtype: Any) -> None:
    op = dict(ELEMENTWISE)[name]
    arrays = laid_out(dtype)
    groups = [(a,) for a in arrays] if len(op.args) == 1 else [(a, b) for a in arrays for b in arrays]
    for group in groups:
        given = [EagerTensor(a) for a in group]
        got = outcome(op, *given)
        with applied_in_python():
            expected = outcome(op, *given)
        assert got[:3] == expected[:3], (name, group)
        if got[0] is EagerTensor:
            assert same_bits(np.frombuffer(got[4], got[1].numpy), np.frombuffer(expected[4], got[1].numpy)), (
                name,
                group,
            )


@needs_c
@pytest.mark.usefixtures("at_once")
def test_which_loops_are_called() -> None:
    # the tests above would pass without them
    called = set(in_c.loops())
    for ufunc in (np.add, np.multiply, elementary.tanh, elementary.exp, np.greater):
        assert {(ufunc, "f"), (ufunc, "d")} <= called
    assert all(dtype in "fd" for _, dtype in called)


@needs_c
@pytest.mark.usefixtures("at_once")
def test_numbers_out_of_range_are_reported_as_numpy_does() -> None:
    one, zero, tiny, huge = (EagerTensor(np.full(3, x)) for x in (1.0, 0.0, 1e-300, 1e300))
    for operation, error in [
        (lambda: one / zero, "divide"), (lambda: zero / zero, "invalid"), (lambda: huge * huge, "over"),
        (lambda: tiny * tiny, "under"),
    ]:  # fmt: skip
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            operation()
        with np.errstate(all="raise", **{error: "ignore"}):
            operation()
        told: list[str] = []
        with np.errstate(all="call"), np.errstate(call=lambda kind, flag, told=told: told.append(kind)):
            operation()
        assert len(told) == 1
