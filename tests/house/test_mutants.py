"""The table of mutants is up to date. Running them takes long: ``make mutants``."""

import ast
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

HOME = Path(__file__).resolve().parents[2]


def test_names_differ() -> None:
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 40


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_breaks_one_place_and_names_tests_that_exist(mutant: Mutant) -> None:
    broken = mutant.applied((HOME / mutant.file).read_text(encoding="utf-8"))
    compile(broken, mutant.file, "exec")
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (HOME / path).exists(), test
        if name:
            defined = {
                n.name
                for n in ast.walk(ast.parse((HOME / path).read_text(encoding="utf-8")))
                if isinstance(n, ast.FunctionDef)
            }
            assert name.partition("[")[0] in defined, test
