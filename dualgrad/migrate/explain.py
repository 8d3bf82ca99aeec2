"""Print what a reason means that `tf.explain` gave for a missing gradient, and what to write instead.

Without a code, all reasons are listed.
"""

from __future__ import annotations

import argparse
import difflib
import sys

from engine.explain.reasons import REASONS

DESCRIPTION = """Print what a reason means that `tf.explain` gave for a missing gradient, and what to write instead.
Without a code, all reasons are listed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="a reason's code, as `explain` gives it: stopped")


def main(given: argparse.Namespace) -> int:
    """Print the page of a code, or the list of all; 2 if there is no such code."""
    if given.code is None:
        width = max(map(len, REASONS))
        for reason in REASONS.values():
            print(f"{reason.code:{width}}  {_summary(reason.page)}")  # noqa: T201
        return 0
    if given.code not in REASONS:
        near = difflib.get_close_matches(given.code, REASONS, 3)
        hint = f"; is it {' or '.join(near)}?" if near else "; `dualgrad explain` lists all"
        print(f"dualgrad explain: there is no reason {given.code!r}{hint}", file=sys.stderr)  # noqa: T201
        return 2
    print(REASONS[given.code].page.rstrip())  # noqa: T201
    return 0


def _summary(page: str) -> str:
    """The first sentence of a page."""
    text = " ".join(page.split("\n\n")[1].split())
    return text.partition(". ")[0].rstrip(".") + "."
