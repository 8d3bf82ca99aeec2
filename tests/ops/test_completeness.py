"""One op, one place: every op has all its parts, and a row in the table.

That rules are made of ops and never call NumPy needs no test of its own: `test_ops.test_graph_agrees_with_tape` runs
the rules of every row on symbols, and NumPy called on a symbol raises.
"""

import pickle
from collections import Counter
from typing import Any

from tests.op_table import FIRST_ORDER, OPS, ROWS, UNTESTED_RULES, WITHOUT_ROW, coverage
from tests.support import noted


def test_is_tested() -> None:
    """Every op has a row, every rule of it is differentiated by one, also twice. ``pytest --table`` shows all."""
    assert [gap for covered in coverage() for gap in covered.gaps()] == []


def test_exceptions_are_needed() -> None:
    ops = {c.op.name: c for c in coverage()}
    assert [name for name in WITHOUT_ROW if ops[name].rows] == []
    assert [(name, a) for name, a in UNTESTED_RULES if a in ops[name].tested or a not in ops[name].rules] == []
    assert [name for name in FIRST_ORDER if ops[name].order >= 2] == []


def test_has_all_its_parts() -> None:
    for where, op in OPS.items():
        with noted(where):
            assert callable(op.kernel) and callable(op.abstract) and callable(op.batch)
            assert (op.vjp is None) == (op.jvp is None), "both derivatives or none"
            assert (op.vjp is None) == (op.kind == "nondifferentiable")
            assert op.kind in ("elementwise", "linear", "multilinear", "general", "nondifferentiable")
            fixed = [name for name in op.args if not name.startswith("*")]
            for rules in (op.vjp, op.jvp):
                if isinstance(rules, tuple):
                    assert len(rules) == len(fixed), f"{len(rules)} rules for the operands {op.args}"


def test_pickles_to_itself() -> None:
    assert [where for where, op in OPS.items() if where != f"{op.module}.{op.name}"] == [], "is not under its own name"
    assert [where for where, op in OPS.items() if pickle.loads(pickle.dumps(op)) is not op] == []


def test_names_are_unique() -> None:
    assert len({id(op) for op in OPS.values()}) == len(OPS)
    assert duplicates(op.name for op in OPS.values()) == []


def test_row_ids_are_unique() -> None:
    assert duplicates(row.id for row in ROWS) == []


def duplicates(items: Any) -> list[Any]:
    return [item for item, count in Counter(items).items() if count > 1]
