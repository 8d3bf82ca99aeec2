"""``tf.app``: the main function of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.platform import flags
from dualgrad.platform.flags import FLAGS


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Read the flags, call ``main(argv)`` with what is left of the command line, and exit with what it returns.

    Parameters
    ----------
    main : callable, optional
        By default the function `main` of the program.
    argv : sequence of str, optional
        By default ``sys.argv``.

    Raises
    ------
    SystemExit
        Always: with what `main` returns, or 1 if a flag is wrong.
    """
    line = list(sys.argv if argv is None else argv)
    if any(item in ("--help", "-h", "--helpfull", "--helpshort") for item in line[1:]):
        sys.stdout.write(f"flags of {line[0]}:\n{FLAGS.get_help()}\n")
        sys.exit(0)
    try:
        left = FLAGS(line, known_only=True)
    except flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\n")
        sys.exit(1)
    sys.exit((main or sys.modules["__main__"].main)(left))


__all__ = ["flags", "run"]
