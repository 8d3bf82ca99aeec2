"""The same programs under real TensorFlow and under `tape_api`: values, gradients, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tape_api
from tests.tape_api.failing_programs import FAILING
from tests.tape_api.programs import PROGRAMS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


def plain(x: Any) -> Any:
    """A structure with arrays in place of tensors."""
    if isinstance(x, Mapping):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    return x if x is None or isinstance(x, (str, bool, int, float)) else np.asarray(x)


def assert_agree(got: Any, expected: Any, where: str) -> None:
    assert type(got) is type(expected), f"{where}: {got!r}, TensorFlow {expected!r}"
    if isinstance(got, dict):
        assert got.keys() == expected.keys(), where
        for key in got:
            assert_agree(got[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(got, list):
        assert len(got) == len(expected), where
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_agree(g, e, f"{where}[{i}]")
    elif isinstance(got, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        tolerance = 1e-10 if got.dtype in (np.float64, np.complex128) else 2e-5
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=where)
    elif isinstance(got, float):
        assert got == pytest.approx(expected, rel=2e-5, abs=2e-5), where
    else:
        assert got == expected, where


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program: Callable[[Any], Any]) -> None:
    assert_agree(plain(program(tape_api)), plain(program(tensorflow)), program.__name__)


def error_of(program: Callable[[Any], Any], tf: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (which one is the question)
        program(tf)
    return caught.value


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_failing_program(program: Callable[[Any], Any]) -> None:
    """Whoever catches TensorFlow's error catches ours."""
    expected, got = error_of(program, tensorflow), error_of(program, tape_api)
    # TensorFlow's class itself, if it is one of Python's, or one of ours of the same name
    names = {kind.__name__ for kind in type(got).__mro__}
    assert isinstance(got, type(expected)) or type(expected).__name__ in names, f"{got!r}, TensorFlow {expected!r}"
