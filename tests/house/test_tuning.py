"""The record of tuning constants, and the page that shows it."""

import re
from pathlib import Path

from engine.runtime import tuning

HOME = Path(__file__).resolve().parents[2]


def test_every_constant_says_its_unit_and_its_source() -> None:
    assert all(set(said) == {"unit", "what", "source"} and all(said.values()) for _, said in tuning.ABOUT)
    assert all(getattr(tuning.TUNING, name) > 0 for name, _ in tuning.ABOUT)


def test_the_page_says_what_users_may_meet() -> None:
    said = re.findall(r"^\| `(\w+)` \| ([\d,]+) ", (HOME / "docs" / "tuning.md").read_text(encoding="utf-8"), re.M)
    assert len(said) >= 5 and [(n, v) for n, v in said if getattr(tuning.TUNING, n) != int(v.replace(",", ""))] == []


def test_every_constant_is_used_somewhere() -> None:
    files = [p for folder in ("engine", "optim", "dualgrad") for p in (HOME / folder).rglob("*.py")]
    sources = "\n".join(p.read_text(encoding="utf-8") for p in files)
    unused = [name for name, _ in tuning.ABOUT if not re.search(rf"TUNING\.{name}\b", sources)]
    assert unused == []
