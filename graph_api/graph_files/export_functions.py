"""Functions as TensorFlow 2 writes them: a `FunctionDef` for each, with functions for branches and bodies of loops.

The nodes of a function refer to one another by the names of outputs (`graph_api.graph_files.outputs`). What has effects
runs in the order in which it was made, by control inputs, and in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files.graph_protos import ArgDef, FunctionDef, FunctionDefLibrary, NodeDef, OpDef
from engine.closed.function import ClosedFunction
from engine.compiler.ir.instruction import is_stateful
from engine.core.dtypes import bool_, int32
from engine.core.op import Node
from engine.core.trace import Symbol, placeholder
from engine.core.variable import assign_variable, read_variable, variable_handle, variable_is_initialized
from engine.ops.pool import largest_tap_op, scatter_taps_op
from graph_api.graph_files.exporting import VARIANT, Called, Own, Shape, Source, Writer, attribute, only_for, write
from graph_api.graph_files.outputs import reference


class Argument(NamedTuple):
    """An argument of a function.

    Attributes
    ----------
    name : str
    dtype : DType, RESOURCE or VARIANT
    shape : Shape or None
    """

    name: str
    dtype: Any
    shape: Shape | None


def argument(name: str, value: Any) -> Argument:
    """An argument like a value."""
    dims = value.aval.shape
    return Argument(name, value.dtype, None if dims is None else Shape(dims))


_OF_STATE = (read_variable, assign_variable, variable_is_initialized)


class FunctionLibrary:
    """Functions that are written.

    Attributes
    ----------
    made : FunctionDefLibrary
    unknown : dict of str to str
        The ops that TensorFlow has not, by the type that they have in files, with a function that has it.
    """

    def __init__(self) -> None:
        self.made = FunctionDefLibrary()
        self.unknown: dict[str, str] = {}
        self._taken: set[str] = set()

    def free(self, name: str) -> str:
        """A name that no function has."""
        plain = "".join([c if c.isalnum() or c == "_" else "_" for c in name])
        candidate, number = plain, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{plain}_{number}"
        self._taken.add(candidate)
        return candidate

    def define(
        self, name: str, arguments: Sequence[Argument], results: Sequence[Any],
        build: Callable[[FunctionWriter, list[str]], Sequence[str]],
    ) -> Called:  # fmt: skip
        """Write a function.

        Parameters
        ----------
        name : str
        arguments : sequence of Argument
        results : sequence of dtype
        build : callable
            ``build(writer, arguments)`` writes its nodes and gives the names of what it returns.

        Returns
        -------
        Called
            The name that it has.
        """
        called = Called(self.free(name))
        writer = FunctionWriter(self, [a.name for a in arguments])
        outputs = build(writer, [a.name for a in arguments])
        ends = [writer.node(writer.free("result"), "Identity", [x], T=t) for x, t in zip(outputs, results, strict=True)]
        signature = OpDef(name=str(called), is_stateful=bool(writer.effects))
        signature.input_arg.extend([ArgDef(name=a.name, type=attribute(a.dtype).type) for a in arguments])
        signature.output_arg.extend([ArgDef(name=f"output_{i}", type=attribute(t).type) for i, t in enumerate(results)])
        made = FunctionDef(signature=signature)
        made.attr["_input_shapes"].CopyFrom(attribute([a.shape for a in arguments]))
        made.node_def.extend(writer.in_function())
        for i, node in enumerate(ends):
            made.ret[f"output_{i}"] = f"{node}:output:0"
        made.signature.control_output.extend(writer.effects)
        for effect in writer.effects:
            made.control_ret[effect] = effect
        for node in writer.made.node:
            if node.op.startswith("Dualgrad>"):
                self.unknown.setdefault(node.op, str(called))
        self.made.function.append(made)
        return called


class FunctionWriter(Writer):
    """Writes the nodes of a function.

    Attributes
    ----------
    effects : list of str
        The nodes that run in any case.
    """

    def __init__(self, library: FunctionLibrary, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self.library = library
        self.effects: list[str] = []
        self._arguments = frozenset(arguments)
        # by the identities of variables' handles, the nodes that assigned last, and those that have read since
        self._written: dict[int, str] = {}
        self._read: dict[int, list[str]] = {}

    def add(self, nodes: Sequence[Node], results: Sequence[Any]) -> list[str]:
        """Write nodes whose operands from outside have names by now; the names of their results."""
        needed = kept(nodes, results)
        self.unneeded |= only_for(needed, largest_tap_op, scatter_taps_op)
        for node in needed:
            self._add_one(node, self.free(node.op.type))
        return [self.name_of(r) if isinstance(r, Symbol) else self.const("constant", r.numpy()) for r in results]

    def _add_one(self, node: Node, name: str) -> None:
        controls: list[str] = []
        before = dict(self.outputs)
        handles = [x for x in operands(node) if x.node.op is variable_handle]
        if node.op in _OF_STATE:
            handle = id(node.inputs[0])
            controls = [self._written[handle]] if handle in self._written else []
            if node.op is assign_variable:
                controls += self._read.pop(handle, [])
                self._written[handle] = name
            else:
                self._read.setdefault(handle, []).append(name)
        else:
            # control flow that takes a variable takes what it holds now
            for x in handles:
                first = [self._written[id(x)]] if id(x) in self._written else []
                near = self.free(f"{name}/ReadVariableOp")
                self.node(near, "ReadVariableOp", [self.outputs[id(x)]], first, dtype=x.dtype)
                self._read.setdefault(id(x), []).append(near)
                self.outputs[id(x)] = near
        if _has_effects(node):
            controls += [] if node.op is assign_variable else self.effects[-1:]
            self.effects.append(name)
        write(self, node, name, controls)
        self.outputs.update({id(x): before[id(x)] for x in handles})

    def in_function(self) -> list[NodeDef]:
        """The nodes, with their inputs as nodes of functions have them."""
        kinds = {node.name: node.op for node in self.made.node}

        def named(text: str) -> str:
            if text.startswith("^") or text in self._arguments:
                return text
            name, _, number = text.partition(":")
            return reference(name, kinds[name], int(number or 0))

        for node in self.made.node:
            node.input[:] = list(map(named, node.input))
        return list(self.made.node)


def kept(nodes: Sequence[Node], results: Sequence[Any]) -> list[Node]:
    """The nodes that results and effects need. TensorFlow's random ops keep themselves where they go on."""
    counters = {
        id(x.node.inputs[0])
        for node in nodes
        for x in _drawn(node)
        if getattr(x, "node", None) is not None and x.node.op is read_variable
    }
    needed = {id(x.node) for x in results if isinstance(x, Symbol)}
    for node in reversed(nodes):
        counts = node.op is assign_variable and id(node.inputs[0]) in counters
        if id(node) in needed or (not counts and _has_effects(node)):
            needed.add(id(node))
            needed.update(id(x.node) for x in operands(node))
    return [node for node in nodes if id(node) in needed and node.op not in (placeholder, variable_handle)]


