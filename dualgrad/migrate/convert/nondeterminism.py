"""Why a program prints other numbers each time it runs: random numbers without a seed, and clocks.

The new program draws other ones then, and of what it prints only the words can be compared. What it computes is proved
by `dualgrad.migrate.compare`, on the draws of the record.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from dualgrad.migrate.convert import queues

_CLOCKS = frozenset({"datetime", "time", "timeit"})
_MAKERS = frozenset({"RandomState", "default_rng", "Random"})
_ALWAYS = frozenset({"SystemRandom", "urandom", "uuid1", "uuid4"})


def reasons(source: str, notes: Any, capture: Any) -> list[str]:
    """Reasons why the numbers differ that a program prints; empty if there are none.

    Parameters
    ----------
    source : str
        The program.
    notes : Notes
    capture : Capture
        What was seen when it ran.
    """
    texts = [f"it draws from {name} without a seed" for name in notes.unseeded()]
    if any(draw.seed is None for draw in capture.draws):
        texts.append("its graph draws random numbers without a seed")
    if any((None, None) in pairs for pairs in capture.shuffles.values()):
        texts.append("its data sets are shuffled without a seed")
    if any(queues.shuffles(graph) for graph in {id(run.graph): run.graph for run in capture.runs.values()}.values()):
        texts.append("its queues hand out examples in another order")
    return [*texts, *dict.fromkeys(_reasons_in_text(ast.parse(source)))]


def _reasons_in_text(tree: ast.AST) -> Iterator[str]:
    """The reasons that the text shows."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            if not _CLOCKS.isdisjoint(names):
                yield "it looks at the clock"
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            arguments = [*node.args, *[k.value for k in node.keywords if k.arg in ("seed", "x")]]
            unset = not arguments or (isinstance(arguments[0], ast.Constant) and arguments[0].value is None)
            if name in _ALWAYS or (name in _MAKERS and unset):
                yield "it makes a generator of random numbers without a seed"
