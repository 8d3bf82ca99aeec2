"""Choices and loops as TensorFlow 1 writes them: switches and merges, frames and iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.closed.function import ClosedFunction
from engine.core.dtypes import bool_, float32, int32
from graph_api.graph_files.exporting import RESOURCE, Own, Source, Writer, write


def _inside(writer: Writer, scope: str, body: ClosedFunction, arguments: Sequence[str], pivot: str) -> list[str]:
    """Write the nodes of a branch or body under a name scope; the names of its results.

    What has no inputs waits for the pivot, so that it belongs there.
    """
    before, controls = dict(writer.outputs), writer.controls
    writer.controls = [pivot]
    writer.outputs.update({id(p): x for p, x in zip(body.parameters, arguments, strict=True)})
    for node in body.nodes:
        write(writer, node, writer.free(f"{scope}/{node.op.type}"))
    results = [writer.name_of(r) for r in body.results]
    writer.outputs, writer.controls = before, controls
    return results


def write_choice(s: Source) -> None:
    """A choice: operands are switched, and results merged."""
    writer, scope = s.writer, s.name
    pred, *operands = s.inputs
    dtypes = [x.dtype for x in s.node.inputs[1:]]
    chosen = s.step("Switch", "Switch", [pred, pred], T=bool_)
    sides = [
        s.step("switch_f", "Identity", [chosen], T=bool_),
        s.step("switch_t", "Identity", [f"{chosen}:1"], T=bool_),
    ]
    switched = [s.step("Switch", "Switch", [x, pred], T=t) for x, t in zip(operands, dtypes, strict=True)]
    results = []
    for index, name in enumerate(("false", "true")):
        inputs = [f"{x}:1" if index else x for x in switched]
        written = _inside(writer, f"{scope}/{name}", s.node.params[name], inputs, sides[index])
        # a result that is an operand, or a constant from outside, belongs to the branch all the same
        kinds = [o.dtype for o in s.node.outputs]
        results.append(
            [
                writer.node(writer.free(f"{scope}/{name}/result"), "Identity", [x], [sides[index]], T=t)
                for x, t in zip(written, kinds, strict=True)
            ]
        )
    merged = [
        s.step("Merge", "Merge", [no, yes], T=o.dtype, N=2) for no, yes, o in zip(*results, s.node.outputs, strict=True)
    ]
    s.together(merged)


Named = tuple[str, Any]
"""The name of a value, and its dtype."""


def _write_loop(
    s: Source, starts: Sequence[Named], constants: Sequence[Named], test: Callable[..., str], step: Callable[..., Any]
) -> list[str]:
    """Write a loop; the names of the loop variables when it has ended.

    ``test(variables, constants, pivot)`` writes the condition, ``step(...)`` the body, which gives the next values.
    """
    writer, kinds = s.writer, [kind for _, kind in starts]
    frame = writer.free(f"{s.name}/while_context")

    def enter(value: Named, constant: bool) -> str:
        more = {"frame_name": frame, "is_constant": constant, "parallel_iterations": 10}
        return s.step("Enter", "Enter", [value[0]], T=value[1], **more)

    entered, captured = [enter(x, False) for x in starts], [enter(x, True) for x in constants]
    # a loop variable is merged with what the next iteration gives it, whose name is chosen now
    nexts = [writer.free(f"{s.name}/NextIteration") for _ in starts]
    merges = [s.step("Merge", "Merge", [e, n], T=t, N=2) for e, n, t in zip(entered, nexts, kinds, strict=True)]
    pivot = s.step("pivot", "Identity", [merges[0]], T=kinds[0])
    holds = writer.node(writer.free(f"{s.name}/holds"), "Identity", [test(merges, captured, pivot)], [pivot], T=bool_)
    condition = s.step("LoopCond", "LoopCond", [holds])
    switches = [s.step("Switch", "Switch", [m, condition], T=t) for m, t in zip(merges, kinds, strict=True)]
    own = [s.step("Identity", "Identity", [f"{x}:1"], T=t) for x, t in zip(switches, kinds, strict=True)]
    for name, result, kind in zip(nexts, step(own, captured, own[0]), kinds, strict=True):
        inner = writer.node(writer.free(f"{s.name}/next"), "Identity", [result], [own[0]], T=kind)
        writer.node(name, "NextIteration", [inner], T=kind)
    return [s.step("Exit", "Exit", [x], T=t) for x, t in zip(switches, kinds, strict=True)]


def write_loop(s: Source) -> None:
    """A loop: loop variables go round, captures enter once."""
    params, every = s.node.params, list(zip(s.inputs, [x.dtype for x in s.node.inputs], strict=True))
    count = params["count"]

    def test(variables: Sequence[str], captured: Sequence[str], pivot: str) -> str:
        return _inside(s.writer, f"{s.name}/cond", params["cond"], [*variables, *captured], pivot)[0]

    def step(variables: Sequence[str], captured: Sequence[str], pivot: str) -> list[str]:
        return _inside(s.writer, f"{s.name}/body", params["body"], [*variables, *captured], pivot)

    s.together(_write_loop(s, every[:count], every[count:], test, step))


def write_scan(s: Source) -> None:
    """A loop over the rows of some operands; what it gives for each row is kept in TensorArrays."""
    params, writer = s.node.params, s.writer
    carries, sequences, body = params["carries"], params["sequences"], params["body"]
    if params.get("backwards") or not sequences:
        raise Own
    every = list(zip(s.inputs, [x.dtype for x in s.node.inputs], strict=True))
    zero, one, axis = s.const("zero", 0), s.const("one", 1), s.const("axis", 0)
    dims = s.step("dims", "Shape", [s.inputs[carries]], T=every[carries][1], out_type=int32)
    length = s.step("length", "GatherV2", [dims, zero, axis], **_GATHER, Tparams=int32)
    dtypes = [out.dtype for out in s.node.outputs[carries:]]
    about = {
        "element_shape": None, "dynamic_size": False, "clear_after_read": True, "identical_element_shapes": True,
        "tensor_array_name": "",
    }  # fmt: skip
    arrays = [s.step("rows", "TensorArrayV3", [length], dtype=t, **about) for t in dtypes]
    starts = [(zero, int32), *every[:carries], *[(f"{a}:1", float32) for a in arrays]]
    constants = [(length, int32), (one, int32), (axis, int32), *[(a, RESOURCE) for a in arrays], *every[carries:]]

    def test(variables: Sequence[str], captured: Sequence[str], pivot: str) -> str:
        return s.step("less", "Less", [variables[0], captured[0]], T=int32)

    def step(variables: Sequence[str], captured: Sequence[str], pivot: str) -> list[str]:
        number, state, flows = variables[0], variables[1 : 1 + carries], variables[1 + carries :]
        _, by, first, *rest = captured
        handles, rest = rest[: len(arrays)], rest[len(arrays) :]
        rows = [
            s.step("row", "GatherV2", [x, number, first], **_GATHER, Tparams=kind)
            for x, (_, kind) in zip(rest[:sequences], every[carries : carries + sequences], strict=True)
        ]
        results = _inside(writer, f"{s.name}/body", body, [*state, *rows, *rest[sequences:]], pivot)
        written = [
            s.step("write", "TensorArrayWriteV3", [handle, number, x, flow], T=t)
            for handle, x, flow, t in zip(handles, results[carries:], flows, dtypes, strict=True)
        ]
        return [s.step("count", "AddV2", [number, by], T=int32), *results[:carries], *written]

    ends = _write_loop(s, starts, constants, test, step)
    places = s.step("places", "Range", [zero, length, one], Tidx=int32)
    stacked = [
        s.step("stacked", "TensorArrayGatherV3", [array, places, flow], dtype=t, element_shape=None)
        for array, flow, t in zip(arrays, ends[1 + carries :], dtypes, strict=True)
    ]
    s.together([*ends[1 : 1 + carries], *stacked])


_GATHER = {"Tindices": int32, "Taxis": int32, "batch_dims": 0}
