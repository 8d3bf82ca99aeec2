"""The same programs under real TensorFlow and here: what is kept of them, and errors."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tape_api
from tests.outputs import assert_agree, given_by, kept
from tests.tape_api.failing_programs import FAILING

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


def test_what_is_kept_is_what_tensorflow_gives() -> None:
    for folder, found in given_by(tensorflow).items():
        assert_agree(found, kept(folder), folder, tolerance=1e-4)


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
