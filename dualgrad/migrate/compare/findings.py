"""Findings of a comparison: which values are equal, and details of the first that are not.

A `Difference` holds what helps to find the cause: both values, the operation, and its lines in both programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dualgrad.platform import progress

Place = Sequence[Any] | None
"""A file and a line, as JSON has it."""


@dataclass
class Difference:
    """Two values that ought to be the same.

    Attributes
    ----------
    step : int
        The number of the run or training step.
    what : str
        ``result``, ``variable``, ``operation``, ``fed``, ``path``, ``error``, ``constant`` or ``draws``.
    name : str
        Of the tensor, variable or operation.
    expected, got : str
        What the record has, and what there is now: where they differ most.
    at : list of int
        The index of that.
    ulps : float, optional
        How far apart, in units in the last place; None if that means nothing.
    type : str
        Of the operation.
    site, new_site : (str, int), optional
        The lines in the recorded program and in the other.
    operands : list of (str, str)
        Names and values of the operands, which are equal in both.
    note : str
        What else is known.
    """

    step: int
    what: str
    name: str
    expected: str = ""
    got: str = ""
    at: list[int] = field(default_factory=list)
    ulps: float | None = None
    type: str = ""
    site: Place = None
    new_site: Place = None
    operands: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


@dataclass
class Row:
    """How the values of one name fared in all steps."""

    name: str
    steps: int = 0
    equal: int = 0
    worst: float = 0.0
    allowed: float = 0.0
    failed: int = 0


@dataclass
class Comparison:
    """The outcome of a comparison.

    Attributes
    ----------
    title : str
        What was compared.
    record : dict
        The head of the record.
    here : dict
        The machine on which it was compared.
    reasons : list of str
        Why nobody can expect equal bits; empty if equal bits are expected.
    portable : bool
        Whether operations that give the same bits on every machine were held to that, whatever the reasons are.
    steps : int
        How many steps were compared.
    rows : dict
        Per name what was compared.
    operations : int
        How many operations were compared one by one.
    differences : list of Difference
    printed : list of str, optional
        Lines of the output that differ; None if it was not compared.
    uncovered : dict
        Steps that were not compared: why, and how many.
    notes : list of str
    incomplete : bool
        Whether a part of the program has not been migrated yet.
    from_run : list of str
        Values of the recorded run that stand in the migrated program: with other data it would still use these.
    own : int
        How many runs of the migrated program by itself were seen, and gave what the recorded ones did.
    unseen : list of str
        What the migrated program computes when it runs by itself and nobody looked at, or why.
    aside : str
        A sentence on why it was not followed while it runs by itself; empty if it was.
    supplied : int
        How many draws without a seed were those of the record: by itself the program draws others.
    """

    title: str
    record: dict[str, Any]
    here: dict[str, Any]
    reasons: list[str] = field(default_factory=list)
    portable: bool = True
    steps: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    operations: int = 0
    differences: list[Difference] = field(default_factory=list)
    printed: list[str] | None = None
    uncovered: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    incomplete: bool = False
    from_run: list[str] = field(default_factory=list)
    own: int = 0
    unseen: list[str] = field(default_factory=list)
    aside: str = ""
    supplied: int = 0

    @property
    def verdict(self) -> str:
        """One sentence that can be signed, or not."""
        if self.differences or self.printed:
            return "DIFFERENT"
        if not sum(row.steps for row in self.rows.values()) and not self.own:
            return "NOTHING COMPARED"
        if self.incomplete:
            return "EQUAL SO FAR"
        if self.unseen:
            return "NOT ALL COMPARED"
        if self.supplied:
            return "THE SAME WITH GIVEN DRAWS"
        if self.from_run:
            return "EQUAL ONLY FOR THIS RUN"
        if not self.reasons:
            return "EQUAL TO THE BIT"
        return "EQUAL TO THE BIT BUT FOR PRODUCTS" if self.portable else "EQUAL WITHIN ROUNDING"

    @property
    def exit_code(self) -> int:
        """0 if nothing differs, 1 if something does or is not migrated yet, 2 if nothing was compared."""
        return {"DIFFERENT": 1, "EQUAL SO FAR": 1, "NOTHING COMPARED": 2}.get(self.verdict, 0)

    def row(self, name: str) -> Row:
        """The row of a name."""
        return self.rows.setdefault(name, Row(name))

    def count_step(self) -> None:
        """Count a step that is compared, and tell who waits."""
        self.steps += 1
        progress.step()

    def skip(self, why: str) -> None:
        """Note a step that is not compared."""
        self.uncovered[why] = self.uncovered.get(why, 0) + 1
        progress.step()

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return {"verdict": self.verdict, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Comparison:
        """The findings that `as_json` was made from."""
        data = {**data, "rows": {name: Row(**row) for name, row in data["rows"].items()}}
        data["differences"] = [Difference(**d) for d in data["differences"]]
        data.pop("verdict")
        return cls(**data)

    def add(self, other: Comparison, prefix: str) -> None:
        """Take over what another comparison found."""
        self.steps += other.steps
        self.operations += other.operations
        self.incomplete |= other.incomplete
        self.portable &= other.portable
        self.from_run += other.from_run
        self.own += other.own
        self.unseen += other.unseen
        self.aside = self.aside or other.aside
        self.supplied += other.supplied
        self.rows |= {prefix + name: replace(row, name=prefix + name) for name, row in other.rows.items()}
        self.differences += [replace(d, name=prefix + d.name) for d in other.differences]
        self.uncovered |= {prefix + why: n for why, n in other.uncovered.items()}
        self.notes += [prefix + note for note in other.notes]
        if other.printed is not None:
            self.printed = [*(self.printed or []), *other.printed]


# ---- how far two arrays are apart ------------------------------------------------------------------------------------


def ulps(a: Any, b: Any) -> np.ndarray:
    """Units in the last place between two arrays of the same shape and floating or complex dtype, element by element.

    Equal values, and NaN and NaN, are 0 apart; a number and a NaN infinitely far. Zeros of both signs are 1 apart.

    Examples
    --------
    >>> import numpy as np
    >>> ulps(np.float32(1), np.nextafter(np.float32(1), np.float32(2))).item()
    1.0
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        return np.maximum(ulps(a.real, b.real), ulps(a.imag, b.imag))
    bits = np.dtype(f"i{a.dtype.itemsize}")
    places = [np.ascontiguousarray(x).view(bits).reshape(x.shape).astype(np.int64) for x in (a, b)]
    # negative numbers count downwards from -0, one below 0
    one, other = [np.where(p < 0, np.int64(np.iinfo(bits).min) - p - 1, p) for p in places]
    far = (one < 0) != (other < 0)
    apart = np.where(far, np.abs(one.astype(np.float64) - other), np.abs(np.where(far, 0, one - other)))
    nan = np.isnan(a), np.isnan(b)
    return np.where(nan[0] & nan[1], 0.0, np.where(nan[0] ^ nan[1], np.inf, apart))


