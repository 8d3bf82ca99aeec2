"""Where a command writes to: ``-o`` may stand before the program's name, or behind it."""

from __future__ import annotations

import argparse


def add_output(parser: argparse.ArgumentParser, long: str, metavar: str, text: str) -> None:
    """Add the option; `settled` sees that it was given."""
    parser.add_argument("-o", long, dest="output", metavar=metavar, help=f"{text} (needed)")


def settled(given: argparse.Namespace, long: str, metavar: str) -> None:
    """Look for the option behind the program's name, if it does not stand before it.

    If it stands before the name, or a ``--`` before it, all that follows is the program's own.

    Raises
    ------
    ValueError
        If it is nowhere, or says nothing.

    Examples
    --------
    >>> given = argparse.Namespace(output=None, program="p.py", arguments=["3", "-o", "there", "-v"])
    >>> settled(given, "--output", "DIR")
    >>> given.output, given.arguments
    ('there', ['3', '-v'])
    """
    words = given.arguments
    if given.output is None:
        for n, word in enumerate(words[: words.index("--")] if "--" in words else words):
            name, equal, value = word.partition("=")
            if name == long and equal:
                given.output, given.arguments = value, words[:n] + words[n + 1 :]
                break
            if word in ("-o", long) and n + 1 < len(words):
                given.output, given.arguments = words[n + 1], words[:n] + words[n + 2 :]
                break
    if not given.output:
        raise ValueError(f"say where to write with -o {metavar}, before the program's name or behind it")
