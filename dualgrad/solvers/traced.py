"""A Python function for SciPy that is run as Python once, then as a program.

`Recorded` runs the function each time. Here one of many ops, or one that is called often, is traced if it can be;
derivatives are made of the trace, and from then on a point costs one run of a program, which also gives what they need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from engine.closed.call_record import Untraceable
from engine.closed.function import ClosedFunction
from engine.closed.traced_function import TracedFunction
from engine.compiler.eager_state import EagerState
from engine.core.eager import EagerTensor
from engine.core.function_tape import FunctionTape
from engine.core.lazy_tensor import LARGE, putting_off
from engine.core.op import are_plain, distinct
from engine.core.python_state import Unknown, state_of
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.jacobian.fetched import Fetched
from engine.jacobian.planning.plan import Options
from engine.jacobian.structure.path import Path
from engine.jacobian.views.evaluations import Derived, Make, Recorded
from engine.runtime.cache import Cache
from engine.runtime.errors import OpError

FEWEST = 100
"""Ops of a function that is worth tracing at once, if it calls no solver."""
_OFTEN = 32
"""Points after which any other is."""
_KEPT = 64


class _Program:
    """The traced function for arguments of some kind.

    Attributes
    ----------
    fetched : Fetched
    pairs : list of bool
    state : object
        What the Python function saw when it was traced.
    """

    def __init__(self, traced: TracedFunction, points: int, pairs: Sequence[bool], state: Any) -> None:
        inputs, outputs, self._variables = traced.symbols()
        self._trace = inputs[0].trace
        self._closed: Cache[Any, ClosedFunction] = Cache(
            "programs for SciPy", _KEPT, key="the traced function; fetches, feeds"
        )
        self.fetched = Fetched(outputs, inputs[:points], self._run, inputs[points:], in_trace=True)
        self.pairs, self.state = pairs, state

    def _run(self, fetches: Sequence[Any], feed: Mapping[Any, Any]) -> list[Any]:
        key = tuple(map(id, fetches)), tuple(map(id, feed))
        closed = self._closed.get(key)
        if closed is None:
            store, wanted = EagerState(self._variables), [f for f in fetches if isinstance(f, Symbol)]
            closed = self._closed.put(key, ClosedFunction(self._trace, list(feed), wanted, store=store, owned=True))
        arrays = [np.asarray(a, p.aval.dtype.numpy, order="C") for p, a in feed.items()]
        found = list(closed.execute(arrays))
        if len(found) == len(fetches):
            return found
        each = iter(found)
        return [next(each) if isinstance(f, Symbol) else f for f in fetches]


def _programs() -> Cache[Any, _Program | str | int]:
    return Cache("functions for SciPy", _KEPT, key="the function; kinds of arguments; all that it sees is compared")


class Traced(Recorded):
    """A function that is traced where that pays, and where Python would do the same each time.

    It is not where it looks at the contents of tensors (``if``), has effects, draws random numbers, assigns to
    variables, defines gradients of its own, or uses objects whose state cannot be told
    (`engine.core.python_state`). When something that it uses has changed, it is traced again.
    """

    _now: Fetched | None = None
    _next: _Program | None = None
    _own: tuple[Any, Any] = None, None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._programs = _programs()

    def __copy__(self) -> Traced:
        made: Any = super().__copy__()
        # it goes to other points
        made._own = None, None
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_programs": _programs(), "_now": None, "_next": None, "_own": (None, None)}

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
        """Go to a point: by the program, or by Python."""
        self._now, self._next = None, None
        try:
            key = self._key(args, kwargs)
            program = self._programs.get(key)
            if isinstance(program, _Program) and program.state is not (does := self._does()) and program.state != does:
                program = None
        except (TypeError, Unknown):
            return super().evaluate(parts, args, kwargs)
        if program is None and not active.tapes and sum(p.size for p in parts) >= LARGE:
            # what would be computed by Python first and then by the program takes long
            program = self._traced(parts, args, kwargs) or "it is run each time"
            self._programs.put(key, program)
        if isinstance(program, _Program) and not active.tapes:
            self._last, self._next = (parts, args, kwargs), program
            return self._by_program()
        found = super().evaluate(parts, args, kwargs)
        if program is None or isinstance(program, int):
            nodes, count = self._tape.nodes, (program or 0) + 1
            pays = count >= _OFTEN or len(nodes) >= FEWEST or not all(are_plain(n.params) for n in nodes)
            # if a derivative is asked for here, it is made of the trace: nothing is made twice
            self._next = self._traced(parts, args, kwargs) if pays else None
            self._programs.put(key, self._next or ("it is run each time" if pays else count))
        return found

    def _does(self) -> Any:
        """All that the Python function sees, but for variables."""
        return (self.seen[0] if self.seen else state_of(self._function)).does[0]

    def _by_program(self) -> list[np.ndarray]:
        """Go to the point by the program."""
        program: Any = self._next
        parts, args, kwargs = self._last
        if self._own[0] is not program:
            # this thread's own: others may be elsewhere
            self._own = program, copy(program.fetched)
        self._now, self.pairs = self._own[1], program.pairs
        return self._now.evaluate(parts, [a._array for a in self._tensors(args, kwargs)], {})

    def _where(self) -> Fetched | None:
        """The program that gives derivatives at this point, if not the recording."""
        if self._now is None and self._next is not None and not active.tapes:
            self._by_program()
        return self._now

    def _tensors(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[EagerTensor]:
        """The arguments that are tensors to the function."""
        given = [self.argument(a) for a in (*args, *[kwargs[k] for k in sorted(kwargs)])]
        return [a for a in given if isinstance(a, EagerTensor)]

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A key that is equal for arguments that one program serves."""
        if not args and not kwargs:
            return (), ()
        described = []
        for a in (*args, *[kwargs[k] for k in sorted(kwargs)]):
            a = self.argument(a)
            described.append((a._array.shape, a._array.dtype) if isinstance(a, EagerTensor) else distinct(a))
        return tuple(described), tuple(sorted(kwargs))

    def _traced(self, parts: Sequence[np.ndarray], args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Program | None:
        """The function as a program, None if it cannot be one."""
        if active.function is not None:
            return None
        sources = self._placed(parts)
        given = {k: self.argument(a) for k, a in enumerate(args)} | {k: self.argument(a) for k, a in kwargs.items()}
        ordered = [given[k] for k in [*range(len(args)), *sorted(kwargs)]]
        arguments = [*sources, *[a for a in ordered if isinstance(a, EagerTensor)]]
        tape = FunctionTape()
        tape.watch_all(arguments)
        try:
            before = self._does()
            tape.start()
            try:
                with putting_off(tape):
                    results = self.called(sources, [given[k] for k in range(len(args))], {k: given[k] for k in kwargs})
            finally:
                tape.stop()
            if tape.drawn or tape.written or tape.made_variables or before != state_of(self._function).does[0]:
                return None
            if any(node.op.multi and node.op.simplify for node in tape.everything()):
                # a gradient of the user's own: a trace would do without it
                return None
            traced = TracedFunction(tape, arguments, results)
            if len(traced.symbols()[1]) != len(results):
                return None
            return _Program(traced, len(sources), list(self.pairs), before)
        except (Untraceable, Unknown, OpError, TypeError, ValueError):
            return None

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative at this point."""
        program = self._where()
        return (
            super().derived(make, options, sparsity, ends)
            if program is None
            else program.derived(make, options, sparsity, ends)
        )

    def weighted(self, make: Make, options: Options, weights: Sequence[Any]) -> Derived:
        """The same for the weighted sum."""
        program = self._where()
        return super().weighted(make, options, weights) if program is None else program.weighted(make, options, weights)

    def paths(self, target: int | None = None) -> Iterator[Path | None]:
        """The ways from points to the results; choices and loops that are ops in a program are known from there."""
        program = self._where()
        if program is None and self._decides() and (traced := self._traced(*self._last)) is not None:
            traced.fetched.evaluate(self._last[0], [a._array for a in self._tensors(*self._last[1:])], {})
            program = traced.fetched
        return super().paths(target) if program is None else program.paths(target)
