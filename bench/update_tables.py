"""The section of the report on a step of training: aggregation, gating and updates, a table each.

`bench.updates` measures and prints these tables by itself; `bench/test_updates.py` measures the same for the file that
the report is made of, and marks each benchmark with the table that it belongs to (``extra_info["table"]``).
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.results import OURS, Result
from bench.text import DASH, amount, duration, times

HEADING = "From contributions to new values"
AGGREGATION, GATING, LARGE, MANY = "aggregation", "gating", "large update", "update of many"
TABLES = (AGGREGATION, GATING, LARGE, MANY)
BY_HAND = "by hand"

AGGREGATION_HEAD = ("contributions", "method", "mode", "time", "peak memory", "error, ulp", "bits")
GATING_HEAD = ("setting", "mode", "time of a step", "peak memory / variables")
UPDATE_HEAD = (
    *("optimizer", "mode", "parameters", BY_HAND, "update", f"update / {BY_HAND}", "peak memory"),
    *("small variables", "update of all"),
)

ADDED_UP = """A gradient that is the sum of so many contributions, added up by each aggregation_method: the largest
rounding error, in units of the last place of the exact sum, and whether the bits are those of graph mode."""
GATED = """A step of Adam over some layers with each setting of gate_gradients: the most memory that is held at once
besides variables and slots, as a multiple of the variables' size."""
UPDATED = """An update of one large variable beside the same update by hand, in blocks and in place; and an update of
many small variables."""


def aggregation_row(
    count: int, method: str, mode: str, seconds: float, peak: float | None, error: float | None, same: bool | None
) -> tuple[str, ...]:
    """The cells under `AGGREGATION_HEAD`."""
    bits = DASH if same is None else "same" if same else "other"
    wrong = DASH if error is None else f"{error:.1f}"
    return str(count), method, mode, duration(seconds), amount(peak), wrong, bits


def gating_row(gate: str, mode: str, seconds: float, share: float | None) -> tuple[str, ...]:
    """The cells under `GATING_HEAD`."""
    return gate, mode, duration(seconds), times(share)


def update_row(
    optimizer: str,
    mode: str,
    size: int | None,
    by_hand: float | None,
    seconds: float | None,
    peak: float | None,
    count: int | None,
    many: float | None,
) -> tuple[str, ...]:
    """The cells under `UPDATE_HEAD`."""
    sizes = [DASH if n is None else f"{n:,}" for n in (size, count)]
    share = None if by_hand is None or seconds is None else seconds / by_hand
    return (
        *(optimizer, mode, sizes[0], duration(by_hand), duration(seconds), times(share), amount(peak)),
        *(sizes[1], duration(many)),
    )


# ---- from a file -----------------------------------------------------------------------------------------------------


def tables(results: Sequence[Result]) -> list[tuple[str, str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, what it is about, head and rows of each table of which something was measured."""
    found = (
        ("Aggregation", ADDED_UP, AGGREGATION_HEAD, _aggregation(_of(results, AGGREGATION))),
        ("Gating", GATED, GATING_HEAD, _gating(_of(results, GATING))),
        ("Updates", UPDATED, UPDATE_HEAD, _updates(_of(results, LARGE), _of(results, MANY))),
    )
    return [(title, " ".join(text.split()), head, rows) for title, text, head, rows in found if rows]


def is_shown(r: Result) -> bool:
    """Whether a result is in one of the tables."""
    table = r.extra.get("table")
    return table == GATING or (table in TABLES and r.size.isdecimal())


def _of(results: Sequence[Result], table: str) -> list[Result]:
    return [r for r in results if is_shown(r) and r.extra["table"] == table]


def _aggregation(results: Sequence[Result]) -> list[tuple[str, ...]]:
    graph = {(r.size, r.method): r.fact("checksum") for r in results if r.mode == OURS[0]}
    rows = []
    for r in sorted(results, key=lambda r: int(r.size)):
        own, other = r.fact("checksum"), graph.get((r.size, r.method))
        same = None if own is None or other is None else own == other
        rows.append(
            aggregation_row(int(r.size), r.method, r.mode, r.median, r.fact("peak_bytes"), r.fact("error"), same)
        )
    return rows


def _gating(results: Sequence[Result]) -> list[tuple[str, ...]]:
    rows = []
    for r in results:
        peak, own = r.fact("peak_bytes"), r.fact("variable_bytes")
        rows.append(gating_row(r.method, r.mode, r.median, peak / own if peak and own else None))
    return rows


def _updates(large: Sequence[Result], many: Sequence[Result]) -> list[tuple[str, ...]]:
    one = {(r.method, r.mode): r for r in large}
    all_of = {(r.method, r.mode): r for r in many}
    rows = []
    for optimizer, mode in dict.fromkeys(key for key in (*one, *all_of) if key[1] != BY_HAND):
        r, small, hand = one.get((optimizer, mode)), all_of.get((optimizer, mode)), one.get((optimizer, BY_HAND))
        size, seconds = (int(r.size), r.median) if r else (None, None)
        count, time = (int(small.size), small.median) if small else (None, None)
        by_hand, peak = hand.median if hand else None, r.fact("peak_bytes") if r else None
        rows.append(update_row(optimizer, mode, size, by_hand, seconds, peak, count, time))
    return rows
