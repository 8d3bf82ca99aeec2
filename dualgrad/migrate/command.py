"""The command ``dualgrad``: finds the subcommand and calls it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module

import engine

COMMANDS = {
    "run": ("dualgrad.migrate.run", "run a TensorFlow program unchanged"),
    "check": ("dualgrad.migrate.check", "say what of TensorFlow a program uses, and what of it is here"),
    "record": ("dualgrad.migrate.record", "keep what a program computed, step by step"),
    "convert": ("dualgrad.migrate.convert", "turn a graph program into tape code"),
    "compare": ("dualgrad.migrate.compare", "compare a program with what was recorded"),
    "explain": ("dualgrad.migrate.explain", "say what a reason for a missing gradient means"),
}
"""Of each subcommand what it does, and its module: with ``add_arguments(parser)``, ``main(arguments) -> int`` and
``DESCRIPTION``, which its ``--help`` begins with."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of ``sys.argv`` by default.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser("dualgrad", description="Run and migrate TensorFlow programs on dualgrad.")
    parser.add_argument("--version", action="version", version=f"dualgrad {engine.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    words = sys.argv[1:] if arguments is None else arguments
    # only the subcommand that is asked for is loaded
    asked = next((word for word in words if word in COMMANDS), None)
    narrow = partial(argparse.HelpFormatter, max_help_position=32)  # texts begin behind the longest option
    for name, (module, purpose) in COMMANDS.items():
        inner = commands.add_parser(name, help=purpose, formatter_class=narrow)
        if asked == name:
            command = import_module(module)
            inner.description = command.DESCRIPTION
            command.add_arguments(inner)
            inner.set_defaults(main=command.main)
    given = parser.parse_args(arguments)
    try:
        code: int = given.main(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # who reads the output, `head` say, has seen enough; nothing is left to be written when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"\ndualgrad {asked}: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    return code
