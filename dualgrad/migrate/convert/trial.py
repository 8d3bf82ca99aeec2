"""The trial of a converted program: it runs as it is, and what its variables and constants began with is written down.

``python -P -m dualgrad.migrate.convert.trial FOUND PROGRAM [ARG ...]``
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Never

from dualgrad.files.golden import digest
from dualgrad.migrate.run import execute
from dualgrad.migrate.watch_tapes import noting_initial_values
from engine.core.eager import EagerTensor


def main(found: str, program: str, *arguments: str) -> Never:
    """Run a program, and leave with its exit code.

    Parameters
    ----------
    found : str
        The file in which the digests of the arrays are written: those of variables, and by name those of constants.
    program : str
    *arguments : str
        Of the program.
    """
    sys.path.insert(0, os.path.dirname(program))
    with noting_initial_values() as initial:
        try:
            sys.exit(execute(Path(program), list(arguments)))
        finally:
            names = vars(sys.modules["__main__"])
            constants = {name: digest(x.numpy()) for name, x in names.items() if isinstance(x, EagerTensor)}
            said = {"variables": [digest(x) for x in initial.values()], "constants": constants}
            Path(found).write_text(json.dumps(said))


def missing(found: Path, starts: Iterable[tuple[str, Any, bool]]) -> str:
    """The name of what did not begin as it should; empty if everything did.

    Parameters
    ----------
    found : Path
        What a trial wrote.
    starts : iterable of (str, array, bool)
        Names, what they began with in the recorded run, and whether that is a variable.
    """
    said = json.loads(found.read_text())
    for name, array, is_variable in starts:
        wanted = digest(array)
        begun = said["variables"] if is_variable else [said["constants"].get(name, wanted)]
        if wanted not in begun:
            return name
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
