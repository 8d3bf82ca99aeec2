"""Loops over the rows of tensors in graphs: `map_fn`, `scan`, `foldl`, `foldr`. See `dualgrad.frontend.flow.rows`."""

from __future__ import annotations

from functools import partial

from dualgrad.frontend.flow import rows
from graph_api.control_flow.control import HOST

scanned = partial(rows.scanned, HOST)
"""``state, result = function(state, row)`` for each row of some tensors: the last state, the results stacked."""
map_fn, scan, foldl, foldr = rows.offered(
    __name__, partial(rows.map_fn, HOST), partial(rows.scan, HOST), partial(rows.fold, HOST)
)
