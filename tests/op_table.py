"""The op table: every row of every module in `tests.rows`, and every op there is.

Adding an op means one definition in `engine` and one row here. The tests in `test_ops.py`, `test_ops_tensorflow.py` and
`test_completeness.py` are driven by this table. ``python -m tests.op_table`` prints which op has which rule, and what
the rows test of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any

import engine
import engine.operators
from engine.op import FROM_VJP, Op
from tests import rows
from tests.row import Row

WITHOUT_ROW = {
    "placeholder": "gets its value from outside",
    "variable_handle": "has its value in a session",
    "assign_variable": "has its effect in a session",
}
"""Ops that cannot have a row, and why."""


def _rows() -> Iterator[Row]:
    for module in pkgutil.iter_modules(rows.__path__):
        yield from importlib.import_module(f"tests.rows.{module.name}").ROWS


def _ops(package: Any) -> Iterator[tuple[str, Op]]:
    """Every op defined in the modules of a package, with where it was found, also in lists and dicts of a module."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for op in _ops_in(value):
                if op.module == module.__name__:
                    yield f"{module.__name__}.{name}", op


def _ops_in(value: Any) -> Iterable[Op]:
    if isinstance(value, Op):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [v for v in value if isinstance(v, Op)] if isinstance(value, (list, tuple, set, frozenset)) else []


ROWS: tuple[Row, ...] = tuple(_rows())
OPS: dict[str, Op] = dict(_ops(engine))
"""Where each op was found (``engine.ops.trig.sin``), and the op."""

CASES = [(row, dtype) for row in ROWS for dtype in row.dtypes]
"""All rows in all their dtypes."""


def case_id(case: Any) -> str:
    """``sin-float64``."""
    row, dtype = case
    return f"{row.id}-{dtype}"


def coverage() -> list[tuple[str, ...]]:
    """One line per op: what it has, and what its rows try."""
    lines: list[tuple[str, ...]] = [("op", "kind", "vjp", "jvp", "rows", "oracle", "tensorflow", "order", "dtypes")]
    for where, op in OPS.items():
        mine = [row for row in ROWS if row.op is op]
        dtypes = sorted({d for row in mine for d in row.dtypes})
        lines.append(
            (
                where.removeprefix("engine."),
                op.kind + (" (stateful)" if op.stateful else ""),
                "-" if op.vjp is None else "yes",
                "-" if op.jvp is None else "from vjp" if op.jvp is FROM_VJP else "yes",
                str(len(mine) or WITHOUT_ROW.get(op.name, "MISSING")),
                "yes" if any(row.oracle for row in mine) else "-",
                "yes" if any(row.tf for row in mine) else "-",
                str(max((row.order for row in mine), default=0)),
                " ".join(dtypes),
            )
        )
    return lines


if __name__ == "__main__":
    table = coverage()
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())  # noqa: T201
    print(f"{len(OPS)} ops, {len(ROWS)} rows, {len(CASES)} cases")  # noqa: T201
