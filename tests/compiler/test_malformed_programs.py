"""No malformed program crashes: what its table or its pickle says is checked, or does no harm."""

import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine import executor
from engine.executor import encoding
from tests.compiler.test_program import lowered
from tests.executor.test_native import is_refused, natively
from tests.processes import printed

pytestmark = pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are looked for in child processes")
def test_changes_at_random_crash_nothing() -> None:
    # a process of its own: no threads that a fork would leave behind
    said = printed("-m", "tests.fuzz.attack", "--seed", 3, "--n", "3", "--changes", "40")
    tried, refused = (int(said.split()[i]) for i in (0, 2))
    assert tried > 100 and refused > 100


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """What a small table is made of."""
    made: list[tuple[Any, ...]] = []
    executor = encoding.executor
    assert executor is not None
    x = np.ones((4, 3))
    with monkeypatch.context() as patch:
        patch.setattr(encoding, "executor", SimpleNamespace(Table=lambda *a: made.append(a) or executor.Table(*a)))
        natively(lowered(lambda x: [x * 2.0 + x], [x]), [x])
    return made[0]


HUGE = 1 << 62
FLOAT = np.dtype("float64")
FRESH = ("fresh", FLOAT, (4, 3), (24, 8), None)
FILLS = ("call", 0, float, (), None, (-1,), False, ())
FORM = FLOAT, (4, 3), (24, 8), False, True


@pytest.mark.parametrize(
    ("bases", "steps", "outputs"),
    [
        # sums that wrap around
        ((("fresh", FLOAT, (HUGE, 4), (4, HUGE), None),), (), ()),
        ((FRESH,), (), (("view", -1, (1 << 63) - 8, FLOAT, (2,), (8,), False, True),)),
        ((FRESH,), (), (("view", -1, 0, FLOAT, (1 << 33,), (1 << 31,), False, True),)),
        # an array with gaps, for which NumPy allocates its elements only
        ((("fresh", FLOAT, (4, 3), (240, 80), None),), (), ()),
        ((("fresh", FLOAT, (4,), (-8,), None),), (), ()),
        # a slot that nothing fills, and one that was emptied
        ((("slot",),), (), (("whole", -1),)),
        ((("slot", FLOAT, (4, 3), (24, 8)),), (), (("view", -1, 0, *FORM),)),
        ((("slot",),), (("call", 0, float, (), None, (-1,), False, (-1,)),), (("whole", -1),)),
        # bytes as an array, an object as an array, a scalar where there is no element
        ((("constant", bytes(96)),), (), (("view", -1, 0, *FORM),)),
        ((("slot",),), (FILLS,), (("view", -1, 0, FLOAT, (0,), (8,), False, True),)),
        ((("fresh", FLOAT, (0,), (8,), None),), (), (("view", -1, 0, FLOAT, (0,), (8,), True, False),)),
        # keywords that are no words
        ((("slot",),), (("call", 0, float, (("object", 1.0),), (1,), (-1,), False, ()),), ()),
        # a block of more memory than there is
        ((("block", (1 << 63) - 1),), (), ()),
    ],
)  # fmt: skip
def test_what_leads_astray_is_refused(table: tuple[Any, ...], bases: Any, steps: Any, outputs: Any) -> None:
    """-1 stands for the base that is added."""
    assert encoding.executor is not None
    make = encoding.executor.Table
    nargs, before, loops, numbers, made, results, *rest = table
    at = len(before)

    def placed(parts: Any) -> Any:
        if isinstance(parts, tuple):
            return tuple([placed(p) for p in parts])
        return at if type(parts) is int and parts == -1 else parts

    make(*table)
    changed = nargs, (*before, *bases), loops, numbers, (*made, *placed(steps)), (*results, *placed(outputs)), *rest
    assert is_refused(lambda: make(*changed))
