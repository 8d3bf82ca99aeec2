"""The seed that a program has set for its random numbers, and how it and an operation's become a kernel's two seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SET: list[Callable[[], int | None]] = []
"""Functions that tell it: of the default graph, and of random numbers on tapes."""
DEFAULT_SEED = 87654321
"""Stands for the program's seed where only the operation has one (TensorFlow's choice)."""
_MOST = 2**31 - 1


def program_seed() -> int | None:
    """The seed of the default graph, or that of tapes; None if none is set."""
    return next((seed for tell in SET if (seed := tell()) is not None), None)


def seed_pair(program: int | None, operation: Any, choose: Callable[[], int]) -> tuple[int, int] | None:
    """The two seeds, or None if neither is given; `choose` gives the operation's where only the program has one."""
    if program is None and operation is None:
        return None
    own = choose() if operation is None else int(operation)
    pair = (DEFAULT_SEED if program is None else program) % _MOST, own % _MOST
    # a kernel takes two zeros for none
    return (0, _MOST) if pair == (0, 0) else pair
