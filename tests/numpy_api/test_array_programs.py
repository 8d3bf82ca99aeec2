"""Programs of autograd's users give the same numbers when they import our modules in place of autograd's."""

import json

import pytest

from tests.array_programs import EXPECTED, PROGRAMS
from tests.processes import printed


@pytest.fixture(scope="module")
def results() -> dict[str, list[float]]:
    """All of them in another process, in which tensors have the manners of NumPy's arrays everywhere."""
    program = """
import json, warnings
warnings.simplefilter("error")
from dualgrad import numpy as np, tape
from tests.array_programs import run
print(json.dumps(run(np, tape.transforms)))
"""
    return json.loads(printed(program))


@pytest.mark.parametrize("name", [program.__name__ for program in PROGRAMS])
def test_the_numbers_are_autograds(results: dict[str, list[float]], name: str) -> None:
    assert results[name] == pytest.approx(EXPECTED[name], rel=1e-8, abs=1e-10)
