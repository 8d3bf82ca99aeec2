"""Comparison of what two runs printed."""

from __future__ import annotations

import re
from itertools import zip_longest

MOST = 10


NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")


def differing_lines(expected: str, got: str, words_only: bool = False) -> list[str]:
    r"""Messages about the first ten lines that differ; `words_only` takes all numbers for equal.

    Examples
    --------
    >>> differing_lines("loss 1.0\ndone\n", "loss 1.5\ndone\n")
    ["line 1: 'loss 1.5', was 'loss 1.0'"]
    """
    messages = []
    for number, (a, b) in enumerate(zip_longest(expected.splitlines(), got.splitlines()), 1):
        if a != b and not (words_only and a is not None and b is not None and _words(a) == _words(b)):
            said = ["no such line" if x is None else repr(x) for x in (b, a)]
            messages.append(f"line {number}: {said[0]}, was {said[1]}")
    return messages if len(messages) <= MOST else [*messages[:MOST], f"{len(messages) - MOST} more lines"]


def _words(line: str) -> str:
    return "".join(NUMBER.sub("#", line).split())
