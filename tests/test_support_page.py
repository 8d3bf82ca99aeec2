"""SUPPORT.md is what the ops, the tables of names and the tests' tables say."""

from __future__ import annotations

from tests.support_page import FILE, text


def test_the_page_is_current() -> None:
    stale = FILE.read_text(encoding="utf-8") != text()
    assert not stale, "SUPPORT.md is stale; renew it: python -m tests.support_page > SUPPORT.md"
