"""Which regular expressions may be run on strings of a length: Python's engine tries again where RE2's does not.

TensorFlow's engine needs time in proportion to the string. Python's goes back to each place where it had a choice, so a
pattern from a file can take for ever on a short string (``(a+)+b``). Here the choices are counted that the next byte
does not settle [1]_; a pattern and a string for which they may multiply to too much are refused.

References
----------
.. [1] A. Brüggemann-Klein, D. Wood, "One-unambiguous regular languages", Information and Computation 142 (1998).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from engine.runtime.cache import cached
from engine.runtime.errors import InvalidArgumentError

_MOST_STEPS, _MOST_CHOICES = 4e9, 5e8
"""The work that Python's engine does in some seconds: to go over bytes, to try the next choice."""
_MANY = 64
"""Repeats up to so often are counted, those that may be more often are taken to be without end."""
_ALL = (1 << 256) - 1
_CATEGORIES = {
    name: sum(1 << b for b in range(256) if re.match(text, bytes([b])))
    for name, text in (
        (codes.CATEGORY_DIGIT, rb"\d"), (codes.CATEGORY_NOT_DIGIT, rb"\D"), (codes.CATEGORY_SPACE, rb"\s"),
        (codes.CATEGORY_NOT_SPACE, rb"\S"), (codes.CATEGORY_WORD, rb"\w"), (codes.CATEGORY_NOT_WORD, rb"\W"),
    )
}  # fmt: skip
_SMALL = sum(1 << b for b in range(ord("a"), ord("z") + 1))
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


class _Part(NamedTuple):
    """The facts known of a part of a pattern."""

    first: int
    """The bytes that it may begin with, a bit each."""
    empty: bool
    """Whether it may match nothing."""
    ways: float = 1.0
    """In how many ways it may match a text, without the unbounded repeats."""
    degree: float = 0.0
    """How often the length of the text is to be multiplied for these; infinite if no power of it is enough."""
    long: bool = False
    """Whether it holds a repeat without end."""


def _power(ways: float, times: int) -> float:
    return ways**times if ways == 1 or times * math.log10(ways) < 300 else math.inf


class _Reader:
    """Reads a pattern; if it `folds`, capitals are as good as small letters, somewhere in it."""

    def __init__(self, folds: bool) -> None:
        self._folds = folds

    def _bytes(self, mask: int) -> int:
        if not self._folds:
            return mask
        return mask | (mask & _SMALL) >> 32 | (mask & _SMALL >> 32) << 32

    def _part(self, op: Any, value: Any, follow: int, long: bool) -> _Part:
        """A part, before what begins with one of the bytes `follow`, and is of any length if it is `long`."""
        if op in (codes.LITERAL, codes.NOT_LITERAL):
            bit = self._bytes(1 << value if value < 256 else 0)
            return _Part(bit if op is codes.LITERAL else _ALL & ~bit, False)
        if op is codes.ANY:
            return _Part(_ALL, False)
        if op is codes.IN:
            return _Part(self._bytes(self._set(value)), False)
        if op is codes.AT:
            return _Part(0, True)
        if op is codes.SUBPATTERN:
            return self._sequence(value[-1], follow, long)
        if op is codes.ATOMIC_GROUP:
            return self._sequence(value, follow, long)
        if op is codes.BRANCH:
            return self._branch([self._sequence(item, follow, long) for item in value[1]], follow)
        if op in _REPEATS:
            least, most, body = value
            return self._repeat(least, most, body, follow, long)
        raise InvalidArgumentError(
            f"{str(op).lower()} is not in RE2's patterns: no references to groups, no looking around"
        )

    def _set(self, items: Sequence[Any]) -> int:
        mask, negated = 0, False
        for op, value in items:
            if op is codes.NEGATE:
                negated = True
            elif op is codes.LITERAL:
                mask |= 1 << value
            elif op is codes.RANGE:
                mask |= (1 << value[1] + 1) - (1 << value[0])
            else:
                mask |= _CATEGORIES[value]
        return _ALL & ~mask if negated else mask

    def _sequence(self, items: Any, follow: int, long: bool, needed: bool = True) -> _Part:
        """Parts one behind the other; `needed` says whether what follows them may fail to match."""
        first, empty, ways, degree = follow, True, 1.0, 0.0
        own, any_long = 0, False
        for op, value in reversed(list(items)):
            part = self._part(op, value, first, long)
            first = part.first | first if part.empty else part.first
            own = part.first | own if part.empty else part.first
            empty, ways, degree = empty and part.empty, ways * part.ways, degree + part.degree
            long, any_long = long or (part.long and needed), any_long or part.long
            needed = needed or not part.empty or op is codes.AT
        return _Part(own, empty, ways, degree, any_long)

    def _branch(self, parts: Sequence[_Part], follow: int) -> _Part:
        first, common = 0, False
        for part in parts:
            begins = part.first | follow if part.empty else part.first
            common |= bool(first & begins)
            first |= begins
        ways = sum(p.ways for p in parts) if common else max(p.ways for p in parts)
        own = 0
        for part in parts:
            own |= part.first
        return _Part(own, any(p.empty for p in parts), ways, max(p.degree for p in parts), any(p.long for p in parts))

    def _repeat(self, least: int, most: int, body: Any, follow: int, long: bool) -> _Part:
        once = self._sequence(body, 0, True)
        inner = self._sequence(body, once.first | follow, long or most > 1)
        empty = least == 0 or inner.empty
        if most == least:
            return _Part(inner.first, empty, _power(inner.ways, most), inner.degree * most, inner.long)
        settled = not inner.first & follow and not inner.empty
        if most <= _MANY:
            own = 1 if settled else most - least + 1
            return _Part(inner.first, empty, own * _power(inner.ways, most), inner.degree * most, inner.long)
        if inner.ways > 1 or inner.degree or inner.empty:
            return _Part(inner.first, empty, 1.0, math.inf, True)
        # each end that it may have costs as much as what follows, which is little if that has an end too
        return _Part(inner.first, empty, 1.0, 0.0 if settled or not long else 1.0, True)

    def _scans(self, items: Sequence[Any], first: int) -> int:
        """1 if a search may read a text from many places: a repeat goes over bytes with which a match may begin."""
        for i, (op, value) in enumerate(items):
            if op in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
                if self._scans([*(value[-1] if op is codes.SUBPATTERN else value), *items[i + 1 :]], first):
                    return 1
            elif op is codes.BRANCH:
                if any(self._scans([*item, *items[i + 1 :]], first) for item in value[1]):
                    return 1
            elif op in _REPEATS and value[1] > _MANY:
                behind = self._sequence(items[i + 1 :], 0, False)
                # what nothing has to follow does not fail, and what it went over is not read again
                if (not behind.empty or any(o is codes.AT for o, _ in items[i + 1 :])) and self._bytes_of(
                    value[2]
                ) & first:
                    return 1
        return 0

    def _bytes_of(self, items: Any) -> int:
        """All bytes that something may go over."""
        mask = 0
        for op, value in items:
            if op is codes.SUBPATTERN:
                mask |= self._bytes_of(value[-1])
            elif op is codes.ATOMIC_GROUP:
                mask |= self._bytes_of(value)
            elif op is codes.BRANCH:
                for item in value[1]:
                    mask |= self._bytes_of(item)
            elif op in _REPEATS:
                mask |= self._bytes_of(value[2])
            else:
                mask |= self._part(op, value, 0, False).first
        return mask


