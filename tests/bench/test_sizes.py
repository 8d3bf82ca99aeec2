"""The table of times by sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import sizes
from bench.__main__ import main


def test_each_way_is_measured_and_its_result_read(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sizes, "SIZES", (1, 5))
    monkeypatch.setattr(sizes, "PEERS", {"none": lambda x: pytest.skip("not there")})
    assert main(["sizes", "--seconds", "0"]) == 0
    head, _, first, second = capsys.readouterr().out.splitlines()
    assert [part.strip() for part in head.strip("|").split("|")] == [
        "elements", "tape", "function", "graph", "tape / function"
    ]  # fmt: skip
    assert first.startswith("| 1 |") and second.startswith("| 5 |")


def test_a_wrong_result_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "PEERS", {"wrong": lambda x: lambda: np.zeros_like(x)})
    with pytest.raises(AssertionError):
        sizes.measured(3, 0.0)
