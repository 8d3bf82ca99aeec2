"""Sub-traces: closed functions inside a graph, such as the branches of a `cond` and the body of a loop.

A `SubTrace` is a trace with parameters and results and nothing else: what it took from the graph around it has become a
parameter, variables included. So it can be compiled, differentiated and batched on its own; each of these gives another
sub-trace, which is remembered:

- `SubTrace.run` compiles it for the shapes at hand and runs it on arrays;
- `SubTrace.pullback` is its reverse walk, `SubTrace.pushforward` its forward walk, both with the forward values
  computed anew inside;
- `SubTrace.batched` applies it to many arguments at once.

`build` makes one from a Python function of symbols, `engine.closed.capture` from nodes that a function has added to
a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from engine.compiler.ir.instruction import is_stateful
from engine.compiler.ir.layout import Order, same_layout
from engine.compiler.lowering import lower
from engine.compiler.program import Program
from engine.core.aval import Aval, aval_of_array
from engine.core.batching import Batched, batch_level, materialize
from engine.core.instantiate import Make, applied, in_trace, instantiate, like
from engine.core.op import Node, Op
from engine.core.operands import Operand
from engine.core.structural import reshape_like
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, needed_nodes
from engine.core.value import aval_of
from engine.forward import forward
from engine.ops.creation import zeros_like
from engine.reverse import reverse
from engine.runtime.cache import Cache
from engine.slopes import with_slopes

R = TypeVar("R")

_CAPACITY = 64
"""Compiled programs (one for each combination of shapes) that a sub-trace keeps."""
_FEW = 64
"""Elements up to which constants are compared by contents."""


class Step(Node):
    """A node of a sub-trace, which knows where in the user's program it was made."""

    __slots__ = ("where",)
    where: str


