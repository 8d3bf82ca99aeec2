"""The report of `dualgrad check`: as text, as JSON, as SARIF 2.1.0 (which editors and code hosts show at the line)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import engine
from dualgrad.migrate.check.uses import DIFFERS, MISSES, SAME, UNCHECKED, VERDICTS, Use
from dualgrad.migrate.unconverted import UNCONVERTED
from engine.runtime.quoting import one_line

_CONVERT = "runs, but convert keeps no loop"
LEVELS = {DIFFERS: "note", UNCHECKED: "warning", MISSES: "error"}
RULES = {
    DIFFERS: "The name is here and does something else than in TensorFlow.",
    UNCHECKED: "Only running the program tells what this is.",
    MISSES: "The name, keyword or method is not here.",
}


def counts(uses: Sequence[Use]) -> dict[str, int]:
    """How many uses have each verdict."""
    by_verdict = Counter(use.verdict for use in uses)
    return {verdict: by_verdict[verdict] for verdict in VERDICTS}


def as_text(uses: Sequence[Use], files: int, every: bool = False) -> str:
    """One line for each name of a file that needs attention, or for each name, and a line of totals."""
    groups: dict[Any, list[Use]] = {}
    for use in uses:
        if every or use.verdict != SAME:
            groups.setdefault((use.file, use.name, use.verdict, use.message), []).append(use)
    lines = [_line(group) for group in groups.values()]
    lines += [_line([replace(group[0], verdict=_CONVERT, message=UNCONVERTED[group[0].name]), *group[1:]])
              for group in unconverted(uses).values()]  # fmt: skip
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts(uses).items())
    return "\n".join([*lines, f"{files} file{'s' * (files != 1)}, {len(uses)} uses of TensorFlow: {total}"])


def unconverted(uses: Sequence[Use]) -> dict[Any, list[Use]]:
    """By file and name, the uses that run here, but of which `dualgrad convert` keeps no loop."""
    groups: dict[Any, list[Use]] = {}
    for use in uses:
        if use.is_resolved and use.name in UNCONVERTED:
            groups.setdefault((use.file, use.name), []).append(use)
    return groups


def _line(group: Sequence[Use]) -> str:
    """One line for uses of one name in one file that have the same to be said."""
    first, *others = group
    further = ", ".join(dict.fromkeys(str(use.line) for use in others if use.line != first.line))
    parts = [f"{first.file}:{first.line}:{first.column}", first.verdict, first.name]
    return one_line(": ".join([*parts, *filter(None, [first.message])])) + (
        f" (and in line {further})" if further else ""
    )


def as_json(uses: Sequence[Use], files: int, every: bool = True) -> str:
    """Everything that was found, for programs."""
    content = {
        "format": 1,
        "version": engine.__version__,
        "files": files,
        "counts": counts(uses),
        "uses": [asdict(use) for use in uses if every or use.verdict != SAME],
        "unconverted": [
            asdict(use) | {"message": UNCONVERTED[use.name]} for group in unconverted(uses).values() for use in group
        ],
    }
    return json.dumps(content, indent=1)


def as_sarif(uses: Sequence[Use], files: int, every: bool = False) -> str:
    """Findings that need attention, in OASIS' format for the results of static analysis [1]_.

    References
    ----------
    .. [1] Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard, 2020.
    """
    rules = [
        {
            "id": verdict.replace(" ", "-"),
            "shortDescription": {"text": text},
            "defaultConfiguration": {"level": LEVELS[verdict]},
        }
        for verdict, text in RULES.items()
    ]
    content = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "dualgrad check", "version": engine.__version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(use) for use in uses if use.verdict != SAME],
            }
        ],
    }
    return json.dumps(content, indent=1)


def _result(use: Use) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(PurePath(use.file).as_posix(), errors="surrogateescape")},
        "region": {"startLine": use.line, "startColumn": use.column},
    }
    return {
        "ruleId": use.verdict.replace(" ", "-"),
        "ruleIndex": [*RULES].index(use.verdict),
        "level": LEVELS[use.verdict],
        # `[text](target)` would be a link (3.11.6)
        "message": {"text": f"{use.name}: {use.message}".replace("](", "] (")},
        "locations": [{"physicalLocation": place}],
    }


FORMATS = {"text": as_text, "json": as_json, "sarif": as_sarif}
