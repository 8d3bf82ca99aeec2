"""``break``, ``continue`` and ``return`` within branches and loops, as flags: what is left has one way through.

``if a: return x`` and what follows becomes ``if a: (result = x) else: (what follows)`` where the branch is certain to
jump, and ``if not (flags): (what follows)`` elsewhere. A loop ends where a flag says so: `goes_on` of a ``for``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dualgrad.autograph.analysis import CONTROL, inside

RESULT = "ag__result"
RETURNED = "ag__returned"


class _Block(NamedTuple):
    """Statements, the flags they may set, and whether one is certain to be set."""

    body: list[ast.stmt]
    flags: set[str]
    certain: bool


class _Loop(NamedTuple):
    """The flags of the loop around a statement."""

    broken: str
    skipped: str


def lowered(body: Sequence[ast.stmt], stays: Callable[[ast.stmt], bool]) -> list[ast.stmt]:
    """The body of a function without jumps, except in statements that stay as they are."""
    work = _Lowering(body, stays)
    if not work.returns:
        return work.block(body, None).body
    made = work.block([*body, ast.copy_location(ast.Return(None), body[-1])], None).body
    last = body[-1]
    first = [_set(RETURNED, ast.Constant(False), body[0])]
    end = ast.fix_missing_locations(ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), last))
    return [*first, *made, end]


class _Lowering:
    def __init__(self, body: Sequence[ast.stmt], stays: Callable[[ast.stmt], bool]) -> None:
        self.stays = stays
        self.count = 0
        self.returns = any(self._has_return(s) for s in body if not isinstance(s, ast.Return))

    def _has_return(self, s: ast.stmt) -> bool:
        """Whether there is a return in a branch or a loop that is rewritten."""
        if isinstance(s, CONTROL):
            return not self.stays(s) and any(isinstance(n, ast.Return) for n in inside(s))
        return isinstance(s, ast.With) and any(map(self._has_return, s.body))

    def block(self, body: Sequence[ast.stmt], loop: _Loop | None) -> _Block:
        """Some statements, one after the other."""
        done: list[ast.stmt] = []
        for i, s in enumerate(body):
            made, flags, certain = self.statement(s, loop)
            done += made
            if certain:
                return _Block(done, flags, True)
            rest = body[i + 1 :]
            if flags and rest:
                after = self.block(rest, loop)
                last = made[-1]
                branches = getattr(last, "ends", None)
                if branches and branches[0].certain and not branches[1].flags:
                    last.orelse += after.body  # type: ignore[attr-defined]
                elif branches and branches[1].certain and not branches[0].flags:
                    last.body += after.body  # type: ignore[attr-defined]
                else:
                    done.append(_if_not(flags, after.body, rest[0]))
                return _Block(done, flags | after.flags, after.certain)
            if flags:
                return _Block(done, flags, False)
        return _Block(done or [ast.Pass()], set(), False)

    def statement(self, s: ast.stmt, loop: _Loop | None) -> _Block:
        """One statement."""
        if isinstance(s, ast.Return) and self.returns:
            value = s.value or ast.Constant(None)
            return _Block([_set(RETURNED, ast.Constant(True), s), _set(RESULT, value, s)], {RETURNED}, True)
        if isinstance(s, ast.Return | ast.Raise):
            return _Block([s], set(), True)
        if isinstance(s, ast.Break | ast.Continue) and loop is not None:
            flag = loop.broken if isinstance(s, ast.Break) else loop.skipped
            return _Block([_set(flag, ast.Constant(True), s)], {flag}, True)
        if self.stays(s):
            return _Block([s], set(), False)
        if isinstance(s, ast.If):
            body, orelse = (
                self.block(s.body, loop),
                self.block(s.orelse, loop) if s.orelse else _Block([], set(), False),
            )
            s.body, s.orelse = body.body, orelse.body
            s.ends = body, orelse  # type: ignore[attr-defined]
            return _Block([s], body.flags | orelse.flags, body.certain and orelse.certain)
        if isinstance(s, ast.While | ast.For):
            return self._loop(s, loop)
        if isinstance(s, ast.With):
            inner = self.block(s.body, loop)
            s.body = inner.body
            return _Block([s], inner.flags, inner.certain)
        return _Block([s], set(), False)

    def _loop(self, s: ast.While | ast.For, around: _Loop | None) -> _Block:
        self.count += 1
        own = _Loop(f"ag__broken_{self.count}", f"ag__skipped_{self.count}")
        inner = self.block(s.body, own)
        before: list[ast.stmt] = []
        s.body = inner.body
        if own.skipped in inner.flags:
            s.body = [_set(own.skipped, ast.Constant(False), s.body[0]), *inner.body]
        ending = inner.flags - {own.skipped}
        if own.broken in ending:
            before.append(_set(own.broken, ast.Constant(False), s))
        if ending:
            going = _not(ending, s)
            if isinstance(s, ast.For):
                s.goes_on = going  # type: ignore[attr-defined]
            else:
                s.test = ast.copy_location(ast.BoolOp(ast.And(), [going, s.test]), s.test)
        outer, made = ending & {RETURNED}, [*before, s]
        orelse, s.orelse = s.orelse, []
        if orelse:
            after = self.block(orelse, around)
            made.append(_if_not(ending, after.body, orelse[0]) if ending else _always(after.body, orelse[0]))
            outer |= after.flags
        return _Block(made, outer, False)


def _set(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _not(flags: set[str], at: ast.AST) -> ast.expr:
    """``ag__.none(flag, ...)``: that no flag is set."""
    function = ast.Attribute(ast.Name("ag__", ast.Load()), "none", ast.Load())
    made = ast.Call(function, [ast.Name(f, ast.Load()) for f in sorted(flags)], [])
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _if_not(flags: set[str], body: list[ast.stmt], at: ast.AST) -> ast.stmt:
    made = ast.copy_location(ast.If(_not(flags, at), body, []), at)
    made.ends = _Block(body, set(), False), _Block([], set(), False)  # type: ignore[attr-defined]
    return made


def _always(body: list[ast.stmt], at: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.If(ast.Constant(True), body, []), at)