def _drawn(node: Node) -> list[Any]:
    """The operands by which a random op knows what to draw."""
    return [node.inputs[node.op.args.index(name)] for name in ("seed", "counter")] if "counter" in node.op.args else []


def operands(node: Node) -> list[Any]:
    """The operands of a node, but for those by which it knows what to draw."""
    drawn = set(map(id, _drawn(node)))
    return [x for x in node.inputs if id(x) not in drawn]


def _has_effects(node: Node) -> bool:
    return node.op is assign_variable or is_stateful(node.op, node.params)


def inlined(writer: FunctionWriter, arguments: Sequence[str], body: ClosedFunction) -> list[str]:
    """Write the nodes of a branch or body; the names of its results."""
    writer.outputs.update({id(p): x for p, x in zip(body.parameters, arguments, strict=True)})
    return writer.add(body.nodes, body.results)


def _arguments(values: Sequence[Any]) -> list[Argument]:
    return [argument(f"arg_{i}", x) for i, x in enumerate(values)]


def _branch(s: Source, name: str) -> Called:
    """Write a branch as a function."""
    body: ClosedFunction = s.node.params[name]
    build = partial(inlined, body=body)
    arguments, results = _arguments(s.node.inputs[1:]), [r.dtype for r in body.results]
    return s.writer.library.define(f"cond_{name}_{s.name}", arguments, results, build)


