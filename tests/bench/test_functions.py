"""The steps that `bench.test_steps` times: programs give Python's bits, and TensorFlow's numbers."""

import numpy as np
import pytest

import tape_api
from bench import test_steps as steps

SMALL = [name for name in steps.STEPS if "784" not in name and "5,000" not in name]


def found(name: str) -> list[bytes]:
    call = steps.STEPS[name](tape_api)
    return [np.asarray(call()).tobytes() for _ in range(5)]


@pytest.mark.parametrize("name", SMALL)
def test_a_program_gives_what_python_gives(name: str) -> None:
    as_program = found(name)
    tape_api.config.run_functions_eagerly(True)
    try:
        assert found(name) == as_program
    finally:
        tape_api.config.run_functions_eagerly(False)


@pytest.mark.peer
@pytest.mark.parametrize("name", SMALL)
def test_tensorflow_gives_the_same(name: str) -> None:
    make = steps.STEPS[name]
    steps.agree(make(pytest.importorskip("tensorflow")), make(tape_api))
    with pytest.raises(AssertionError, match="Not equal"):
        steps.agree(make(tape_api), lambda: np.float32(1e3))
