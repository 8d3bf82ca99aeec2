"""Answers that outlive what they were made of: a few changes in a process of its own, and one that is stale."""

import re

import pytest

from engine.jacobian.views.evaluations import Recorded
from tests.fuzz import changes
from tests.processes import printed


def test_a_change_is_seen_by_all_that_outlives_a_call() -> None:
    said = printed("-m", "tests.fuzz.changes", "--n", "500", "--seed", "3")
    assert re.search(r"^5\d\d changes in .*; 0 stale answers", said, re.MULTILINE), said


def test_what_is_asked_answers() -> None:
    """An error is an answer like any other, but says nothing of what is kept."""
    for name, read in changes.NAMES[::7]:
        found = changes.answer(changes.KINDS[name].make(changes.READS[read]))
        assert isinstance(found, list), (name, read, found)


def test_a_stale_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorded, "state", lambda self, given: 0)
    found = [each for _, stale in changes.steps(120, 0, only="for_scipy short jac") for each in stale]
    assert found
    assert all(each.read in str(each) for each in found)