def _shapes(values: Sequence[Any]) -> list[Shape | None]:
    shapes = [x.aval.shape for x in values]
    return [None if dims is None else Shape(dims) for dims in shapes]


def write_choice(s: Source) -> None:
    """A choice as a node with two functions."""
    pred, *operands = s.inputs
    params, dtypes = s.node.params, [x.dtype for x in s.node.inputs[1:]]
    then, other = _branch(s, "true"), _branch(s, "false")
    kind = "If" if is_stateful(s.node.op, params) else "StatelessIf"
    s.main(
        kind, [pred, *operands], Tcond=bool_, Tin=dtypes, Tout=[o.dtype for o in s.node.outputs], then_branch=then,
        else_branch=other, output_shapes=_shapes(s.node.outputs),
    )  # fmt: skip


class LoopVariable(NamedTuple):
    """A loop variable: the name of what it starts as, its dtype and shape."""

    name: str
    dtype: Any
    shape: Any


_Build = Callable[[FunctionWriter, list[str]], list[str]]


def _write_loop(
    s: Source,
    most: str,
    variables: Sequence[LoopVariable],
    captures: Sequence[LoopVariable],
    test: _Build,
    step: _Build,
) -> list[str]:
    """Write a loop as a node with two functions; the names of the loop variables when it has ended.

    As in all loops of TensorFlow 2 its first two variables are the number of the iteration and the most that there may
    be (`most`, -1 if that is not known), which TensorFlow's gradient of loops wants. ``test`` and ``step`` are given
    the number, the others, and what does not change, without the most; ``step`` writes what the variables are next.
    """
    every = [
        LoopVariable(s.const("number", 0), int32, Shape(())),
        LoopVariable(most, int32, Shape(())),
        *variables,
        *captures,
    ]
    kinds, last = [v.dtype for v in every], 2 + len(variables)
    library = s.writer.library
    taken = [Argument(f"arg_{i}", v.dtype, v.shape) for i, v in enumerate(every)]

    def following(writer: FunctionWriter, arguments: list[str]) -> list[str]:
        number = writer.node(
            writer.free("number"), "AddV2", [arguments[0], writer.const("one", 1, "int32")], T=int32
        )  # fmt: skip
        return [number, arguments[1], *step(writer, [arguments[0], *arguments[2:]]), *arguments[last:]]

    looping = library.define(
        f"while_cond_{s.name}", taken, [bool_], lambda w, arguments: test(w, [arguments[0], *arguments[2:]])
    )
    again = library.define(f"while_body_{s.name}", taken, kinds, following)
    kind = "While" if is_stateful(s.node.op, s.node.params) else "StatelessWhile"
    loop = s.step(
        "loop", kind, [v.name for v in every], T=kinds, cond=looping, body=again,
        output_shapes=[v.shape for v in every], parallel_iterations=10,
    )  # fmt: skip
    return [f"{loop}:{i}" for i in range(2, last)]


def _variables(names: Sequence[str], values: Sequence[Any]) -> list[LoopVariable]:
    shapes = _shapes(values)
    return [LoopVariable(n, x.dtype, dims) for n, x, dims in zip(names, values, shapes, strict=True)]


