"""What tests of `dualgrad convert` ask of a program: that its loop is kept, and that nothing differs."""

import json
from pathlib import Path

import pytest

from tests.migrate.in_process import dualgrad


def kept(folder: Path, source: str, capsys: pytest.CaptureFixture[str], verdict: str | None = None) -> str:
    """The text that a program becomes, whose loop must be kept, and which must compare with the program's record."""
    old = f"{folder.name}.py"  # lines of a file are kept by its name
    (folder / old).write_text(source)
    assert dualgrad(folder, "record", "-o", "record", old) == 0
    assert dualgrad(folder, "convert", "-o", "new.py", old) == 0
    content = json.loads((folder / "new.map.json").read_text())
    assert content["whole"] is True, content["why"]
    capsys.readouterr()
    assert dualgrad(folder, "compare", "record", "new.py") == 0
    said = capsys.readouterr().out
    assert (verdict or equal(said)) in said and "printed: the same text" in said, said
    return (folder / "new.py").read_text()


def equal(said: str) -> str:
    """The verdict that a report must have if nothing differs."""
    varies = ("its graph draws random numbers without a seed", "its queues hand out examples in another order")
    return "NOT ALL COMPARED" if any(why in said for why in varies) else "EQUAL TO THE BIT"
