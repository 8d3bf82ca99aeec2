"""Names that a program looked up when it ran (`dualgrad record`), where reading its files does not show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from dualgrad.migrate.check.surface import Surface
from dualgrad.migrate.check.uses import SAME, UNCHECKED, Use

FOUND = "reading does not show it, but it was looked up here when the program ran"


def unseen(census: Mapping[str, Sequence[Any]], apis: Mapping[Path, str], found: Mapping[Path, list[Use]]) -> list[Use]:
    """A use for each name of a census that the files' uses do not have.

    A name counts as seen in a file whose uses have its last part in theirs: aliases and modules of TensorFlow's own
    give it other first ones.

    Parameters
    ----------
    census : dict
        The names that a record has, and the files and lines where they were looked up.
    apis, found : dict
        The version of the API, and the uses, of each file.
    """
    shown = {file: {part for use in uses for part in use.name.split(".")} for file, uses in found.items()}
    added: dict[Use, None] = {}
    for name, places in census.items():
        for where, line in places:
            file = _among(where, found)
            if file is None:
                why = "the program looked names up in it when it ran, and it is not among the files that are checked"
                added[Use(where, 1, 1, "file", where, UNCHECKED, why)] = None
            elif name.rpartition(".")[2] not in shown[file]:
                verdict, message = Surface.of(apis.get(file, "1")).verdict(name)
                said = FOUND if verdict == SAME else f"{message}; {FOUND}"
                added[Use(str(file), line, 1, "name", f"tf.{name}", verdict, said)] = None
    return list(added)


def _among(where: str, files: Mapping[Path, Any]) -> Path | None:
    """The file that a record names by its path below the program's folder."""
    parts = PurePath(where).parts
    return next((file for file in files if file.resolve().parts[-len(parts) :] == parts), None)
