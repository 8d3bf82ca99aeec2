"""The operators that a rewritten function calls: they find out whether Python runs a statement, or the program does.

A condition that is a Python value, or a tensor with contents, runs as Python would run it. Only a tensor whose contents
may not be looked at yet makes a branch or a loop of the program, by the front end's `cond` and `while_loop` (`Host`).
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dualgrad.autograph.host import Host, Thunk
from dualgrad.autograph.variables import (
    Encoded,
    Iterated,
    State,
    Undefined,
    encoded,
    mismatch,
    placeholders,
    require_defined,
    require_shapes,
)
from engine.core import nest
from engine.core.value import Value

_UNROLLED = 32
"""A loop that goes on as long as a constant tensor says is one of the program after so many turns."""
_MANY = 1 << 11
"""A loop over a range of Python's may be one of the program if it records so many operations step by step."""


class Local(NamedTuple):
    """Where in the user's program an operator was called."""

    file: str
    line: int


def _user(depth: int) -> Local:
    frame = sys._getframe(depth + 1)
    return Local(frame.f_code.co_filename, frame.f_lineno)


class Range(NamedTuple):
    """The numbers ``start, start + step, ...`` up to a limit, which are known when the program runs."""

    start: Any
    limit: Any
    step: Any
    ascends: bool


