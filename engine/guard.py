"""Refuse to start on somebody else's `engine`, `dualgrad` or `optim`.

Our packages have plain names, and Python looks in the user's own folder first: an ``engine.py`` or an ``optim/`` there
would be imported in place of ours and fail in some obscure way. Each front end therefore runs this file before it
imports anything. It runs it *by its path*, since by its name the wrong `engine` would be asked.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def find(name: str) -> str | None:
    """The file that ``import name`` gives, or has given already; None if there is none."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = find_spec(name)
    return None if spec is None else spec.origin


def _advice(found: str) -> str:
    if {"site-packages", "dist-packages"} & set(found.split(os.sep)):
        return "Another distribution has installed it: give each of them an environment of its own."
    return "Rename it; `dualgrad run PROGRAM` keeps both apart."


def check(name: str) -> None:
    """Raise ImportError, naming the file in the way, unless `name` is our package."""
    found = find(name)
    if found is not None and os.path.realpath(found) != os.path.join(HOME, name, "__init__.py"):
        # Say the folder where it is a package
        culprit = os.path.dirname(found) if os.path.basename(found).startswith("__init__.") else found
        raise ImportError(
            f"{culprit} is in the way: Python imports it as `{name}`, a name that the packages in {HOME} need for "
            f"themselves. {_advice(found)}",
            name=name,
            path=found,
        )


def check_ours(name: str) -> None:
    """Raise ImportError if another distribution has put its package where ours was."""
    file = os.path.join(HOME, name, "__init__.py")
    if os.path.isfile(file):
        with open(file, "rb") as text:
            if b"dualgrad" not in text.read():
                raise ImportError(f"{file} is not ours. {_advice(file)}", name=name, path=file)


ALSO: tuple[str, ...]
"""Further packages that whoever runs this file needs."""

for package in ("engine", "dualgrad", "optim", *globals().get("ALSO", ())):
    check(package)
    check_ours(package)
