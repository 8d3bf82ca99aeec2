"""Facts about the inner loops of our own, as the extension tells them (the tables in loops.c and fused.c)."""

from __future__ import annotations

from typing import NamedTuple

from engine.executor.extension import executor


class OwnLoop(NamedTuple):
    """Facts about one loop; its name ends in ``_`` and a type, a size, or both.

    Attributes
    ----------
    cores : tuple of int
        Per operand, how many dimensions it has besides those that all operands go through together.
    indexed : bool
        Whether the first operand says where another one is read or written.
    refuses : bool
        Whether it refuses some contents.
    most : int
        The largest size of those dimensions, 0 if there is no limit.
    lines : int
        Which of its dimensions counts the lines that it reduces or adds up, or -1.
    of : str, optional
        The ufunc, or loop of our own, which does the same.
    """

    cores: tuple[int, ...]
    indexed: bool
    refuses: bool
    most: int
    lines: int
    of: str | None

    @property
    def is_elementwise(self) -> bool:
        """Whether it goes through all operands element by element, whatever they contain."""
        return not (any(self.cores) or self.indexed or self.refuses)


LOOPS = {name: OwnLoop(*facts) for name, facts in ({} if executor is None else executor.LOOPS).items()}
"""By name: those that this machine can run."""
AT_INDICES = {name for name, loop in LOOPS.items() if sorted(loop.cores) == [0, 1, 2]}
"""Those that take rows of a whole, or put or add them there; their second dimension is that of the whole."""
MOST_OPERANDS = 0 if executor is None else executor.MAX_OPERANDS - 1
"""Operands that a loop may have besides its result."""
FUSES = executor is not None and bool(executor.FUSES)
"""Whether there are fused loops."""
_STEPS = [] if executor is None else executor.STEPS
STEPS: dict[str, str] = {meaning: letter for letter, *_, every in _STEPS for meaning in every.split(", ")}
"""By what it does: the letter of a step of a fused loop."""
CONDITIONED = {meaning.split()[0] for *_, boolean, every in _STEPS if boolean for meaning in every.split(", ")}
"""The operations whose first operand is boolean."""
SUMMED = "summed_"
"""The beginning of names of loops that add up results of steps."""
SUMMED_STEPS = {letter for letter, takes, boolean, _ in _STEPS if takes < 2 and not boolean}
"""The steps that these may have."""
MOST_SUMMED = 0 if executor is None else executor.MOST_TAKEN
"""Operands that these may have."""
MOST_TERMS = 0 if executor is None else executor.MOST_TERMS
"""Results that these may add up."""


def is_summed(loop: object) -> bool:
    """Whether a loop adds up results of steps (summed.c)."""
    return isinstance(loop, str) and loop.startswith(SUMMED)


def base_of(name: str) -> str:
    """The name of a loop without its type."""
    return name.rpartition("_")[0]


def instead_of(inside: int, result: int) -> dict[str, str]:
    """By ufunc or loop: the loop, without its type, that does the same with so many dimensions of operand, result."""
    return {
        loop.of: base_of(name)
        for name, loop in LOOPS.items()
        if loop.of is not None and (loop.cores[0], loop.cores[-1]) == (inside, result)
    }
