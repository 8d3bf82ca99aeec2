"""What programs of the fuzzer are run within: without warnings, or noting what plans ask."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.jacobian.structure.path import Path
from engine.ops.late import Call


@contextmanager
def contents_asked() -> Iterator[list[Any]]:
    """The values of whose contents a plan asked in vain."""
    found: list[Any] = []
    before = Path.contents

    def noted(path: Path, value: Any) -> Any:
        contents = before(path, value)
        if contents is None:
            found.append(value)
        return contents

    Path.contents = noted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Path.contents = before  # type: ignore[method-assign]


@contextmanager
def late_calls() -> Iterator[list[Any]]:
    """The calls that were put off until a rank or a shape is known."""
    found: list[Any] = []
    before = Call.tried

    def noted(call: Call, given: Any) -> bool:
        found.append(call)
        return before(call, given)

    Call.tried = noted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Call.tried = before  # type: ignore[method-assign]


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings: programs meet infinities and NaNs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
