"""The row of ops that TensorFlow has not: see `graph_api.graph_files.own_ops`."""

from __future__ import annotations

from engine.runtime.errors import InvalidArgumentError
from graph_api.graph_files.own_ops import decoded, op_named
from graph_api.graph_files.rows import Made, Row, Site


def _make(site: Site) -> Made:
    op = op_named(site.proto.op)
    if op is None:
        raise InvalidArgumentError("there is no such op")
    return site.graph.apply(op, site.inputs, decoded(site.attr("params")))


def own_row(kind: str, has_params: bool) -> Row | None:
    """The row of a type of ours, if there is such an op and the file has its parameters."""
    return Row(_make) if has_params and op_named(kind) is not None else None