class Operators:
    """The object that rewritten code calls ``ag__``.

    Parameters
    ----------
    host : Host
    convert : callable
        ``convert(operators, f)`` is `f`, rewritten if it is one of the user's functions.
    """

    state = staticmethod(State)

    def __init__(self, host: Host, convert: Callable[[Operators, Any], Any]) -> None:
        self.host, self._convert = host, convert

    # ---- variables ---------------------------------------------------------------------------------------------------

    undefined = staticmethod(Undefined)
    ld = staticmethod(require_defined)

    @staticmethod
    def is_defined(value: Any) -> bool:
        """Whether a variable has a value."""
        return type(value) is not Undefined

    @staticmethod
    def read(get: Thunk, name: str) -> Any:
        """A variable that may not exist."""
        try:
            return get()
        except (NameError, AttributeError, KeyError, IndexError):
            return Undefined(name)

    def result(self, value: Any) -> Any:
        """The result of a function."""
        return None if type(value) is Undefined else value

    # ---- calls -------------------------------------------------------------------------------------------------------

    def call(self, f: Any) -> Any:
        """The function to call for `f`."""
        return self._convert(self, f)

    def iterated(self, f: Any) -> Any:
        """The function to call for `f`, which says what a loop goes over."""
        if f is not range and not self.host.is_range(f):
            return self.call(f)
        return lambda *args, **kwargs: (None if kwargs else self._range(args)) or self.call(f)(*args, **kwargs)

    def _range(self, args: Sequence[Any]) -> Range | None:
        """A range of integers whose length is not known, else None."""
        ends = [x for x in args[:2] if self.host.is_symbolic(x) and x.dtype.is_integer]
        step = args[2] if len(args) > 2 else 1
        if not ends or not isinstance(step, int) or not step:
            return None
        dtype = ends[0].dtype
        if any(not isinstance(x, int) and getattr(x, "dtype", None) is not dtype for x in args):
            return None
        first, limit = (0, args[0]) if len(args) == 1 else args[:2]
        return Range(
            self.host.tensor(first, dtype), self.host.tensor(limit, dtype), self.host.tensor(step, dtype), step > 0
        )

    # ---- choices -----------------------------------------------------------------------------------------------------

    def unrewritten(self, test: Any, why: str) -> Any:
        """The condition of what stays in Python."""
        if self.host.is_symbolic(test):
            self.host.refuse(f"{why}; write tf.cond, tf.while_loop or tf.where")
        return test

    def _barred(self, what: str, state: State) -> bool:
        """Whether something is no part of a program; the reason is noted."""
        bar = state.bar()
        if bar is not None:
            self.host.refuse(f"{bar[0]} in {what} that depends on a tensor (line {bar[1]}): {bar[2]}")
        return bar is not None

    def if_stmt(
        self, test: Any, body: Thunk, orelse: Thunk, state: State, count: int, leaves: Sequence[bool] = ()
    ) -> None:
        """``if test: body``, which assigns to the variables of a state; the first `count` are needed afterwards.

        `leaves` says which of both branches jump out: nobody reads there what they have not assigned.
        """
        where = state.place or _user(1)
        with self.host.apart(test, body, orelse) as (on_true, on_false):
            self._branched(test, on_true, on_false, state, count, leaves, where)

    def _branched(
        self, test: Any, body: Thunk, orelse: Thunk, state: State, count: int, leaves: Sequence[bool], where: Local
    ) -> None:
        """A branch, of the program or of Python."""
        if not self.host.is_symbolic(test) or self._barred("a branch", state):
            (body if self.host.truth(test) else orelse)()
            return
        start = state.get()
        # a result that one branch has may need a stand-in in the other one, which only the second try knows of
        known: list[Encoded] | None = None

        def spare(i: int, branch: int) -> bool:
            return state.is_result(i) or bool(leaves and leaves[branch])

        for _ in range(2):
            seen: list[tuple[str, Any]] = []
            error: list[Exception] = []

            def branch(label: str, function: Thunk, known: Any = known, seen: Any = seen, error: Any = error) -> Thunk:
                def run() -> Any:
                    seen.append((label, None))
                    state.set(start)
                    function()
                    made = [encoded(self.host, x) for x in state.get()[:count]]
                    other = known or next((x for other, x in seen if x is not None and other != label), None)
                    try:
                        leaves = self._aligned(made, other, state, label, where)
                    except Exception as e:
                        error.append(e)
                        raise
                    seen.append((label, made))
                    return leaves or [self.host.tensor(True)]

                return run

            outputs = self.host.cond(test, branch("body", body), branch("else branch", orelse))
            if error:
                raise error[0]
            if [label for label, _ in seen] != ["body", "body", "else branch", "else branch"]:
                # the front end ran one as Python
                return
            made, other = seen[1][1], seen[3][1]
            lacking = [i for i in range(count) if made[i].is_undefined and other[i].leaves and spare(i, 0)]
            if known is not None or not lacking:
                break
            known = [o if i in lacking else m for i, (m, o) in enumerate(zip(made, other, strict=True))]
        state.set([*self._merged(made, other, outputs, state, spare, where), *start[count:]])

    def _aligned(
        self, made: list[Encoded], other: list[Encoded] | None, state: State, label: str, where: Local
    ) -> list[Any]:
        """The leaves that a branch returns, like those of the other branch."""
        if other is None:
            return [leaf for m in made for leaf in m.leaves]
        leaves: list[Any] = []
        for i, (m, o) in enumerate(zip(made, other, strict=True)):
            if not o.leaves:
                if m.leaves and not o.is_undefined and not m.is_equal(o):
                    raise mismatch(state.names[i], o, m, ("body", label), where)
                continue
            if m.leaves:
                if not m.is_like(o):
                    raise mismatch(state.names[i], o, m, ("body", label), where)
                leaves += m.leaves
            elif m.is_undefined:
                leaves += placeholders(self.host, o)
            else:
                raise mismatch(state.names[i], o, m, ("body", label), where)
        return leaves

    def _merged(
        self, made: list[Encoded], other: list[Encoded], outputs: Any, state: State,
        spare: Callable[[int, int], bool], where: Local,
    ) -> list[Any]:  # fmt: skip
        """The variables after both branches."""
        left, merged = iter(nest.flatten(outputs)), []
        for i, (m, o) in enumerate(zip(made, other, strict=True)):
            lacking = m.is_undefined or o.is_undefined
            spared = lacking and spare(i, 0 if m.is_undefined else 1)
            stands = m if m.leaves else o if m.is_undefined and o.leaves and spared else None
            values = [next(left) for _ in stands.leaves] if stands is not None else []
            if m.is_undefined and o.is_undefined:
                merged.append(m.value)
            elif lacking and not spared:
                lacks = "body" if m.is_undefined else "else branch"
                said = f"`{state.names[i]}` has no value in the {lacks} of the `if` at line {where.line}"
                merged.append(Undefined(state.names[i], f"{said}; it must be given one in both branches, or before"))
            elif m.is_equal(o):
                merged.append(m.value)
            elif stands is not None:
                merged.append(stands.packed(values))
            elif spared:
                merged.append(o.value if m.is_undefined else m.value)
            else:
                raise mismatch(state.names[i], m, o, ("body", "else branch"), where)
        return merged

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk) -> Any:
        """``body if test else orelse``."""
        if not self.host.is_symbolic(test):
            with self.host.apart(test, body, orelse) as (on_true, on_false):
                return on_true() if self.host.truth(test) else on_false()
        return self._chosen(test, body, orelse, _user(1))

    def _chosen(self, test: Any, body: Thunk, orelse: Thunk, where: Local) -> Any:
        cell: list[Any] = [None]
        state = State(("the value",), lambda: tuple(cell), lambda values: cell.__setitem__(0, values[0]), ())
        self.if_stmt(
            test, lambda: cell.__setitem__(0, body()), lambda: cell.__setitem__(0, orelse()), state.at(where), 1
        )
        return cell[0]

    def and_(self, *parts: Thunk) -> Any:
        """``a and b``."""
        value = parts[0]()
        for i, part in enumerate(parts[1:]):
            if self.host.is_symbolic(value):
                return self._chosen(value, partial(self.and_, *parts[i + 1 :]), partial(_itself, value), _user(1))
            if not self.host.truth(value):
                return value
            with self.host.apart(value, part) as (other,):
                value = other()
        return value

    def or_(self, *parts: Thunk) -> Any:
        """``a or b``."""
        value = parts[0]()
        for i, part in enumerate(parts[1:]):
            if self.host.is_symbolic(value):
                return self._chosen(value, partial(_itself, value), partial(self.or_, *parts[i + 1 :]), _user(1))
            if self.host.truth(value):
                return value
            with self.host.apart(value, part) as (other,):
                value = other()
        return value

    def not_(self, value: Any) -> Any:
        """``not a``."""
        return self.host.logical_not(value) if self.host.is_symbolic(value) else not self.host.truth(value)

    def none(self, *flags: Any) -> Any:
        """That no flag is set."""
        left = [f for f in flags if isinstance(f, Value) or f]
        if any(not isinstance(f, Value) for f in left):
            return False
        return self.and_(*[partial(self.not_, f) for f in left]) if left else True

    def chain(self, first: Any, *rest: Any) -> Any:
        """``a < b < c``: names of comparisons, and functions that give the operands."""
        second = rest[1]()
        value = getattr(self, rest[0])(first, second) if rest[0] in ("eq", "ne") else _compare(rest[0], first, second)
        if len(rest) == 2:
            return value
        return self.and_(lambda: value, lambda: self.chain(second, *rest[2:]))

    def eq(self, a: Any, b: Any) -> Any:
        """``a == b``."""
        return self.host.equal(a, b) if self._are_compared(a, b) else a == b

    def ne(self, a: Any, b: Any) -> Any:
        """``a != b``."""
        return self.not_(self.host.equal(a, b)) if self._are_compared(a, b) else a != b

    def _are_compared(self, a: Any, b: Any) -> bool:
        """Whether there is a tensor among two values that can be compared element by element."""
        if not (self.host.is_symbolic(a) or self.host.is_symbolic(b)):
            return False
        return all(isinstance(x, (Value, int, float, complex, np.generic, np.ndarray)) for x in (a, b))

    def assert_stmt(self, test: Any, message: Thunk | None = None) -> None:
        """``assert test, message``."""
        if self.host.is_symbolic(test):
            self.host.holds(test, str(message()) if message else "assertion failed")
        elif not self.host.truth(test):
            raise AssertionError(*[message()] if message else [])

    # ---- loops -------------------------------------------------------------------------------------------------------

    def while_stmt(self, test: Thunk, body: Thunk, state: State, options: Thunk | None) -> None:
        """``while test(): body()``."""
        where, goes_on = _user(1), test()
        with self.host.apart(goes_on, test, body) as (again, turn):
            self._while(goes_on, again, turn, state, options, where)

    def _while(self, goes_on: Any, test: Thunk, body: Thunk, state: State, options: Thunk | None, where: Local) -> None:
        """A loop that goes on as long as a condition holds, whose value is known for the first turn."""
        for turn in itertools.count():
            if turn:
                goes_on = test()
            if self.host.is_symbolic(goes_on):
                if not self._barred("a loop", state) and self._looped(test, body, state, options, where):
                    return
            elif (
                turn == _UNROLLED
                and self.host.is_recorded(goes_on)
                and state.bar() is None
                # of constants: Python can go on if it changes shapes, say
                and self._looped(test, body, state, options, where, is_needed=False)
            ):
                return
            if not self.host.truth(goes_on, loop=True):
                return
            body()

    def _looped(
        self, test: Thunk, body: Thunk, state: State, options: Thunk | None, where: Local, is_needed: bool = True
    ) -> bool:
        """A loop of the program; False if Python has to run it, which is no error unless it is needed."""
        said = dict(options()) if options else {}
        loop = _Loop(self.host, state, state.get(), where)
        if not loop.find(body):
            return False

        def run(*leaves: Any) -> list[Any]:
            loop.enter(leaves)
            body()
            return loop.leaves()

        def goes_on(*leaves: Any) -> Any:
            loop.enter(leaves)
            return test()

        invariants = loop.invariants(said.get("shape_invariants"))
        limit = said.get("maximum_iterations")
        return loop.run(lambda: self.host.while_loop(goes_on, run, loop.initial(), invariants, limit), is_needed)

    def for_stmt(
        self, iterated: Any, more: Thunk | None, body: Callable[[Any], None], state: State, options: Thunk | None
    ) -> None:
        """``for item in iterated: body(item)``, while ``more()``."""
        where = _user(1)
        with self.host.apart(iterated.start if type(iterated) is Range else iterated, body) as (turn,):
            self._for(iterated, more, turn, state, options, where)

    def _for(
        self, iterated: Any, more: Thunk | None, body: Callable[[Any], None], state: State, options: Thunk | None,
        where: Local,
    ) -> None:  # fmt: skip
        """A loop over items, of the program or of Python."""
        if type(iterated) is Range:
            if state.bar() is None and self._over_range(iterated, more, body, state, options, where):
                return
            iterated = self.host.range_of(iterated.start, iterated.limit, iterated.step)
        elif self.host.loops_over(iterated) and self._over_rows(iterated, more, body, state, options, where):
            return
        elif type(iterated) is range and more is None and len(iterated) > _UNROLLED and state.bar() is None:
            iterated = self._rest(iterated, body, state, where)
        self._in_python(iterated, more, body, state, where)

    def _rest(self, numbers: range, body: Callable[[Any], None], state: State, where: Local) -> range:
        """The numbers that are left to Python of a range: the first one shows what a step is, which may be a loop's."""
        before = self.host.recorded()
        body(numbers[0])
        left, values = numbers[1:], state.get()
        if (self.host.recorded() - before) * len(left) < _MANY or {isinstance(x, Value) for x in values} != {True}:
            return left
        loop = _Loop(self.host, state, values, where)

        def step(number: Any, *leaves: Any) -> list[Any]:
            loop.enter(leaves)
            body(number)
            return loop.leaves()

        outputs = self.host.rolled(step, left, loop.initial(), body)
        state.set(values if outputs is None else outputs)
        return left if outputs is None else numbers[:0]

    def _in_python(
        self, iterated: Any, more: Thunk | None, body: Callable[[Any], None], state: State, where: Local
    ) -> None:
        for item in self.host.unstack(iterated) if isinstance(iterated, Value) else iterated:
            goes_on = True if more is None else more()
            if self.host.is_symbolic(goes_on):
                count = len(state.names)
                self.if_stmt(goes_on, partial(body, item), lambda: None, state.at(where), count)
            elif goes_on:
                body(item)
            else:
                return

    def _over_rows(
        self, rows: Any, more: Thunk | None, body: Callable[[Any], None], state: State, options: Thunk | None,
        where: Local,
    ) -> bool:  # fmt: skip
        """A loop of the program over the rows of a tensor; False if Python has to run it."""
        if state.bar() is not None and self.host.length(rows) is not None:
            return False
        # Python can go through rows of a known number
        is_needed = self.host.length(rows) is None
        if more is None and options is None and state.is_plain(self.host):
            return self._scanned(rows, body, state, where, is_needed)
        numbers = Range(self.host.tensor(0), self.host.size(rows), self.host.tensor(1), True)
        return self._over_range(numbers, more, lambda i: body(rows[i]), state, options, where, is_needed)

    def _over_range(
        self, over: Range, more: Thunk | None, body: Callable[[Any], None], state: State, options: Thunk | None,
        where: Local, is_needed: bool = True,
    ) -> bool:  # fmt: skip
        """A loop of the program over numbers; False if Python has to run it."""
        position: list[Any] = [over.start]
        inner = State(
            ("the iteration", *state.names),
            lambda: (position[0], *state.get()),
            lambda values: (position.__setitem__(0, values[0]), state.set(values[1:]))[1],
        )

        def goes_on() -> Any:
            left = position[0] < over.limit if over.ascends else position[0] > over.limit
            return left if more is None else self.and_(lambda: left, more)

        def step() -> None:
            body(position[0])
            position[0] = position[0] + over.step

        return self._looped(goes_on, step, inner, options, where, is_needed)

    def _scanned(self, rows: Any, body: Callable[[Any], None], state: State, where: Local, is_needed: bool) -> bool:
        """A loop over rows that has no other end."""
        loop = _Loop(self.host, state, state.get(), where)
        if not loop.find(lambda: body(rows[0])):
            return False

        def step(leaves: Any, row: Any) -> Any:
            loop.enter(leaves)
            body(row)
            return loop.leaves()

        return loop.run(lambda: self.host.scanned(step, loop.initial(), rows), is_needed)


