"""Unrolled steps become loops again: like statements that follow each other several times are written once.

Nothing is moved: the loop does what the statements did, one after the other. What a step leaves to the next one is
assigned to one name, what only one step needs keeps a name of its own, and what later statements read of every step is
collected in a list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.alignment import Aligned, Part, blocks, common, is_mixed, plain, renamed, replaced
from dualgrad.migrate.convert.repetition import through

LEAST = 3
"""How often something must be repeated to become a loop."""
LONGEST = 60
"""Statements in one step."""
WIDEST = 90
"""Characters in the head of a loop."""
MOST_TRIED = 100
"""How many stretches of repeated statements are tried, the longest first."""


@dataclass
class _Steps:
    """Statements `first` to `first + period * count` of a block: `count` steps of `period` statements."""

    block: list[Any]
    first: int
    period: int
    count: int
    lines: int = 0

    @property
    def last(self) -> int:
        return self.first + self.period * self.count

    def statements(self, step: int) -> list[Any]:
        at = self.first + step * self.period
        return self.block[at : at + self.period]


@dataclass
class _Columns:
    """The parts of the steps, each by its number in a step.

    Attributes
    ----------
    stored : dict
        Names that get a value in a step: by the name in the first step, the names in all.
    carried : dict
        Parts that are what the step before has stored, by number: that name in the first step.
    running : dict
        Parts that are something else in every step.
    """

    stored: dict[str, list[str]] = field(default_factory=dict)
    carried: dict[int, str] = field(default_factory=dict)
    running: dict[int, list[Part]] = field(default_factory=dict)


class Rolling:
    """Rolls the statements of one function up.

    Parameters
    ----------
    aligned : Aligned
    length : callable
        How many lines a statement takes.
    lists : mapping
        Names of lists at the top of the module, by the texts of their elements.
    free : callable
        Of a name and the names that the function has, one that is free.
    source : callable
        Of numbers, or the texts of variables, the list that they are the elements of.
    """

    def __init__(
        self, aligned: Aligned, length: Callable[[Any], int], lists: dict[tuple[str, ...], str],
        free: Callable[[str, set[str]], str], source: Callable[[tuple[Any, ...]], ast.expr],
    ) -> None:  # fmt: skip
        self._aligned, self._length, self._lists, self._free, self._listed = aligned, length, lists, free, source
        self._parameters: set[str] = set()

    def roll(self, statements: list[Any], parameters: Sequence[str]) -> list[Any]:
        """The statements of a function with loops, as long as there is something to gain."""
        for block in blocks(statements):
            for s in block:
                if isinstance(s.code, ast.FunctionDef):
                    s.code.body = self.roll(s.code.body, [a.arg for a in s.code.args.args])
        self._aligned.changed()
        self._parameters = set(parameters)
        for _ in range(100):
            tried = sorted(self._candidates(statements), key=lambda steps: -steps.lines)
            changed = next(
                (new for steps in tried[:MOST_TRIED] if (new := self._rolled(statements, steps)) is not None), None
            )
            if changed is None:
                return statements
            statements = changed
        return statements

    # ---- what is repeated --------------------------------------------------------------------------------------------

    def _candidates(self, statements: list[Any]) -> list[_Steps]:
        candidates = []
        for block in blocks(statements, inner=False):
            shapes = [self._aligned.shape(s) for s in block]
            lengths = [self._length(s) for s in block]
            for period in range(1, min(LONGEST, len(block) // LEAST) + 1):
                at = 0
                while at + period < len(block):
                    run = 0
                    while at + run + period < len(block) and shapes[at + run] == shapes[at + run + period]:
                        run += 1
                    for first in range(at, min(at + period, at + run + period - LEAST * period + 1)):
                        count = (run - (first - at)) // period + 1
                        if count >= LEAST and not any(
                            isinstance(s.code, ast.Return) for s in block[first : first + period]
                        ):
                            lines = sum(lengths[first + period : first + count * period])
                            candidates.append(_Steps(block, first, period, count, lines))
                    at += run + 1
        return candidates

    def _columns(self, steps: _Steps) -> _Columns | None:
        """The parts of the steps; None if the steps do not follow from each other."""
        rows = [self._aligned.all_parts(steps.statements(i)) for i in range(steps.count)]
        if is_mixed(rows[0]):
            return None
        columns = _Columns()
        # a name that every step uses alike means the same in a loop
        varied = [column for column in zip(*rows, strict=True) if len({p.value for p in column}) > 1]
        inside = {p.value for column in varied for p in column if p.is_store}
        known: set[str] = set()
        for number, column in enumerate(zip(*rows, strict=True)):
            first, values = column[0], [p.value for p in column]
            if len(set(values)) == 1 and values[0] not in inside:
                continue
            if not first.is_name:
                columns.running[number] = list(column)
            elif first.is_store:
                if columns.stored.setdefault(first.value, values) != values:
                    return None
                known.add(first.value)
            elif first.value in known:
                if columns.stored[first.value] != values:
                    return None
            elif inside.isdisjoint(values):
                columns.running[number] = list(column)
            else:
                columns.carried[number] = ""
        for number in columns.carried:
            values = [row[number].value for row in rows]
            source = next((n for n, names in columns.stored.items() if names[:-1] == values[1:]), None)
            if source is None or values[0] in inside:
                return None
            columns.carried[number] = source
        everywhere = [name for names in columns.stored.values() for name in names]
        # a name that is used for something else in the next step is no name of one value
        return columns if len(set(everywhere)) == len(everywhere) else None

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def _rolled(self, statements: list[Any], steps: _Steps) -> list[Any] | None:
        columns = self._columns(steps)
        if columns is None:
            return None
        after = self._read_after(statements, steps)
        initial: dict[str, str] = {}
        for number, source in columns.carried.items():
            value = self._aligned.all_parts(steps.statements(0))[number].value
            if initial.setdefault(source, value) != value:
                return None
        collected = [n for n, names in columns.stored.items() if not after.isdisjoint(names[:-1])]
        if any(n in after for s in steps.statements(0) for n in _inner(self._aligned.parts(s))):
            return None
        parts = self._aligned.all_parts(statements)
        stored = [p.value for p in parts if p.is_name and p.is_store and not p.is_inner]
        if any(stored.count(n) > 1 for names in columns.stored.values() for n in names):
            return None
        taken = {p.value for p in self._aligned.all_parts(statements) if p.is_name} | self._parameters
        return self._loop(statements, steps, columns, collected, initial, after, taken)

    def _read_after(self, statements: list[Any], steps: _Steps) -> set[str]:
        """The names that are read outside of the steps."""
        inside = {id(s) for s in steps.block[steps.first : steps.last]}
        read: set[str] = set()

        def walk(block: list[Any]) -> None:
            for s in block:
                if id(s) in inside:
                    continue
                if hasattr(s.code, "body") and any(s2 in inside for s2 in map(id, _below(s))):
                    walk(s.code.body)
                    head = Aligned().parts(type(s)(_headed(s.code)))
                    read.update(p.value for p in head if _is_read(p))
                else:
                    read.update(p.value for p in self._aligned.parts(s) if _is_read(p))

        walk(statements)
        return read

    def _runs(
        self, columns: _Columns, count: int, taken: set[str]
    ) -> tuple[dict[int, str], ast.expr, ast.expr] | None:  # fmt: skip
        """The names of what runs, by number of the part, the target of the loop, and what it runs through."""
        by_values: dict[tuple[Any, ...], list[Part]] = {}
        keys = {n: tuple([repr(p.value) for p in column]) for n, column in columns.running.items()}
        for number, column in columns.running.items():
            by_values.setdefault(keys[number], column)
        sources = [self._source(column, bool(columns.stored)) for column in by_values.values()]
        wanted = [_label(column, source) for column, source in zip(by_values.values(), sources, strict=True)]
        named = {key: self._new(name, taken) for key, name in zip(by_values, wanted, strict=True)}
        names = {number: named[key] for number, key in keys.items()}
        if not named:
            return names, ast.Name("_", ast.Store()), ast.Call(ast.Name("range"), [ast.Constant(count)], [])
        if len(named) == 2 and any(map(_is_count, sources)):
            if _is_count(sources[1]):
                named, sources = dict(reversed(named.items())), sources[::-1]
            sources = [ast.Call(ast.Name("enumerate"), sources[1:], [])]
        target, source = through(named, sources)
        return None if len(ast.unparse(source)) > WIDEST else (names, target, source)

    def _source(self, column: Sequence[Part], stores: bool) -> ast.expr:
        values = tuple([p.value for p in column])
        if stores and column[0].is_name and values not in self._lists:
            return ast.List([ast.Name(n) for n in values], ast.Load())
        return self._listed(values)

    def _new(self, wanted: str, taken: set[str]) -> str:
        name = self._free(wanted, taken)
        taken.add(name)
        return name

    def _loop(
        self, statements: list[Any], steps: _Steps, columns: _Columns, collected: Sequence[str],
        initial: dict[str, str], after: set[str], taken: set[str],
    ) -> list[Any] | None:  # fmt: skip
        first = steps.statements(0)
        runs = self._runs(columns, steps.count, taken)
        if runs is None:
            return None
        running, target, source = runs
        names = {n: self._new(common(every), taken) for n, every in columns.stored.items()}
        carried = {number: names[source] for number, source in columns.carried.items()}
        inside = replaced(
            first,
            lambda p, i: carried.get(i) or running.get(i) or (names.get(p.value, p.value) if p.is_name else p.value),
        )
        # what a step reads of the step before must not be overwritten before that
        if self._overwritten(first, columns):
            return None
        before: list[Any] = []
        later: dict[str, Any] = {}
        if initial:
            targets = [ast.Name(names[s], ast.Store()) for s in initial]
            values = [ast.Name(v) for v in initial.values()]
            one = len(targets) == 1
            code = ast.Assign(
                [targets[0] if one else ast.Tuple(list(targets), ast.Store())],
                values[0] if one else ast.Tuple(list(values), ast.Load()),
            )
            before.append(type(first[0])(code))
        for name in collected:
            all_of = self._new(f"all_{names[name]}", taken)
            before.append(type(first[0])(ast.Assign([ast.Name(all_of, ast.Store())], ast.List([], ast.Load()))))
            append = ast.Call(ast.Attribute(ast.Name(all_of), "append", ast.Load()), [ast.Name(names[name])], [])
            inside.append(type(first[0])(ast.Expr(append)))
            later |= _elements(all_of, columns.stored[name], after)
        lasts = {n: every[-1] for n, every in columns.stored.items() if n not in collected}
        later |= {last: ast.Name(names[n]) for n, last in lasts.items() if last in after}
        loop = type(first[0])(ast.For(target, source, inside, []), first[0].item)
        made = sum(map(self._length, [*before, loop]))
        if made >= steps.lines + sum(map(self._length, first)):
            return None
        return self._replace_steps(statements, steps, [*before, loop], later)

    def _overwritten(self, first: Sequence[Any], columns: _Columns) -> bool:
        stored: set[str] = set()
        for number, part in enumerate(self._aligned.all_parts(first)):
            if columns.carried.get(number) in stored:
                return True
            if part.is_store:
                stored.add(part.value)
        return False

    def _replace_steps(self, statements: list[Any], steps: _Steps, new: list[Any], later: dict[str, Any]) -> list[Any]:
        """The statements of the function with the steps replaced, and other names after them."""
        inside = {id(s) for s in steps.block[steps.first : steps.last]}

        def walk(block: list[Any]) -> list[Any]:
            order: list[Any] = []
            for s in block:
                if id(s) in inside:
                    if s is steps.block[steps.first]:
                        order += new
                elif hasattr(s.code, "body") and any(i in inside for i in map(id, _below(s))):
                    s.code.body = walk(s.code.body)
                    order.append(s)
                else:
                    touched = any(p.value in later for p in self._aligned.parts(s) if _is_read(p))
                    order += renamed([s], later) if touched else [s]
            return order

        made = walk(statements)
        self._aligned.changed()
        return made


def _label(column: Sequence[Part], source: ast.expr) -> str:
    """A name for what runs through a list: what its elements have in common, or one of what the list is called."""
    values = [p.value for p in column]
    if not column[0].is_name:
        return "i"
    listed = ast.unparse(source).rpartition(" ")[2]
    alike = common(values) != plain(values[-1]) or len(set(map(plain, values))) == 1
    return common(values) if alike or not listed.isidentifier() or listed[-1] != "s" else listed[:-1]


def _is_read(part: Part) -> bool:
    return part.is_name and not part.is_store and not part.is_inner


def _inner(parts: Sequence[Part]) -> list[str]:
    return [p.value for p in parts if p.is_store and p.is_inner]


def _is_count(source: ast.expr) -> bool:
    """Whether it is ``range(n)``."""
    return isinstance(source, ast.Call) and len(source.args) == 1


def _elements(name: str, names: Sequence[str], after: set[str]) -> dict[str, Any]:
    """The expressions that stand for the elements of a list from now on."""
    return {n: ast.Subscript(ast.Name(name), ast.Constant(i), ast.Load()) for i, n in enumerate(names) if n in after}


def _below(statement: Any) -> list[Any]:
    """The statements in a block, at any depth."""
    return [s for block in blocks(statement.code.body) for s in block]


def _headed(code: Any) -> ast.stmt:
    """The statement that a block begins with, alone."""
    if isinstance(code, ast.With):
        return ast.With(code.items, [])
    if isinstance(code, ast.For):
        return ast.For(code.target, code.iter, [], [])
    return ast.Pass()
