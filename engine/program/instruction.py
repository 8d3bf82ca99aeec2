"""`Instruction`: one kernel call of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.op import Op


@dataclass(frozen=True, slots=True)
class Instruction:
    """One kernel call.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of int
        Slots.
    params : dict
    where : str
        For error messages: the graph operation's name and the user's line that made it.
    """

    op: Op
    inputs: tuple[int, ...]
    params: dict[str, Any]
    outputs: tuple[int, ...]
    where: str = ""
