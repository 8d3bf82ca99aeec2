"""What is said to give the same bits on every machine does, on an older processor that this one pretends to be."""

import platform
import sys

import pytest

from tests.machines import differing


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="what is switched off is x86's")
def test_an_old_processor_gives_the_same_bits() -> None:
    count, found = differing("plain", 40)
    assert not found
    assert count > 900