def write_loop(s: Source) -> None:
    """A loop as a node with two functions."""
    params, count = s.node.params, s.node.params["count"]
    outputs = [
        LoopVariable(n, o.dtype, dims)
        for n, o, dims in zip(s.inputs, s.node.outputs, _shapes(s.node.outputs), strict=False)
    ]
    captures = _variables(s.inputs[count:], s.node.inputs[count:])
    s.together(
        _write_loop(
            s, s.const("most", -1), outputs, captures,
            lambda writer, arguments: inlined(writer, arguments[1:], params["cond"]),
            lambda writer, arguments: inlined(writer, arguments[1:], params["body"]),
        ),
    )  # fmt: skip


def write_scan(s: Source) -> None:
    """A loop over the rows of some operands as a node with two functions; its rows are kept in lists of tensors."""
    params = s.node.params
    carries, sequences, body = params["carries"], params["sequences"], params["body"]
    if not sequences:
        raise Own
    dtypes, outputs = [x.dtype for x in s.node.inputs], s.node.outputs
    rows = [out.dtype for out in outputs[carries:]]
    zero = s.const("zero", 0)
    dims = s.step("dims", "Shape", [s.inputs[carries]], T=dtypes[carries], out_type=int32)
    length = s.step("length", "GatherV2", [dims, zero, zero], **_GATHER, Tparams=int32)
    shapes = [s.const("row_shape", _row_shape(out)) for out in outputs[carries:]]
    lists = [
        s.step("rows", "TensorListReserve", [shape, length], element_dtype=t, shape_type=int32)
        for t, shape in zip(rows, shapes, strict=True)
    ]
    state = [
        LoopVariable(n, o.dtype, d) for n, o, d in zip(s.inputs, outputs[:carries], _shapes(outputs), strict=False)
    ]
    state += [LoopVariable(name, VARIANT, Shape(())) for name in lists]
    captures = [LoopVariable(length, int32, Shape(())), *_variables(s.inputs[carries:], s.node.inputs[carries:])]
    first = 1 + len(state)

    def step(writer: FunctionWriter, arguments: list[str]) -> list[str]:
        place, filled, size, rest = (
            arguments[0],
            arguments[1 + carries : first],
            arguments[first],
            arguments[first + 1 :],
        )
        axis = writer.const("axis", 0, "int32")
        if params.get("backwards"):
            last = writer.node(writer.free("last"), "Sub", [size, writer.const("one", 1, "int32")], T=int32)
            place = writer.node(writer.free("place"), "Sub", [last, place], T=int32)
        own = [
            writer.node(writer.free("row"), "GatherV2", [x, place, axis], **_GATHER, Tparams=t)
            for x, t in zip(rest[:sequences], dtypes[carries : carries + sequences], strict=True)
        ]
        results = inlined(writer, [*arguments[1 : 1 + carries], *own, *rest[sequences:]], body)
        more: dict[str, Any] = {"resize_if_index_out_of_bounds": False}
        return results[:carries] + [
            writer.node(writer.free("filled"), "TensorListSetItem", [x, place, row], element_dtype=t, **more)
            for x, row, t in zip(filled, results[carries:], rows, strict=True)
        ]

    def test(writer: FunctionWriter, arguments: list[str]) -> list[str]:
        return [writer.node(writer.free("less"), "Less", [arguments[0], arguments[first]], T=int32)]

    ends = _write_loop(s, length, state, captures, test, step)
    stacked = [
        s.step("stacked", "TensorListStack", [x, shape], element_dtype=t, num_elements=-1)
        for x, shape, t in zip(ends[carries:], shapes, rows, strict=True)
    ]
    s.together([*ends[:carries], *stacked])


def _row_shape(out: Any) -> Any:
    dims = out.aval.shape
    return -1 if dims is None else np.array([-1 if d is None else d for d in dims[1:]], np.int32)


_GATHER: dict[str, Any] = {"Tindices": int32, "Taxis": int32, "batch_dims": 0}
