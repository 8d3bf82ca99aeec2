"""All mutants. A row stays true to the code: `tests/house/test_mutants.py` checks that each piece is there once."""

from tests.mutants import agreement, jacobian, program, state, structure
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *program.MUTANTS,
    *state.MUTANTS,
    *structure.MUTANTS,
    *jacobian.MUTANTS,
    *agreement.MUTANTS,
)
