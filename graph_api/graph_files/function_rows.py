"""Rows of what calls functions of a file's library: TensorFlow 2's choices and loops, and calls themselves."""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand
from engine.runtime.errors import InvalidArgumentError
from graph_api.control_flow.control import cond, while_loop
from graph_api.graph_files.bodies import held
from graph_api.graph_files.rows import Made, Site, is_handle, row
from graph_api.graphs.tensor import Tensor
from graph_api.library import root as tf


def _function(site: Site, attribute: str) -> str:
    return site.attr(attribute).name


@row("PartitionedCall StatefulPartitionedCall", takes_handles=True)
def _call(site: Site) -> Made:
    return site.region.call(_function(site, "f"), site.inputs)


@row("If StatelessIf", takes_handles=True)
def _if(site: Site) -> Made:
    pred, *arguments = site.inputs
    if is_handle(pred):
        pred = site.region.read(pred)
    if pred.dtype.name != "bool":
        pred = tf.not_equal(pred, tf.zeros_like(pred))

    def branch(attribute: str) -> Any:
        results = site.region.call(_function(site, attribute), arguments)
        return [held(x) for x in results] if isinstance(results, list) else results

    return cond(pred, lambda: branch("then_branch"), lambda: branch("else_branch"), strict=True)


@row("While StatelessWhile", takes_handles=True)
def _while(site: Site) -> Made:
    """A loop; what its body hands on as it is, variables above all, is no loop variable."""
    definition, results, _ = site.region.body.library(_function(site, "body"))
    if len(results) != len(site.inputs) or len(definition.arguments) != len(site.inputs):
        raise InvalidArgumentError("its body does not return what it takes")
    moving = [i for i, ref in enumerate(results) if ref != (definition.arguments[i], 0)]
    if any(is_handle(site.inputs[i]) for i in moving):
        raise InvalidArgumentError("its body returns a variable other than the one that it is given")

    def whole(given: Any) -> list[Any]:
        every = list(site.inputs)
        for i, x in zip(moving, given, strict=True):
            every[i] = x
        return every

    def goes_on(*given: Any) -> Operand:
        return site.region.call(_function(site, "cond"), whole(given))[0]

    def step(*given: Any) -> list[Any]:
        results = site.region.call(_function(site, "body"), whole(given))
        return [results[i] for i in moving]

    if not moving:
        raise InvalidArgumentError("its body changes nothing")
    starts = [site.inputs[i] for i in moving]
    free = [None if isinstance(x, Tensor) else x for x in starts] if _varies(site, moving, starts) else None
    ends = while_loop(goes_on, step, starts, free, return_same_structure=True)
    return whole(ends)


def _varies(site: Site, moving: list[int], starts: list[Any]) -> bool:
    """Whether the file says of a loop variable less than its first value tells."""
    shapes = site.attr("output_shapes", [])
    if len(shapes) != len(site.inputs):
        return False
    known = [(shapes[i], x.aval.shape) for i, x in zip(moving, starts, strict=True) if isinstance(x, Tensor)]
    return any(said is None or None in said for said, has in known if has is not None and None not in has)
