"""The functions of the graph API, made from the table in `graph_api.names`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.api import lift
from engine.namespace import build
from graph_api.convert import finish
from graph_api.legacy import legacy
from graph_api.names import TABLE, Old


def public(row: Any, name: str) -> Callable[..., Any]:
    """The public function for a row of the table."""
    if isinstance(row, Old):
        lifted = lift(row.function, finish, name)
        return legacy(lifted, renames=row.renames, order=row.order, ignored=row.ignored)
    return lift(row, finish, name)


root = build("graph_api", TABLE, public)
