"""The page of what is supported has every op, and the site makes a table of all names from it."""

import re
import sys
from pathlib import Path

import pytest

from tests.op_table import OPS
from tests.support_page import text


def test_the_pages_have_each_op_and_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).resolve().parents[2] / "docs"), *sys.path])
    from names_page import names, names_page

    page = text()
    assert len(OPS) == int(re.findall(r"(\d+) ops,", page)[0])
    found = names(page)
    for name in ("nn.relu", "linalg.cholesky", "GradientTape", "gradients", "train.AdamOptimizer", "keras.Model"):
        assert f"<code>{name}</code>" in names_page(page), name
    assert found["nn.relu"].graph and found["nn.relu"].tape and "features" in found["nn.relu"].derivatives
    assert (found["placeholder"].graph, found["placeholder"].tape, found["function"].tape) == ("✓", "", "✓")
