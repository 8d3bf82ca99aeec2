"""The option of the benchmarks."""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """``--full``: the large sizes too."""
    parser.addoption("--full", action="store_true", help="benchmarks: measure the large sizes too (up to half an hour)")
