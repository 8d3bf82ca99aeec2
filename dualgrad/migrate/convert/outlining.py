"""Statements that functions have in common become functions of their own, with what differs as parameters.

What is written twice need not be the same part of the graph: copies of a network with other variables, two losses of
one form. Only statements that follow each other are taken out, so everything is computed in the order in which it was.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.alignment import BLOCKS, Aligned, Part, blocks, bodies, common, is_mixed, replaced

MOST_PARAMETERS = 9
MOST_RESULTS = 6
LONGEST = 80
"""Statements that are looked at together."""
LEAST = 2
"""Lines that a function must save."""


@dataclass
class _Window:
    """Statements `first` to `first + size` of a block, in the `body` of a function or of one inside of it."""

    function: Any
    body: list[Any]
    block: list[Any]
    first: int
    size: int

    @property
    def statements(self) -> list[Any]:
        return self.block[self.first : self.first + self.size]


@dataclass
class _Common:
    """Windows of one shape, and what becomes of them.

    Attributes
    ----------
    running : dict
        The parts that differ and are no names that the window gives: what they are in each window, by number.
    fixed : set
        Names at the top of the module that all windows use alike.
    results : list
        What is read after some window: the name in the first one.
    stored : dict
        Names that get a value: by the name in the first window, the names in all.
    """

    windows: list[_Window]
    running: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    stored: dict[str, list[str]] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    read: list[set[str]] = field(default_factory=list)
    gain: int = 0


class Outlining:
    """Takes common statements out of the functions of a module.

    Parameters
    ----------
    aligned : Aligned
    length : callable
        How many lines a statement takes.
    free : callable
        Of a name and the names that a function has, one that is free there.
    named : callable
        Of statements and what they give, a name for a function of them.
    made : callable
        Of a name, parameters and statements, the function.
    maker : callable
        Of a statement, the name of the program's function that made it.
    line : callable
        Of a statement, the line of the program that made it, and whether that ends its function.
    """

    def __init__(
        self, aligned: Aligned, length: Callable[[Any], int], free: Callable[[str, set[str]], str],
        named: Callable[[Sequence[Any], Sequence[str], Sequence[Any]], str],
        made: Callable[[str, list[str], list[Any]], Any], maker: Callable[[Any], str | None],
        line: Callable[[Any], tuple[int, bool]],
    ) -> None:  # fmt: skip
        self._aligned, self._length, self._free, self._named, self._made = aligned, length, free, named, made
        self._maker, self._line = maker, line

    def outline(self, functions: list[Any]) -> None:
        """Take out what pays, the longest first; new functions stand before the first that calls them."""
        for _ in range(60):
            best = self._best(functions)
            if best is None:
                return
            self._take_out(best, functions)
            self._aligned.changed()

    # ---- what is common ----------------------------------------------------------------------------------------------

    def _best(self, functions: Sequence[Any]) -> _Common | None:
        every = [(f, body, b) for f in functions for body in bodies(f.statements) for b in blocks(body, inner=False)]
        # two functions of the program that do the same are two
        shapes = {id(block): [(self._aligned.shape(s), self._maker(s)) for s in block] for _, _, block in every}
        lengths = {id(block): [self._length(s) for s in block] for _, _, block in every}
        groups: dict[Any, list[_Window]] = {}
        for f, body, block in every:
            for i, shape in enumerate(shapes[id(block)]):
                groups.setdefault(shape, []).append(_Window(f, body, block, i, 1))
        tried: list[tuple[int, int, list[_Window], int]] = []
        size = 1
        while groups and size <= LONGEST:
            groups = {key: windows for key, windows in groups.items() if len(windows) > 1}
            for windows in groups.values():
                first = windows[0]
                lines = sum(lengths[id(first.block)][first.first : first.first + size])
                most = (len(windows) - 1) * lines - len(windows) - 1 + self._worth(windows)
                if most >= LEAST and not (size == 1 and _is_call(first.statements[0].code)):
                    tried.append((-most, len(tried), windows, lines))
            longer: dict[Any, list[_Window]] = {}
            for key, windows in groups.items():
                for w in windows:
                    end = w.first + size
                    if end < len(w.block):
                        longer.setdefault((key, shapes[id(w.block)][end]), []).append(
                            _Window(w.function, w.body, w.block, w.first, size + 1)
                        )
            groups = dict(enumerate(longer.values()))
            size += 1
        return self._most(sorted(tried, key=lambda t: t[:2]))

    def _most(self, tried: Sequence[tuple[int, int, list[_Window], int]]) -> _Common | None:
        """The common part with which most is gained, of those the first; they come with what is gained at most."""
        best: tuple[int, int, _Common | None] = (1 - LEAST, 0, None)
        for most, number, windows, lines in tried:
            if most > best[0]:
                break
            common = self._common(_apart(windows), lines)
            if common is not None and (-common.gain, number) < best[:2]:
                best = -common.gain, number, common
        return best[2]

    def _common(self, windows: list[_Window], lines: int) -> _Common | None:
        """The common part of windows of one shape: the most of them that give and use names alike."""
        by_form: dict[Any, list[_Window]] = {}
        for w in windows:
            by_form.setdefault(self._form(w), []).append(w)
        windows = max(by_form.values(), key=len)
        if len(windows) < 2:
            return None
        common = _Common(windows)
        rows = [self._aligned.all_parts(w.statements) for w in windows]
        own_names = {id(f): _locals(f, self._aligned) for f in {id(w.function): w.function for w in windows}.values()}
        locals_ = [own_names[id(w.function)] for w in windows]
        assigned: set[str] = set()
        for number, column in enumerate(zip(*rows, strict=True)):
            first = column[0]
            if first.is_name and first.is_store:
                common.stored.setdefault(first.value, [p.value for p in column])
                assigned.add(first.value)
            elif first.is_name and first.value in assigned:
                continue
            elif (first.is_name and any(p.value in own for p, own in zip(column, locals_, strict=True))) or len(
                {repr(p.value) for p in column}
            ) > 1:
                common.running[number] = column
        returns = isinstance(windows[0].statements[-1].code, ast.Return)
        common.read = [self._read_outside(w) for w in windows]
        inner = {p.value for row in rows[:1] for p in row if p.is_store and p.is_inner}
        for name, names in common.stored.items():
            if any(n in read for n, read in zip(names, common.read, strict=True)):
                if name in inner or returns:
                    return None
                common.results.append(name)
        columns = {tuple(repr(p.value) for p in column): column for column in common.running.values()}
        if len(columns) > MOST_PARAMETERS or len(common.results) > MOST_RESULTS:
            return None
        calls = [
            ast.Call(ast.Name("a" * 20), [_expression(c[i]) for c in columns.values()], []) for i in range(len(windows))
        ]
        call = sum(
            self._length(self._called(call, common, i, w))
            for i, (call, w) in enumerate(zip(calls, windows, strict=True))
        )
        head = 1 + (0 if returns or not common.results or self._ends_with(windows[0], common.results) else 1)
        common.gain = (len(windows) - 1) * lines - call - head + self._worth(windows)
        return common

    def _worth(self, windows: Sequence[_Window]) -> int:
        """The lines that a call may cost, since the program has a function there, too."""
        return len(windows) if self._whole_maker(windows) is not None else 0

    def _whole_maker(self, windows: Sequence[_Window]) -> str | None:
        """The program's function of which each window is a whole call; None if there is no such."""
        makers = {self._maker(s) for s in windows[0].statements}
        return makers.pop() if len(makers) == 1 and all(map(self._is_whole, windows)) else None

    def _is_whole(self, window: _Window) -> bool:
        """Whether it goes to the end of the program's function, and nothing beside it is of the same call."""
        first, last = window.statements[0], window.statements[-1]
        before, after = window.block[: window.first][-1:], window.block[window.first + window.size :][:1]
        same = any(self._maker(s) == self._maker(first) and self._line(s)[0] < self._line(first)[0] for s in before)
        same |= any(self._maker(s) == self._maker(last) and self._line(s)[0] > self._line(last)[0] for s in after)
        return self._line(last)[1] and not same

    def _form(self, window: _Window) -> Hashable:
        """Which of the parts are the same name that the window gives, in the order of the parts."""
        numbers: dict[str, int] = {}
        form: list[int] = []
        parts = self._aligned.all_parts(window.statements)
        for part in parts:
            if part.is_name and part.is_store:
                form.append(numbers.setdefault(part.value, len(numbers)))
            else:
                form.append(numbers.get(part.value, -1) if part.is_name else -1)
        # a name that is read before it gets another value is two things under one name
        return (*form, self._is_reassigned(window, parts))

    @staticmethod
    def _is_reassigned(window: _Window, parts: Sequence[Part]) -> Hashable:
        read: set[str] = set()
        assigned: set[str] = set()
        if is_mixed(parts):
            return id(window)
        for part in parts:
            if part.is_name and part.is_store and part.value in read - assigned:
                return id(window)
            if part.is_name:
                (assigned if part.is_store else read).add(part.value)
        return None

    def _read_outside(self, window: _Window) -> set[str]:
        """The names whose values something behind a window reads; in a loop, also what comes before it."""
        parts = self._aligned.all_parts(window.body)
        start, loop = self._place(window.body, window, 0, None) or (0, None)
        end = start + len(self._aligned.all_parts(window.statements))
        read = _read_first(parts[end:])
        return read if loop is None else read | _read_first(parts[loop:start])

    def _place(self, block: list[Any], window: _Window, at: int, loop: int | None) -> tuple[int, int | None] | None:
        """The number of the first part of a window, and of the first of the outermost loop that it is in."""
        for i, s in enumerate(block):
            if block is window.block and i == window.first:
                return at, loop
            count = len(self._aligned.parts(s))
            if isinstance(s.code, BLOCKS):
                inside = s.code.body
                first = at + count - len(self._aligned.all_parts(inside))
                around = at if loop is None and isinstance(s.code, ast.For) else loop
                found = self._place(inside, window, first, around)
                if found is not None:
                    return found
            at += count
        return None

    def _ends_with(self, window: _Window, results: Sequence[str]) -> bool:
        """Whether the last statement gives the only result."""
        last = window.statements[-1].code
        return (
            len(results) == 1
            and isinstance(last, ast.Assign)
            and isinstance(last.targets[0], ast.Name)
            and last.targets[0].id == results[0]
        )

    # ---- the function ------------------------------------------------------------------------------------------------

    def _take_out(self, common_: _Common, functions: list[Any]) -> None:
        windows = common_.windows
        first = windows[0]
        is_own = self._own_numbers(first)
        parts = self._aligned.all_parts(first.statements)
        left = {n: p for n, p in enumerate(parts) if p.is_name and n not in is_own and n not in common_.running}
        taken = {p.value for p in left.values()}
        parameters: dict[tuple[str, ...], str] = {}
        columns: dict[tuple[str, ...], tuple[Part, ...]] = {}
        names: dict[int, str] = {}
        for number, column in common_.running.items():
            key = tuple(repr(p.value) for p in column)
            if key not in parameters:
                wanted = (
                    common([p.value for p in column])
                    if column[0].is_name
                    else "size"
                    if _are_ints(column)
                    else "factor"
                )
                parameters[key] = self._free(wanted, taken)
                taken.add(parameters[key])
                columns[key] = column
            names[number] = parameters[key]
        own: dict[str, str] = {}
        for name, every in common_.stored.items():
            own[name] = "_" if name == "_" else self._free(common(every), taken)
            taken.add(own[name])

        def value(part: Part, number: int) -> Any:
            if number in names:
                return names[number]
            return own[part.value] if part.is_name and number in is_own else part.value

        body = replaced(first.statements, value)
        results = [own[name] for name in common_.results]
        if results and self._ends_with(first, common_.results):
            body[-1].code = ast.Return(body[-1].code.value)
        elif results:
            body.append(type(body[0])(ast.Return(_one_or_all([ast.Name(r) for r in results]))))
        name = self._named(first.statements, results, [w.function for w in windows])
        for i, window in enumerate(windows):
            arguments = [_expression(column[i]) for column in columns.values()]
            call = ast.Call(ast.Name(name), arguments, [])
            window.block[window.first : window.first + window.size] = [self._called(call, common_, i, window)]
            # the windows behind it in the same block move
            for other in windows:
                if other.block is window.block and other.first > window.first:
                    other.first -= window.size - 1
        users = [n for n, f in enumerate(functions) if any(f is w.function for w in windows)]
        functions.insert(min(users), self._made(name, list(parameters.values()), body))

    def _own_numbers(self, window: _Window) -> set[int]:
        """The parts that are names which the window gives."""
        assigned: set[str] = set()
        numbers = set()
        for number, part in enumerate(self._aligned.all_parts(window.statements)):
            if part.is_name and part.is_store:
                assigned.add(part.value)
            if part.is_name and part.value in assigned:
                numbers.add(number)
        return numbers

    def _called(self, call: ast.expr, common_: _Common, number: int, window: _Window) -> Any:
        kind = type(window.statements[0])
        if isinstance(window.statements[-1].code, ast.Return):
            return kind(ast.Return(call))
        names = [common_.stored[r][number] for r in common_.results]
        if not names:
            return kind(ast.Expr(call))
        read = common_.read[number]
        targets: list[ast.expr] = [ast.Name(n if n in read else "_", ast.Store()) for n in names]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        return kind(ast.Assign([target], call))


