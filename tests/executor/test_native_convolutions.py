"""Small convolutions in the native executor: rows, with the bits of the kernels."""

from typing import Any

import numpy as np
import pytest

from engine import executor
from engine.executor import convolutions, staged
from engine.executor.loops import same_bits
from engine.executor.refs import Call, Recording
from engine.ops import conv
from engine.ops.windows import Windows
from tests.compiler.test_program import lowered
from tests.executor.test_native import natively
from tests.executor.test_windows_in_c import GEOMETRIES, numbers

pytestmark = [
    pytest.mark.skipif(not executor.status().active, reason=str(executor.status())),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each table that is made, whether it calls a kernel."""
    made: list[bool] = []
    table_of = staged.table_of

    def noted(recording: Recording, *rest: Any) -> Any:
        made.append(any(isinstance(step, Call) for step in recording.steps))
        return table_of(recording, *rest)

    monkeypatch.setattr(staged, "table_of", noted)
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("space", "size", "strides", "padding", "dilations"), GEOMETRIES)
def test_small_convolutions_are_rows(
    space: Any, size: Any, strides: Any, padding: Any, dilations: Any, dtype: str, calls: list[bool]
) -> None:
    rng, moves = np.random.default_rng(4), {"windows": Windows(strides, padding, dilations), "stack": 0}
    for channels, outputs in ((1, 2), (3, 8), (17, 4), (33, 34)):
        x, w = rng.normal(size=(2, *space, channels)), rng.normal(size=(*size, channels, outputs))
        x, w = x.astype(dtype), w.astype(dtype)
        of_data, of_filters = np.array(x.shape), np.array(w.shape)
        ct = conv.conv_op.kernel(x, w, **moves)
        few = max(ct[..., 0].size, x[..., 0].size) * w[..., 0].size <= convolutions._MOST_ADDED
        for function, given in (
            (lambda x, w: conv.conv_op(x, w, **moves), (x, w)),
            (lambda w, ct, s=of_data: conv.conv_data_op(s, w, ct, **moves), (w, ct)),
            (lambda x, ct, s=of_filters: conv.conv_filters_op(x, s, ct, **moves), (x, ct)),
            (lambda w, x=x: conv.conv_op(x, w, **moves), (w,)),
        ):
            program = lowered(function, given)
            table = natively(program, given)
            for special in (False, True):
                others = [numbers(rng, a.shape, dtype, special) for a in given]
                assert same_bits(table(*others)[0], program.run_generated(*others)[0])
            if few:
                assert not calls[-1]


def test_large_ones_groups_and_stacks_are_called(calls: list[bool]) -> None:
    rng, windows = np.random.default_rng(5), Windows((1, 1), "SAME", (1, 1))
    for data, filters, stack in (
        ((4, 40, 40, 3), (3, 3, 3, 8), 0),
        ((2, 5, 5, 4), (3, 3, 2, 6), 0),
        ((3, 2, 5, 5, 2), (3, 3, 3, 2, 2), 1),
    ):
        given = rng.normal(size=data), rng.normal(size=filters)
        natively(lowered(lambda x, w, s=stack: conv.conv_op(x, w, windows=windows, stack=s), given), given)
        assert calls[-1]