@cached(1 << 8)
def compiled(pattern: bytes, search: bool) -> tuple[re.Pattern[bytes], _Part, bool]:
    """A pattern ready for use, what is known of it, and whether it may read a text from many places.

    InvalidArgumentError is raised if it is no pattern, or one that RE2 does not have.
    """
    try:
        made = re.compile(pattern)
        tree = parser.parse(pattern)
        reader = _Reader(re.search(rb"\(\?[aLmsux]*i", pattern) is not None)
        whole = reader._sequence(tree, 0, False, needed=not search)
    except (re.error, RecursionError, OverflowError, InvalidArgumentError) as error:
        raise InvalidArgumentError(f"Invalid pattern: {_shown(pattern)}, error: {error}") from error
    return made, whole, search and bool(reader._scans(list(tree), whole.first))


def matcher(name: str, pattern: bytes, texts: Sequence[bytes], search: bool) -> re.Pattern[bytes]:
    """A pattern ready to be run on strings by an op; InvalidArgumentError if one of them may take too long.

    If it is a `search`, the pattern is looked for at each place, not at the beginning alone.

    Examples
    --------
    >>> matcher("regex_full_match", b"a+b", [b"aab"], False).fullmatch(b"aab") is not None
    True
    """
    made, whole, again = compiled(pattern, search)
    most = _MOST_CHOICES if whole.ways > 1 or whole.degree else _MOST_STEPS

    def is_long(size: int, starts: int) -> bool:
        steps = whole.ways * max(starts, 1) * float(max(size, 2)) ** min(whole.degree + 1, 60)
        return whole.degree == math.inf or steps > most

    longest = max(map(len, texts), default=0)
    if not is_long(longest, longest if again else 1):
        return made
    # it is tried only where the first byte is right
    first = bytes(b for b in range(256) if whole.empty or whole.first >> b & 1)
    for x in texts:
        if is_long(len(x), len(x) - len(x.translate(None, first)) if again else 1):
            power = whole.degree + 1 + again
            growth = "faster than any power" if power == math.inf else f"with the power {power:g}"
            raise InvalidArgumentError(
                f"{name}: the pattern {_shown(pattern)} may take too long for a string of {len(x)} bytes: its time can "
                f"grow {growth} of their number, as repeats or alternatives can match the same text. Let each repeat "
                f"end before what follows it (`[^<>]*>` in place of `.*>`), or call Python's re yourself (py_function)"
            )
    return made


def _shown(pattern: bytes) -> str:
    return pattern[:200].decode(errors="replace")
