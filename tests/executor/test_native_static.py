"""Tables that are made for the contents of an argument: the exponent of a power."""

import functools
from typing import Any

import numpy as np
import pytest

import tape_api as tape
from engine import executor
from engine.compiler import program as program_module
from engine.executor import refs, staged
from engine.executor.hidden import Opaque
from engine.executor.recorder import Recorder
from engine.ops import explog
from tests.compiler.test_program import lowered
from tests.executor.test_native import derived, natively
from tests.support import assert_same_bits

pytestmark = [
    pytest.mark.skipif(not executor.status().active, reason=str(executor.status())),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_table_is_made_for_an_exponent(dtype: str) -> None:
    """Rows of the powers by what the exponent is; once it has been another, it may be any."""
    x = np.linspace(-2.0, 2.0, 7).astype(dtype)
    for make in (np.dtype(dtype).type, functools.partial(np.array, dtype=dtype)):
        program = lowered(lambda x, y: derived(explog.pow, [x, y]), [x, make(3.0)])
        program(x, make(3.0))
        _, recording = staged.observed(program, [x, make(3.0)], program_module.located, (1,))
        assert all(isinstance(step, refs.Row) for step in recording.steps)
        table = natively(program, [x, make(3.0)])
        assert_same_bits(table(2.0 * x, make(3.0)), program.run_generated(2.0 * x, make(3.0)))
        for exponent in (0.5, -1.0, 0.0, -0.0, 3.0, 2.5, np.nan, 3.0):
            assert_same_bits(program(x, make(exponent)), program.run_generated(x, make(exponent)))
        assert type(program.native).__name__ == "Table" and program.native is not table


def test_what_is_observed_itself_is_no_run() -> None:
    """A body that a kernel calls for the first time while the kernel is observed: then the kernel is called."""
    x = np.arange(3.0)
    program = lowered(lambda x: x * 2.0, [x])
    recorder = Recorder()
    with pytest.raises(Opaque):
        program(recorder.whole(recorder.root("argument", x, 0), x))
    assert not recorder.recording.steps
    assert_same_bits(natively(program, [x])(x), [x * 2.0])


def test_exponents_of_tapes_are_known_to_their_programs() -> None:
    x = tape.constant(np.linspace(-2.0, 2.5, 7))

    def gradient(exponent: float) -> Any:
        with tape.GradientTape() as recording:
            recording.watch(x)
            y = x**exponent
        return recording.gradient(y, x).numpy()

    for exponent in (3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 4.0, 0.0, 3.0):
        np.testing.assert_array_equal(gradient(exponent), exponent * x.numpy() ** (exponent - 1.0))
