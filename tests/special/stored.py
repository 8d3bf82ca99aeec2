"""The truths of the table as they are stored, and the order in which they stand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "truths.json"


def orders(carries: Sequence[bool], most: int) -> list[tuple[int, ...]]:
    """The derivatives up to order `most`, as counts for each argument."""
    found: list[tuple[int, ...]] = [()]
    for carried in carries:
        found = [(*o, k) for o in found for k in range(most + 1 if carried else 1) if sum(o) + k <= most]
    return sorted(found, key=lambda o: (sum(o), [-k for k in o]))


def read() -> dict[str, Any]:
    return json.loads(HERE.read_text()) if HERE.exists() else {}


def write(truths: dict[str, Any]) -> None:
    """One line a function."""
    lines = [f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}" for name, rows in truths.items()]
    HERE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
