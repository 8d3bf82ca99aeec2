"""What programs of the fuzzer are run within: without warnings, or noting what plans ask."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from engine.compiler import program
from engine.control.deferred_call import Call
from engine.core.eager import EagerTensor
from engine.jacobian.structure.path import Path
from engine.runtime.cache import clear_caches
from tests.fuzz import execute


@contextmanager
def _noting(owner: Any, name: str, noted: Callable[..., Any]) -> Iterator[list[Any]]:
    """What ``noted(found, before, *arguments)``, in place of a function, leaves in the list `found`."""
    found: list[Any] = []
    before = getattr(owner, name)
    setattr(owner, name, lambda *arguments: noted(found, before, *arguments))
    try:
        yield found
    finally:
        setattr(owner, name, before)


def contents_asked() -> AbstractContextManager[list[Any]]:
    """The values of whose contents a plan asked in vain."""

    def noted(found: list[Any], before: Any, path: Path, value: Any) -> Any:
        contents = before(path, value)
        if contents is None:
            found.append(value)
        return contents

    return _noting(Path, "contents", noted)


def deferred_calls() -> AbstractContextManager[list[Any]]:
    """The calls that were put off until a rank or a shape is known."""

    def noted(found: list[Any], before: Any, call: Call, *rest: Any) -> bool:
        found.append(call)
        return before(call, *rest)

    return _noting(Call, "tried", noted)


def unknown_shapes() -> AbstractContextManager[list[Any]]:
    """The values of unknown shape that graphs consist of."""

    def noted(found: list[Any], before: Any, session: Any, *rest: Any) -> execute.Results:
        found.extend([x for node in session.graph.nodes for x in node.outputs if not x.aval.is_static])
        return before(session, *rest)

    return _noting(execute, "_run", noted)


def decisions() -> AbstractContextManager[list[bool]]:
    """What branches and loops on a tape made of conditions."""

    def noted(found: list[bool], before: Any, tensor: EagerTensor) -> bool:
        found.append(before(tensor))
        return found[-1]

    return _noting(EagerTensor, "__bool__", noted)


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