def worst(expected: Any, got: Any) -> tuple[tuple[int, ...], float | None]:
    """Where two arrays of one shape and dtype differ most, and by how many ulps if that means something."""
    expected, got = np.asarray(expected), np.asarray(got)
    if not expected.size:
        return (), 0.0
    if expected.dtype.kind in "fc":
        apart = ulps(expected, got)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape)
        return tuple(map(int, at)), float(apart[at])
    wrong = np.asarray(expected != got)
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return tuple(map(int, at)), None if wrong.any() else 0.0


def same_numbers(expected: Any, got: Any) -> bool:
    """Whether two arrays differ in nothing but the bits of NaN."""
    a, b = np.asarray(expected), np.asarray(got)
    is_number = a.dtype.kind in "fc" and a.dtype == b.dtype and a.shape == b.shape
    return is_number and worst(a, b)[1] == 0.0


def shown(array: Any, at: Sequence[int] = ()) -> str:
    """An array in a line: the element at an index, or all of it if it is small."""
    array = np.asarray(array)
    kind = f"{array.dtype.name}{list(array.shape)}" if array.dtype.kind not in "OSU" else f"string{list(array.shape)}"
    if array.size <= 6 and not at:
        return f"{kind} {exact(array)}"
    return f"{kind} [{', '.join(map(str, at))}] = {exact(array[tuple(at)])}" if at else f"{kind} {summary(array)}"


def exact(array: Any) -> str:
    """Numbers with all their digits."""
    array = np.asarray(array)
    if array.dtype.kind == "f" and not array.ndim:
        return repr(array.item()) if array.dtype == np.float64 else str(array[()])
    return np.array2string(array, separator=", ", floatmode="unique").replace("\n", "")


def summary(array: np.ndarray) -> str:
    """The range of many numbers."""
    if array.dtype.kind in "OSU" or not array.size:
        return f"{array.size} values"
    if array.dtype.kind == "c":
        array = np.abs(array)
    return f"from {exact(array.min())} to {exact(array.max())}"
