"""What programs of the fuzzer are run within: without warnings, or noting what plans ask."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.compiler import program
from engine.control.deferred_call import Call
from engine.core.eager import EagerTensor
from engine.jacobian.structure.path import Path
from engine.runtime.cache import clear_caches
from tests.fuzz import execute


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
def deferred_calls() -> Iterator[list[Any]]:
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
def unknown_shapes() -> Iterator[list[Any]]:
    """The values of unknown shape that graphs consist of."""
    found: list[Any] = []
    before = execute._run

    def noted(session: Any, *rest: Any) -> execute.Results:
        made = [out for node in session.graph.nodes for out in node.outputs]
        found.extend([x for x in made if not x.aval.is_static])
        return before(session, *rest)

    execute._run = noted
    try:
        yield found
    finally:
        execute._run = before


@contextmanager
def decisions() -> Iterator[list[bool]]:
    """What branches and loops on a tape made of conditions."""
    found: list[bool] = []
    before = EagerTensor.__bool__

    def noted(tensor: EagerTensor) -> bool:
        found.append(before(tensor))
        return found[-1]

    EagerTensor.__bool__ = noted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        EagerTensor.__bool__ = before  # type: ignore[method-assign]


@contextmanager
def infinities_met() -> Iterator[list[str]]:
    """The ops in programs that give, or take, what is infinite or NaN: in branches that are not taken as well."""
    before = program.Program._statement, program.runs_natively

    def noted(self: program.Program, i: int, instruction: Any, names: dict[int, str], *rest: Any) -> str:
        met.extend([instruction.op.name] * (not all(map(_finite, map(self.constants.get, instruction.inputs)))))
        given = ", ".join([names[s] for s in instruction.outputs])
        return f"{before[0](self, i, instruction, names, *rest)}; {_NOTE}({instruction.op.name!r}, ({given},))"

    met.clear()
    clear_caches()
    program.Program._statement = noted  # type: ignore[method-assign]
    program.runs_natively = lambda _: False
    try:
        yield met
    finally:
        program.Program._statement, program.runs_natively = before  # type: ignore[method-assign]
        clear_caches()


met: list[str] = []
_NOTE = f"__import__({__name__!r}, None, None, ['note']).note"


def note(name: str, results: Sequence[Any]) -> None:
    """Remember an op whose results are not finite."""
    met.extend([name] * (not all(map(_finite, results))))


def _finite(x: Any) -> bool:
    return not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "fc" or bool(np.isfinite(x).all())


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings: programs meet infinities and NaNs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
