"""Which values of a converted module the program's text gives, and which are those of the recorded run."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

_MODULES = 300
"""How many modules of a program's folder are read at most."""


def numbers_in(program: Path) -> np.ndarray:
    """The numbers that a program, or a module of its own beside it, has in its text: their amounts.

    Parameters
    ----------
    program : Path
    """
    numbers: set[float] = set()
    for text in _texts(program):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        nodes = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        numbers |= {abs(float(v)) for v in nodes if isinstance(v, (int, float)) and abs(v) < 2**1023}
    return np.array(sorted(numbers))


def words_in(program: Path) -> frozenset[str] | None:
    """The words in the texts of a program and of its modules: the names that it can say; None if these are too many."""
    patterns = ("*.py", "*/*.py", "*/*/*.py")
    texts = list(itertools.islice(_texts(program, patterns), _MODULES + 1))
    if len(texts) > _MODULES:
        return None
    return frozenset(word for text in texts for word in re.findall(r"\w+", text.decode("utf-8", "replace")))


def _texts(program: Path, patterns: Sequence[str] = ("*.py",)) -> Iterator[bytes]:
    """The texts of a program and of modules beside it."""
    home = program.resolve().parent
    for file in itertools.chain([program], *(home.glob(pattern) for pattern in patterns)):
        with suppress(OSError):
            yield file.read_bytes()


def is_told(array: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a program's text can have said an array: texts, conditions, one number throughout, or its own numbers."""
    if array.dtype.kind not in "iufc" or array.size == 0:
        return True
    if array.dtype.kind in "iu" and array.size > 2 and not _is_regular(array.ravel()):
        return False  # small numbers are in every text: these, in no order, were drawn or computed
    amounts = np.unique(np.abs(array))
    if len(amounts) == 1 and amounts[0] in (0, 1):
        return True
    return bool(np.isin(amounts, np.union1d(numbers.astype(amounts.dtype), [0, 1])).all())


def _is_regular(array: np.ndarray) -> bool:
    """Whether whole numbers are of few kinds, or go up or down by the same step."""
    steps = np.diff(array.astype(np.int64))
    return len(np.unique(array)) <= 2 or bool((steps == steps[0]).all())


def marked(code: ast.AST, known: set[int]) -> bool:
    """Whether a statement of the module's top holds a value of the run: in one of the calls `known`."""
    return isinstance(code, ast.Assign) and any(id(n) in known for n in ast.walk(code.value))