def _read_first(parts: Sequence[Part]) -> set[str]:
    """The names that are read before they get another value."""
    assigned: set[str] = set()
    read: set[str] = set()
    for part in parts:
        if part.is_inner:
            continue
        if part.is_name and part.is_store:
            assigned.add(part.value)
        elif part.is_name and part.value not in assigned:
            read.add(part.value)
    return read


def _is_call(code: ast.stmt) -> bool:
    """Whether a statement only calls a function of the module."""
    value = getattr(code, "value", None)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name)


def _apart(windows: Sequence[_Window]) -> list[_Window]:
    """The windows without those that begin before the one before has ended."""
    apart: list[_Window] = []
    for w in sorted(windows, key=lambda w: (id(w.block), w.first)):
        if not apart or apart[-1].block is not w.block or apart[-1].first + w.size <= w.first:
            apart.append(w)
    order = {id(w): i for i, w in enumerate(windows)}
    return sorted(apart, key=lambda w: order[id(w)])


def _locals(function: Any, aligned: Aligned) -> set[str]:
    """The names of a function's own."""
    own = {name for name, _ in function.parameters}
    return own | {p.value for p in aligned.all_parts(function.statements) if p.is_name and p.is_store}


def _are_ints(column: Sequence[Part]) -> bool:
    return all(type(p.value) is int for p in column)


def _expression(part: Part) -> ast.expr:
    return ast.Name(part.value) if part.is_name else ast.Constant(part.value)


def _one_or_all(values: list[Any]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
