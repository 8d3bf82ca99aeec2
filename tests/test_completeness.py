"""One op, one place: every op has all its parts, and a row in the table.

That rules are made of ops and never call NumPy needs no test of its own: `test_ops.test_graph_agrees_with_tape` runs
the rules of every row on symbols, and NumPy called on a symbol raises.
"""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest

from engine.op import Op
from tests.op_table import OPS, ROWS, WITHOUT_ROW

every_op = pytest.mark.parametrize(("where", "op"), OPS.items(), ids=OPS)


@every_op
def test_has_a_row(where: str, op: Op) -> None:
    mine = [row for row in ROWS if row.op is op]
    assert mine or op.name in WITHOUT_ROW, f"{where} has no row in tests/rows/{where.split('.')[-2]}.py"
    if op.vjp is not None and not op.stateful:
        tried = any(row.differentiable(row.arrays(dtype)) for row in mine for dtype in row.dtypes)
        assert tried, f"no row of {where} differentiates it"


@every_op
def test_has_all_its_parts(where: str, op: Op) -> None:
    assert callable(op.kernel) and callable(op.abstract) and callable(op.batch)
    assert (op.vjp is None) == (op.jvp is None), "both derivatives or none"
    assert (op.vjp is None) == (op.kind == "nondifferentiable")
    assert op.kind in ("elementwise", "linear", "multilinear", "general", "nondifferentiable")
    fixed = [name for name in op.args if not name.startswith("*")]
    for rules in (op.vjp, op.jvp):
        if isinstance(rules, tuple):
            assert len(rules) == len(fixed), f"{len(rules)} rules for the operands {op.args}"


@every_op
def test_pickles_to_itself(where: str, op: Op) -> None:
    assert where == f"{op.module}.{op.name}", "an op lives in its module under its own name"
    assert pickle.loads(pickle.dumps(op)) is op


def test_names_are_unique() -> None:
    assert len({id(op) for op in OPS.values()}) == len(OPS)
    assert duplicates(op.name for op in OPS.values()) == []


def test_row_ids_are_unique() -> None:
    assert duplicates(row.id for row in ROWS) == []


def duplicates(items: Any) -> list[Any]:
    return [item for item, count in Counter(items).items() if count > 1]
