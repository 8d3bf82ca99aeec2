"""Tests of migration leave no import hook behind, which would give other tests ours for TensorFlow."""

import sys
from collections.abc import Iterator

import pytest

from dualgrad.migrate.hook import Hook


@pytest.fixture(autouse=True)
def no_hook_left() -> Iterator[None]:
    """Fail where a test does."""
    yield
    assert not [finder for finder in sys.meta_path if isinstance(finder, Hook)]
