"""The classic programs of TensorFlow 2, with only the import line changed: what comes out is what TensorFlow gives."""

from typing import Any

import pytest

import tape_api as tf
from tests.outputs import assert_agree, kept, plain
from tests.tape_api.failing_programs import FAILING
from tests.tape_api.programs import PROGRAMS


@pytest.mark.filterwarnings("ignore:variable .* is read:engine.runtime.errors.DetachWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_give_what_tensorflow_gives_and_the_same_again(program: Any) -> None:
    first, second = plain(program(tf)), plain(program(tf))
    assert_agree(first, kept("tape_api")[program.__name__], program.__name__)
    assert str(first) == str(second)


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_failing_programs_say_what_is_wrong(program: Any) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError, AttributeError)) as caught:
        program(tf)
    assert len(str(caught.value)) > 15, "the message should say something"