class Body(Trace):
    """The trace inside a `SubTrace`. What is added to it is marked with `where`."""

    def __init__(self) -> None:
        super().__init__()
        self.where = ""

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """A step."""
        step = Step(op, inputs, params, ())
        step.where = self.where
        return step

    def copied(self, describe: Callable[[Node], str]) -> Make:
        """What makes the same nodes here, each marked with ``describe(node)``."""
        again = like(self)

        def make(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
            self.where = describe(node)
            return again(node, operands)

        return make


class SubTrace:
    """A closed function from values to values.

    Parameters
    ----------
    body : Body
    parameters : sequence of Symbol
        Placeholders of `body`.
    results : sequence of Symbol

    Attributes
    ----------
    nodes : list of Node
        What the results, and effects such as assertions, need.
    stateful : bool
        Whether it may have effects.
    """

    def __init__(self, body: Body, parameters: Sequence[Symbol], results: Sequence[Symbol]) -> None:
        self.body = body
        self.parameters = tuple(parameters)
        self.results = tuple(results)
        effects = [node for node in body.nodes if not node.outputs]
        self.nodes = needed_nodes(body.nodes, [*results, *effects], {id(p) for p in parameters})
        self.stateful = any(is_stateful(node.op, node.params) for node in self.nodes)
        self._programs: Cache[Any, tuple[Program, list[int]]] = Cache("programs of bodies", _CAPACITY)
        self._derived: Cache[Any, Any] = Cache("derivatives of bodies", _CAPACITY)
        self._fixed: Cache[Any, SubTrace] = Cache("bodies with constants", _CAPACITY)

    def __reduce__(self) -> tuple[Any, ...]:
        return SubTrace, (self.body, self.parameters, self.results)

    def __repr__(self) -> str:
        taken, given = ", ".join(str(p.aval) for p in self.parameters), ", ".join(str(r.aval) for r in self.results)
        return f"<sub-trace ({taken}) -> ({given}), {len(self.nodes)} nodes>"

    def derived(self, key: Any, make: Callable[[], R]) -> R:
        """``make()``, remembered under `key`: for threads that ask at once, what the first of them made."""
        found = self._derived.get(key)
        return self._derived.setdefault(key, make()) if found is None else found

    # ---- applying it -------------------------------------------------------------------------------------------------

    def inline(self, trace: Trace | None, operands: Sequence[Any], effects: bool = True) -> list[Any]:
        """Apply it node by node; constants are made in `trace`, or stay arrays if it is None."""
        of = {id(p): x for p, x in zip(self.parameters, operands, strict=True)}
        added = None if trace is None else in_trace(trace)

        def make(node: Any, operands: tuple[Any, ...]) -> Sequence[Any]:
            if isinstance(trace, Body):
                trace.where = node.where
            return applied(node, operands) if operands or added is None else added(node, operands)

        instantiate([node for node in self.nodes if node.outputs or effects], of, make)
        if isinstance(trace, Body):
            trace.where = ""
        return [of[id(r)] for r in self.results]

    def run(self, *arrays: Any) -> Sequence[Any]:
        """Its results for some arrays."""
        key = tuple([(a.shape, a.dtype) for a in arrays])
        found = self._programs.get(key)
        if found is None:
            found = self._programs.put(key, self._compile(arrays))
        program, constants = found
        results = program(*arrays)
        if not constants:
            return results
        # nobody may get hold of a constant of the program itself
        return [same_layout(r) if i in constants else r for i, r in enumerate(results)]

    def loop(
        self, operands: Sequence[Any], carries: int, sequences: int, steps: range, cond: SubTrace | None = None
    ) -> tuple[int, list[Any], list[np.ndarray]] | None:
        """Run it natively once for each step, as long as `cond` holds.

        Parameters
        ----------
        operands : sequence of array
            What is carried from step to step, then sequences, of which each step takes the row of its number, then
            what stays.
        carries, sequences : int
            How many there are.
        steps : range
            The numbers of the steps, up or down by one.
        cond : SubTrace, optional
            Of the same operands; there are no sequences then.

        Returns
        -------
        tuple or None
            How many steps there were, what they carried to the end, and their other results, stacked by number; None
            if Python must run them: no table has been made yet, or it is for operands of another form, or calls Python.
        """
        start, stop = carries, carries + sequences
        key = tuple([(x.shape[1:] if start <= i < stop else x.shape, x.dtype) for i, x in enumerate(operands)])
        program, of_cond = self._programs.get(key), None if cond is None else cond._programs.get(key)
        if program is None or (cond is not None and of_cond is None):
            return None
        return program[0].loop(None if of_cond is None else of_cond[0], operands, carries, sequences, steps)

    def _compile(self, arrays: Sequence[Any]) -> tuple[Program, list[int]]:
        given = [(p, aval_of_array(a)) for p, a in zip(self.parameters, arrays, strict=True)]
        orders = [Order.UNKNOWN] * len(given)
        program, _, _ = lower(self.nodes, given, self.results, orders=orders, describe=lambda node: node.where)  # type: ignore[attr-defined]
        return program, [i for i, slot in enumerate(program.outputs) if slot in program.constants]

    def avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """The avals of its results for arguments of some avals."""
        key = ("avals", tuple([(a.shape, a.dtype, a.value) for a in given]))
        return self.derived(key, lambda: tuple(r.aval for r in build(given, self.inline).results))

    def fixed(self, arrays: Mapping[int, Any]) -> SubTrace:
        """It without some parameters, which hold the given arrays: constants, which its programs can fold.

        Parameters
        ----------
        arrays : mapping of int to array
            By index of the parameter. They must not be changed.
        """
        key = tuple([(i, *_identity(a)) for i, a in arrays.items()])
        return self._fixed.get(key) or self._fixed.put(key, self._with_constants(arrays))

    def _with_constants(self, arrays: Mapping[int, Any]) -> SubTrace:
        body = Body()
        left = [p for i, p in enumerate(self.parameters) if i not in arrays]
        of = {id(self.parameters[i]): body.constant(array) for i, array in arrays.items()}
        of.update({id(p): body.placeholder(p.aval) for p in left})
        instantiate(self.nodes, of, body.copied(lambda node: node.where))  # type: ignore[attr-defined]
        return SubTrace(body, [of[id(p)] for p in left], [of[id(r)] for r in self.results])

    # ---- what it depends on ------------------------------------------------------------------------------------------

    def uses(self, index: int) -> bool:
        """Whether parameter `index` matters to any result."""
        used = self.derived(
            "used", lambda: {id(x) for x in [*self.results, *[x for n in self.nodes for x in n.inputs]]}
        )
        return id(self.parameters[index]) in used

    def reached(self, sources: Iterable[int]) -> set[int]:
        """The indices of the results that have a derivative with respect to any of the given parameters."""
        live = {id(self.parameters[i]) for i in sources}
        for node in self.nodes:
            if any(id(x) in live and node.carries(i) for i, x in enumerate(node.inputs)):
                live.update([id(o) for o in node.outputs if o.dtype.is_differentiable])
        return {i for i, r in enumerate(self.results) if id(r) in live}

    # ---- derivatives -------------------------------------------------------------------------------------------------

    def pullback(
        self, wanted: Sequence[int], given: Sequence[int], seeded: Sequence[int] = ()
    ) -> tuple[SubTrace, list[bool]]:
        """Its reverse walk.

        Parameters
        ----------
        wanted : sequence of int
            Parameters whose cotangents are wanted.
        given : sequence of int
            Results whose cotangents are given.
        seeded : sequence of int
            Wanted parameters of whose cotangents something is known already; it is added up with the rest.

        Returns
        -------
        SubTrace
            ``(parameters, cotangents of given, cotangents of seeded) -> cotangents of wanted``.
        connected : list of bool
            Per wanted parameter, whether a path leads to it.
        """

        def walk(body: Body, values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            count, cut_off = len(self.parameters), len(self.parameters) + len(given)
            outputs = self.inline(body, values[:count], effects=False)
            known = [(values[i], ct) for i, ct in zip(seeded, values[cut_off:], strict=True)]
            seeds = [(body.operand(outputs[i]), ct) for i, ct in zip(given, values[count:cut_off], strict=True)]
            nodes = list(body.nodes)
            ends = [values[i] for i in wanted]
            found = reverse(with_slopes(nodes), [*known, *seeds], ends)
            filled = [
                zeros_like(values[i]) if g is None else _known(g, values[i]) for i, g in zip(wanted, found, strict=True)
            ]
            return filled, [g is not None for g in found]

        key = ("pullback", tuple(wanted), tuple(given), tuple(seeded))
        avals = [p.aval for p in self.parameters]
        avals += [plain(self.results[i].aval) for i in given] + [plain(avals[i]) for i in seeded]
        return self.derived(key, lambda: _built_with(avals, walk))

    def pushforward(self, given: Sequence[int], targets: Sequence[int]) -> tuple[SubTrace, list[bool]]:
        """Its forward walk.

        Returns
        -------
        SubTrace
            ``(parameters, tangents of given) -> (results, tangents of targets)``.
        connected : list of bool
            Per target, whether it has a tangent.
        """

        def walk(body: Body, values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            count = len(self.parameters)
            outputs = [body.operand(r) for r in self.inline(body, values[:count])]
            seeds = [(values[i], t) for i, t in zip(given, values[count:], strict=True)]
            found = forward(list(body.nodes), seeds, [outputs[i] for i in targets])
            filled = [zeros_like(outputs[i]) if t is None else t for i, t in zip(targets, found, strict=True)]
            return [*outputs, *filled], [t is not None for t in found]

        avals = [p.aval for p in self.parameters]
        avals += [plain(avals[i]) for i in given]
        return self.derived(("pushforward", tuple(given), tuple(targets)), lambda: _built_with(avals, walk))

    # ---- batches -----------------------------------------------------------------------------------------------------

    def batched(
        self, flags: Sequence[bool], avals: Sequence[Aval], size: int, full: Sequence[bool] | None = None
    ) -> tuple[SubTrace, list[bool]]:
        """It applied to many arguments at once.

        Parameters
        ----------
        flags : sequence of bool
            Which parameters have the batch axis in front.
        avals : sequence of Aval
            Of the arguments, batch axis included.
        size : int
            Of the batch.
        full : sequence of bool, optional
            Which results must have the batch axis; by default those that depend on the batch.

        Returns
        -------
        SubTrace
        batched : list of bool
            Which results have the batch axis.
        """

        def walk(body: Body, values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            with batch_level() as level:
                given = [Batched(x, level, size) if f else x for x, f in zip(values, flags, strict=True)]
                outputs = self.inline(body, given)
                batch = [isinstance(o, Batched) and o.level == level for o in outputs]
                inner = [o.inner if b else o for o, b in zip(outputs, batch, strict=True)]
                wanted = batch if full is None else list(full)
                return [
                    materialize(x, size) if w > b else x for x, w, b in zip(inner, wanted, batch, strict=True)
                ], wanted

        key = ("batched", tuple(flags), tuple([(a.shape, a.dtype, a.value) for a in avals]), size)
        return self.derived((*key, None if full is None else tuple(full)), lambda: _built_with(avals, walk))


def _known(cotangent: Any, of: Any) -> Operand:
    """A cotangent, of which at least as much is known as of its value: a loop of no steps has nothing else to go by."""
    if aval_of(cotangent).is_static or not aval_of(of).is_static:
        return cotangent
    return reshape_like(cotangent, of)


def _identity(array: Any) -> tuple[Any, ...]:
    """What tells an array from others: a few elements by what they are, more by where they are."""
    small = array.size <= _FEW
    return array.dtype.str, array.shape, array.tobytes() if small else id(array)


def with_fixed(
    inputs: Sequence[Any],
    arrays: Mapping[int, Any],
    params: dict[str, Any],
    names: Sequence[str],
    first: int,
    ahead: int,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and parameters of an op with the constants among its captures inside its sub-traces.

    Parameters
    ----------
    inputs : sequence
        The op's operands.
    arrays : mapping of int to array
        By index of the operand, those that are constants.
    params : dict
    names : sequence of str
        The parameters that are sub-traces of the operands.
    first : int
        Index of the first capture.
    ahead : int
        How many operands are no parameters of the sub-traces; they come first.
    """
    chosen = {i: a for i, a in arrays.items() if i >= first}
    if not chosen:
        return tuple(inputs), params
    inner = {i - ahead: a for i, a in chosen.items()}
    fixed = {name: params[name].fixed(inner) for name in names}
    return tuple([x for i, x in enumerate(inputs) if i not in chosen]), {**params, **fixed}


def plain(aval: Aval) -> Aval:
    """Without what is known of the contents."""
    return Aval(aval.shape, aval.dtype)


def build(avals: Sequence[Aval], function: Callable[[Body, Sequence[Any]], Sequence[Any]]) -> SubTrace:
    """The sub-trace of ``function(body, symbols)`` for parameters of the given avals."""
    return _built_with(avals, lambda body, values: (function(body, values), None))[0]


def _built_with(avals: Sequence[Aval], function: Callable[..., tuple[Sequence[Any], Any]]) -> tuple[SubTrace, Any]:
    body = Body()
    parameters = [body.placeholder(a) for a in avals]
    with paused():
        results, more = function(body, parameters)
    return SubTrace(body, parameters, [body.operand(r) for r in results]), more
