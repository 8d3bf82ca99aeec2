"""The steps that `bench.functions` times: programs give Python's bits, and TensorFlow's numbers."""

import numpy as np
import pytest

import tape_api
from bench import functions

SMALL = [name for name in functions.STEPS if "784" not in name and "5,000" not in name]


def found(name: str) -> list[bytes]:
    call = functions.STEPS[name](tape_api)
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
    tensorflow = pytest.importorskip("tensorflow")
    make = functions.STEPS[name]
    functions._checked(name, {"program": make(tape_api), "tensorflow": make(tensorflow)})
    with pytest.raises(AssertionError, match="gives"):
        functions._checked(name, {"program": make(tape_api), "tensorflow": lambda: np.float32(1e3)})
