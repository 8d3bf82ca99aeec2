"""The type stubs say what is there, and what comes back."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tape_api
from dualgrad.frontend.legacy import Old
from engine.core.eager import EagerTensor
from tests.op_table import ROWS
from tests.stubs import FRONT_ENDS, HOME, Stub, path_of, result

PROGRAM = """
import {front_end} as tf

good: tf.Tensor = tf.reduce_sum([1.0, 2.0], axis=0)
more: tf.Tensor = tf.linalg.matmul([[1.0]], [[2.0]])
parts: list[tf.Tensor] = tf.split([1.0, 2.0], 2)
tf.reduce_summ([1.0])
tf.matmul(1)
tf.reduce_sum([1.0], axes=1)
tf.math.sinn(1.0)
wrong: str = tf.tanh(1.0)
total: tf.Tensor = -(good @ more)[0, ..., None] / 2 + 1.0 - 3 * good ** 2
larger: tf.Tensor = good > more
read: tf.Tensor = 2.0 * tf.Variable([1.0])[0] + 1.0
text: str = good * 2.0
number: int = abs(good)
"""
REFUSED = [7, 8, 9, 10, 11, 15, 16]
"""The lines of `PROGRAM` that are wrong."""


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_stub_is_up_to_date(front_end: str) -> None:
    # `python -m tests.stubs` writes it anew
    assert path_of(front_end).read_text() == Stub(front_end).text()


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_refuses_what_is_wrong_and_nothing_else(front_end: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(front_end=front_end))
    command = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", str(program)]
    told = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False).stdout
    lines = [int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == REFUSED, told


def kind(value: Any) -> str:
    """The annotation that fits a result."""
    if hasattr(value, "_fields"):
        return f"_{type(value).__name__}"
    if isinstance(value, EagerTensor):
        return "Tensor"
    return "list" if isinstance(value, list) else "tuple"


def test_functions_give_what_the_stub_says(monkeypatch: pytest.MonkeyPatch) -> None:
    # The rows of the op table call the public functions that have a counterpart in TensorFlow: each is watched.
    seen: dict[str, set[str]] = {}

    def watched(path: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            seen.setdefault(path, set()).add(kind(value))
            return value

        return call

    rows = Stub("tape_api").rows
    for path in rows:
        *parents, name = path.split(".")
        module: Any = tape_api
        for parent in parents:
            module = getattr(module, parent)
        monkeypatch.setattr(module, name, watched(path, getattr(module, name)))
    for row in ROWS:
        if row.tf is not None:
            try:
                row.tf(tape_api, *[tape_api.constant(a) for a in row.arrays(row.dtypes[0])])
            except AttributeError:
                continue  # a name that only TensorFlow has
    assert len(seen) > 200
    for path, kinds in seen.items():
        row = rows[path]
        said = result(row.function if isinstance(row, Old) else row).replace("builtins.", "")
        for found in kinds:
            assert said.startswith(found) or f"| {found}" in said, f"{path}: the stub says {said}, it gives a {found}"