class _Loop:
    """The variables of a loop of the program.

    One that has no value before the loop enters it as zeros, which nobody reads: an error is raised, when the program
    runs, if there was no iteration that gave it a value.
    """

    def __init__(self, host: Host, state: State, start: Sequence[Any], where: Local) -> None:
        self.host, self.state, self.where = host, state, where
        self.start = [encoded(host, x) for x in start]
        self.values = list(start)
        self.error: Exception | None = None
        self.filled: list[int] = []
        self.entered: list[Any] = []

    def run(self, loop: Thunk, is_needed: bool) -> bool:
        """Call the function of the front end; False, and nothing done, if the variables do not stay what they are.

        That is an error where the loop is needed.
        """
        try:
            outputs = loop()
        except Exception as error:
            if is_needed or error is not self.error:
                raise
        if self.error is not None:
            self.state.set(self.values)
            if is_needed:
                raise self.error
            return False
        self.leave(outputs)
        return True

    def find(self, body: Thunk) -> bool:
        """Give variables that have no value yet a stand-in, like what an iteration gives them; False if that fails."""
        lacking = [i for i, e in enumerate(self.start) if e.is_undefined]
        if not lacking:
            return True
        found: list[list[Encoded]] = []

        def look() -> None:
            self.state.set(self.values)
            body()
            found.append([encoded(self.host, x) for x in self.state.get()])

        done = self.host.tried(look)
        self.state.set(self.values)
        if not done:
            return False
        for i in lacking:
            after = found[-1][i]
            if after.leaves:
                self.start[i] = after.packed_as(placeholders(self.host, after))
                self.filled.append(i)
        return True

    @property
    def _is_flagged(self) -> bool:
        """Whether a leaf more says that there was an iteration."""
        return bool(self.filled) or not any(e.leaves for e in self.start)

    def initial(self) -> list[Any]:
        """The leaves that enter the loop; there is one at least."""
        return [*[x for e in self.start for x in e.leaves], *([self.host.tensor(False)] if self._is_flagged else ())]

    def enter(self, leaves: Sequence[Any]) -> None:
        """Set the variables to what an iteration is given."""
        self.entered = list(leaves)
        left = iter(leaves)
        self.state.set([e.packed([next(left) for _ in e.leaves]) if e.leaves else e.value for e in self.start])

    def leaves(self) -> list[Any]:
        """The leaves that an iteration gives the next one."""
        made: list[Any] = []
        entered = iter(self.entered)
        try:
            for name, before, x in zip(self.state.names, self.start, self.state.get(), strict=True):
                after = encoded(self.host, x)
                own = [next(entered) for _ in before.leaves]
                if before.is_undefined:
                    continue
                if not (after.is_like(before) if before.leaves else after.is_equal(before)):
                    raise mismatch(name, before, after, ("loop", "iteration"), self.where)
                require_shapes(name, own, after.leaves if before.leaves else (), self.where)
                made += after.leaves if before.leaves else []
        except Exception as error:
            self.error = error
            raise
        return [*made, *([self.host.tensor(True)] if self._is_flagged else ())]

    def invariants(self, said: Any) -> list[Any] | None:
        """The shapes that leaves have in all iterations, where they are told."""
        if said is None:
            return None
        shapes: list[Any] = []
        for value, e in zip(self.values, self.start, strict=True):
            told = next((s for x, s in said if x is value), None)
            shapes += [told if told is not None else x.shape for x in e.leaves]
        return [*shapes, *([()] if self._is_flagged else ())]

    def leave(self, outputs: Any) -> None:
        """Set the variables to what the loop gave."""
        leaves = nest.flatten(outputs)
        self.enter(leaves)
        values = list(self.state.get())
        for i, e in enumerate(self.start):
            name = self.state.names[i]
            why = f"`{name}` has no value before the loop at line {self.where.line}, and is given one in the loop only"
            if e.is_undefined:
                values[i] = Undefined(name, why)
            elif i in self.filled and not self.state.is_result(i):
                check = Iterated(f"{self.where.file}, line {self.where.line}: {why}; there was no iteration")
                values[i] = nest.map_structure(lambda x, c=check: self.host.checked(x, leaves[-1], c), values[i])
        self.state.set(values)


def _itself(value: Any) -> Any:
    return value


def _compare(name: str, a: Any, b: Any) -> Any:
    if name == "in_":
        return a in b
    return a not in b if name == "not_in" else getattr(operator, name)(a, b)
