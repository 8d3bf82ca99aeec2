"""`ClosedFunction`: nodes with all that they take and give, and the programs that run them.

Whatever is compiled is one: the fetches of a session, what a `tf.function` did, the reverse walk of a recorded tape, a
Jacobian, the branches of a `cond` and the body of a loop. Nothing else wraps a program. It takes arrays for its
parameters, and the values of the variables that it reads; it gives results, and new values for variables. So it can be
compiled, differentiated, batched and copied into another trace without anybody around it:

- `ClosedFunction.run` reads state, runs the program and writes state in one step; `ClosedFunction.at` is the same
  function for arguments of other shapes;
- `ClosedFunction.pullback` is its reverse walk, `ClosedFunction.pushforward` its forward walk, both with the forward
  values computed anew inside; `ClosedFunction.batched` applies it to many arguments at once. Each gives another closed
  function, which is remembered;
- `ClosedFunction.inline` applies it node by node, `ClosedFunction.ops` to eager values that others record;
- `ClosedFunction.explain` says what it takes, gives and is guarded by, and what the compiler did.

`build` makes one from a Python function of symbols, `engine.closed.capture` from nodes that a function has added to
a graph, `engine.closed.retrace` from a recording, `engine.closed.traced_function` from what Python code did.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from engine.compiler.ir.instruction import is_stateful
from engine.compiler.ir.layout import Order, same_layout
from engine.core.aval import Aval, aval_of_array
from engine.core.batching import Batched, batch_level, materialize
from engine.core.eager import in_c, wrap
from engine.core.instantiate import Make, applied, in_trace, instantiate, like
from engine.core.op import Node, Op, are_plain
from engine.core.operands import Operand
from engine.core.structural import reshape_like
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, constant, needed_nodes, placeholder
from engine.core.value import aval_of, scalar
from engine.derivatives import strong_zeros
from engine.derivatives.aggregation import value_of
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.ops.creation import zeros_like
from engine.runtime.cache import Cache
from engine.runtime.collector import uncollected
from engine.runtime.commit import exclusively, in_order
from engine.runtime.ownership import Shared
from engine.runtime.tuning import TUNING

if TYPE_CHECKING:
    from engine.compiler.program import Program

R = TypeVar("R")

_CAPACITY = 64
"""Compiled programs (one for each combination of shapes) that a closed function keeps."""
_NOTHING: Cache[Any, Any] = Cache("closed functions", 0, key="nothing: it keeps nothing")
_FEW = 64
"""Elements up to which constants are compared by contents."""


class Step(Node):
    """A node of a closed function, which knows where in the user's program it was made."""

    __slots__ = ("where",)
    where: str


class Body(Trace):
    """The trace inside a `ClosedFunction`. What is added to it is marked with `where`."""

    def __init__(self) -> None:
        super().__init__()
        self.where = ""

    def make_node(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str | None = None) -> Node:
        """A step."""
        step = Step(op, inputs, params, ())
        step.where = self.where
        return step

    def copied(self, describe: Callable[[Node], str]) -> Make:
        """A maker of the same nodes here, each marked with ``describe(node)``."""
        again = like(self)

        def make(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
            self.where = describe(node)
            return again(node, operands)

        return make


class Store(Protocol):
    """Where the variables that a closed function reads and writes have their values."""

    def key(self, handle: Any) -> Any:
        """The argument of `read` for a handle."""

    def keys(self, handles: Sequence[Any]) -> list[Any]:
        """The same for several; raises if one has no value."""

    def destinations(self, assigned: Sequence[Any]) -> Sequence[Any]:
        """The argument of `assign` for some `Assignment`."""

    def locks(self, handles: Sequence[Any]) -> Iterable[Any]:
        """The locks that are held from reading to writing these."""

    def read(self, keys: Sequence[Any]) -> list[Any]:
        """The values, all of them as they are at one moment."""

    def assign(
        self, destinations: Sequence[Any], results: Sequence[Any], updates: Sequence[Any], arguments: list[Any]
    ) -> None:
        """Store new values, all or none, once `arguments` are let go of."""


def _where(node: Node) -> str:
    return node.where if type(node) is Step else ""


class ClosedFunction:
    """A closed function from values to values.

    Its results, as its parameters, are symbols of one trace, a `Body` if nodes are to know where they were made. Values
    are given for the parameters, placeholders mostly, which are not computed. `nodes` are what must run, in the order
    of execution; by default what the results need, and effects such as assertions. `avals`, by default what the symbols
    know, is what its program is for.

    It may be one of a recording or a path: then `captures` are the numbers of the values that are its arguments, and it
    holds for some `contents` alone, by number. `form` is what the results are to the caller: a number stands for the
    result, None for what there is none of; the blocks of a Jacobian, whose `plan` it carries out, are lists of rows,
    ``[target][source]``.

    The `store` has the values of variables that it reads or writes; `after` are results that variables hold after the
    run, with their handles. Once there is a program, `reads` and `locks` are the store's keys of those it reads and the
    locks of those it writes. Results are the caller's alone, in memory of their own, if `owned`. Further arguments are
    those of `lower`, for all its programs; by default nothing is known of how arguments lie in memory. `steps` is how
    many steps the last loop had whose body it is, and whether the one before had as many.
    """

    _program: Program | None = None
    _ops: OpList | None = None
    _stateful: bool | None = None
    # most functions never keep any: those that do get a cache of their own then
    _shaped: Cache[Any, ClosedFunction] = _NOTHING
    _derived: Cache[Any, Any] = _NOTHING
    _fixed: Cache[Any, ClosedFunction] = _NOTHING
    reads: Sequence[Any] = ()
    locks: tuple[Any, ...] = ()
    steps: tuple[int, bool] = 0, False

    def __init__(
        self,
        trace: Trace,
        parameters: Sequence[Symbol],
        results: Sequence[Symbol],
        nodes: Sequence[Node] | None = None,
        *,
        avals: Sequence[Aval] | None = None,
        captures: Sequence[int] = (),
        contents: Mapping[int, Any] | None = None,
        form: Any = None,
        plan: Any = None,
        store: Store | None = None,
        after: Mapping[int, Any] | None = None,
        owned: bool = False,
        **lowering: Any,
    ) -> None:
        self.trace = trace
        self.parameters = tuple(parameters)
        self.results = tuple(results)
        if nodes is None:
            effects = [node for node in trace.nodes if not node.outputs]
            nodes = needed_nodes(trace.nodes, [*results, *effects], {id(p) for p in parameters})
        self.nodes = nodes
        self.avals: Sequence[Aval] = [p.aval for p in self.parameters] if avals is None else avals
        self.captures = list(captures)
        self.contents, self.form, self.plan = contents or {}, form, plan
        self.store, self._after, self._owned = store, after or {}, owned
        self._lowering = {"orders": [Order.UNKNOWN] * len(self.parameters), "describe": _where, **lowering}

    def __reduce__(self) -> tuple[Any, ...]:
        if self.plan is None:
            return ClosedFunction, (self.trace, self.parameters, self.results, self.nodes)
        # a Jacobian goes without its nodes: they may hold rules of the user's own, and nobody differentiates it by them
        self.program  # noqa: B018 - made now
        without: dict[str, Any] = {
            "trace": None,
            "parameters": (),
            "results": (),
            "nodes": (),
            "_lowering": {},
            "_ops": None,
        }
        return _restored, (type(self), {**self.__dict__, **without})

    def __repr__(self) -> str:
        taken, given = ", ".join(map(str, self.avals)), ", ".join(str(r.aval) for r in self.results)
        return f"<closed function ({taken}) -> ({given}), {len(self.nodes)} nodes>"

    @property
    def stateful(self) -> bool:
        """Whether it may have effects."""
        if self._stateful is None:
            self._stateful = any(is_stateful(node.op, node.params) for node in self.nodes)
        return self._stateful

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether it does the same each time: nothing in it has effects, or calls functions of the user."""
        nodes = [node for node in self.nodes if node.op not in (constant, placeholder)]
        return not self.stateful and all(are_plain(node.params, closed=True) for node in nodes)

    def like(self, **others: Any) -> ClosedFunction:
        """The same with other attributes."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, **others)
        return found

    # ---- its programs ------------------------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The program for arguments of `avals`; it is made when it is asked for first, as often as threads do so."""
        return self._program or self._make_program()

    def _make_program(self) -> Program:
        from engine.compiler.lowering import lower

        given = list(zip(self.parameters, self.avals, strict=True))
        program, reads, assigned = uncollected(lower, self.nodes, given, self.results, **self._lowering)
        self._constants = [i for i, slot in enumerate(program.outputs) if slot in program.constants]
        self._count = len(self.results)
        self._own = self._count + sum(1 + a.in_part for a in assigned)
        self._owners = program.owners if self._owned else set()
        self._writes = bool(assigned or program.updates)
        if self.store is not None and (reads or self._writes):
            deferred = [h for update in program.updates for handles in update.variables for h in handles]
            changed = [*[a.handle for a in assigned], *deferred]
            self.store.keys(deferred)
            self.reads = self.store.keys(reads)
            aval_of_state = self._lowering.get("state_aval")
            self._state_shapes = None if aval_of_state is None else [aval_of_state(h).shape for h in reads]
            self._assigned = self.store.destinations(assigned)
            self.locks = in_order(self.store.locks(changed))
            written = set(map(id, changed))
            self._renewed = [(i, self.store.key(h)) for i, h in self._after.items() if id(h) in written]
        self._program = program
        return program

    def at(self, arrays: Sequence[Any]) -> ClosedFunction:
        """The same for arguments of the shapes and dtypes of some arrays, with a program of its own; remembered."""
        key = tuple([(a.shape, a.dtype) for a in arrays])
        found = self._shaped.get(key)
        if found is None:
            made = self.like(avals=list(map(aval_of_array, arrays)), _program=None, _shaped=_NOTHING)
            made._make_program()
            found = self._cache("_shaped", "programs of bodies", "the function; shapes, dtypes, layouts").put(key, made)
        return found

    def execute(self, arguments: list[Any], read: Callable[..., list[Any]] | None = None, held: bool = False) -> Any:
        """Its results for arrays; what it reads is read before, what it writes is written after, as one step.

        The arguments are used up. ``read(reads)`` gives the values of variables, in place of what the store has; `held`
        says that this thread holds the `locks`. None if a variable has no longer the shape that the program was made
        for.
        """
        program = self._program or self._make_program()
        if self.locks and not held:
            return exclusively(self.locks, self.execute, arguments, read, True)
        if read is not None:
            arguments += read(self.reads)
        elif self.reads:
            state = self.store.read(self.reads)  # type: ignore[union-attr]
            if self._state_shapes is not None and [value.shape for value in state] != self._state_shapes:
                return None
            arguments += state
            del state
        results: Any = program(*arguments)
        if self._owned and type(results) is not list:
            owned = Shared(arguments, self._owners).owned
            # what updates read is nobody's
            results = (
                [*map(owned, results[: self._own]), *results[self._own :]] if self._writes else [*map(owned, results)]
            )
        if not self._writes:
            return results
        # nobody holds an old value any more, which may then be written over
        results, new = results[: self._count], results[self._count :]
        self.store.assign(self._assigned, new, program.updates, arguments)  # type: ignore[union-attr]
        for place, key in self._renewed:
            results[place] = scalar(np.array(self.store.read([key])[0]))  # type: ignore[union-attr]
        return results

    def __call__(self, *arguments: Any) -> Any:
        """The blocks of a Jacobian for arrays, as its `form` says."""
        results = self.execute([*arguments])
        return [[None if k is None else results[k] for k in row] for row in self.form]

    @property
    def ops(self) -> OpList:
        """Its ops, to be applied one by one to eager values; TypeError if these may be others each time (`OpList`).

        What a tape records has to be ops.
        """
        if self._ops is None:
            most = self._lowering.get("fold_limit", TUNING.fold_bytes)
            self._ops = OpList(self.nodes, self.parameters, self.results, most)
        return self._ops

    def fits(self, contents_of: Callable[[int], Any]) -> bool:
        """Whether it holds for the contents of values with some numbers."""
        if not self.contents:
            return True
        return all(array is None or _same(contents_of(number), array) for number, array in self.contents.items())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that its program and its plan keep."""
        kept = sum(np.asarray(a).nbytes for a in self.program.constants.values())
        return kept if self.plan is None else kept + self.plan.nbytes

    def explain(self) -> str:
        """A text: what it takes and gives, what it reads and writes, what it holds for, and what the compiler did.

        Examples
        --------
        >>> from engine.closed.function import build
        >>> from engine.core.aval import Aval
        >>> from engine.core.dtypes import float64
        >>> from engine.ops.trig import sin
        >>> sine = build([Aval((3,), float64)], lambda body, values: [sin(values[0])])
        >>> for line in sine.explain().splitlines()[:2]:
        ...     print(line)
        <closed function (float64(3,)) -> (float64(3,)), 1 nodes>
        pass                    changed  instructions  flops  bytes
        """
        program = self.program
        lines = [repr(self)]
        if self.reads:
            lines.append(f"values of variables that it reads: {len(self.reads)}")
        if self.locks:
            lines.append(f"variables that it writes: {len(self.locks)}")
        if self.contents:
            lines.append(f"holds for the contents of the values {', '.join(map(str, self.contents))} alone")
        return "\n".join([*lines, program.explain()])

    def derived(self, key: Any, make: Callable[[], R]) -> R:
        """``make()``, remembered under `key`: for threads that ask at once, what the first of them made."""
        found = self._derived.get(key)
        return (
            self._cache(
                "_derived", "derivatives of bodies", "the function; what is made of it, by name and options"
            ).setdefault(key, make())
            if found is None
            else found
        )

    def _cache(self, attribute: str, name: str, key: str) -> Cache[Any, Any]:
        """Its own cache: for threads that ask at once, the same one."""
        cache: Cache[Any, Any] | None = self.__dict__.get(attribute)
        return self.__dict__.setdefault(attribute, Cache(name, _CAPACITY, key=key)) if cache is None else cache

    # ---- applying it -------------------------------------------------------------------------------------------------

    def inline(self, trace: Trace | None, operands: Sequence[Any], effects: bool = True) -> list[Any]:
        """Apply it node by node; constants are made in `trace`, or stay arrays if it is None."""
        of = self._inlined(trace, operands, effects)
        return [of[id(r)] for r in self.results]

    def _inlined(self, trace: Trace | None, operands: Sequence[Any], effects: bool) -> dict[int, Any]:
        """By identity of each of its values: the operand or value that stands for it."""
        of = {id(p): x for p, x in zip(self.parameters, operands, strict=True)}
        added = None if trace is None else in_trace(trace)

        def make(node: Any, operands: tuple[Any, ...]) -> Sequence[Any]:
            if isinstance(trace, Body):
                trace.where = _where(node)
            return applied(node, operands) if operands or added is None else added(node, operands)

        instantiate([node for node in self.nodes if node.outputs or effects], of, make)
        if isinstance(trace, Body):
            trace.where = ""
        return of

    def run(self, *arrays: Any) -> Sequence[Any]:
        """Its results for arrays of any shapes that fit."""
        found = self.at(arrays)
        results = found._program(*arrays)  # type: ignore[misc]
        if not found._constants:
            return results
        # nobody may get hold of a constant of the program itself
        return [same_layout(r) if i in found._constants else r for i, r in enumerate(results)]

    def loop(
        self,
        operands: Sequence[Any],
        carries: int,
        sequences: int,
        steps: range,
        cond: ClosedFunction | None = None,
        before: int = 0,
        program: Program | None = None,
        writes: tuple[tuple[int, bool], ...] = (),
    ) -> tuple[int, list[Any], list[np.ndarray]] | None:
        """Run it natively once for each step, as long as `cond`, of the same operands, holds.

        The operands are what is carried from step to step, then sequences, of which each step takes the row of its
        number (there are none with `cond`), then what stays. Steps go up or down by one; in each stack, `before` rows
        are left free for steps before these. In place of it, `program` may run, with a place and an entry behind its
        results for each of `writes`: carries, and whether entries are added to what is there.

        The result is how many steps there were, what they carried to the end, and their other results, stacked by
        number. None if Python must run them: no table has been made yet, or it is for operands of another form, or
        calls Python.
        """
        start, stop = carries, carries + sequences
        key = tuple([(x.shape[1:] if start <= i < stop else x.shape, x.dtype) for i, x in enumerate(operands)])
        found, of_cond = self._shaped.get(key), None if cond is None else cond._shaped.get(key)
        if found is None or (cond is not None and of_cond is None):
            return None
        holds = None if of_cond is None else of_cond._program
        run: Any = found._program if program is None else program
        return run.loop(holds, operands, carries, sequences, steps, before, writes)

    def result_avals(self, given: Sequence[Aval]) -> tuple[Aval, ...]:
        """The avals of its results for arguments of some avals."""
        key = ("avals", tuple([(a.shape, a.dtype, a.value) for a in given]))
        return self.derived(key, lambda: tuple(r.aval for r in build(given, self.inline).results))

    def fixed(self, arrays: Mapping[int, Any]) -> ClosedFunction:
        """It without some parameters, which hold the given arrays: constants, which its programs can fold."""
        key = tuple([(i, *_identity(a)) for i, a in arrays.items()])
        found = self._fixed.get(key)
        if found is None:
            found = self._cache("_fixed", "bodies with constants", "the function; the constants' contents").put(
                key, self._with_constants(arrays)
            )
        return found

    def _with_constants(self, arrays: Mapping[int, Any]) -> ClosedFunction:
        body = Body()
        left = [p for i, p in enumerate(self.parameters) if i not in arrays]
        of = {id(self.parameters[i]): body.constant(array) for i, array in arrays.items()}
        of.update({id(p): body.placeholder(p.aval) for p in left})
        instantiate(self.nodes, of, body.copied(lambda node: node.where))  # type: ignore[attr-defined]
        return ClosedFunction(body, [of[id(p)] for p in left], [of[id(r)] for r in self.results])

    # ---- what it depends on ------------------------------------------------------------------------------------------

    def uses(self, index: int) -> bool:
        """Whether parameter `index` matters to any result."""
        used = self.derived(
            "used", lambda: {id(x) for x in [*self.results, *[x for n in self.nodes for x in n.inputs]]}
        )
        return id(self.parameters[index]) in used

    def referring(self, among: Iterable[int]) -> ClosedFunction:
        """It with others in place of values of which only a known shape and the dtype count: these need not be there.

        Others are those of the parameters `among` that are alike, and zeros. If that spares no parameter it is the
        function itself.
        """
        known = [self.parameters[i] for i in reversed([*among])]
        first = {(p.aval.shape, p.aval.dtype): p for p in known}

        def seen(node: Node) -> list[Any]:
            """The operands; a pair of shape and dtype for one of which nothing else counts."""
            op, counted = node.op, [(x, x.aval) for x in node.inputs]
            refers = range(len(counted)) if op.from_avals else op.references
            return [(a.shape, a.dtype) if i in refers and a.is_static else x for i, (x, a) in enumerate(counted)]

        needed = set(map(id, self.results))
        for node in reversed(self.nodes):
            if not node.outputs or not needed.isdisjoint(map(id, node.outputs)):
                needed.update([id(first.get(x)) if type(x) is tuple else id(x) for x in seen(node)])
        if all(id(p) in needed or not self.uses(i) for i, p in enumerate(self.parameters)):
            return self

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            found = {id(p): x for p, x in zip(self.parameters, values, strict=True)}

            def alike(form: tuple[Any, Any]) -> Any:
                if form in first:
                    return found[id(first[form])]
                return body.constant(np.broadcast_to(form[1].numpy.type(0), form[0]))

            for node in self.nodes:
                operands = tuple([alike(x) if type(x) is tuple else found[id(x)] for x in seen(node)])
                found.update(zip(map(id, node.outputs), in_trace(body)(node, operands), strict=True))
            return [found[id(r)] for r in self.results]

        return build([p.aval for p in self.parameters], function)

    def reached(self, sources: Iterable[int]) -> set[int]:
        """The indices of the results that have a derivative with respect to any of the given parameters."""
        live = {id(self.parameters[i]) for i in sources}
        for node in self.nodes:
            if any(id(x) in live and node.carries(i) for i, x in enumerate(node.inputs)):
                live.update([id(o) for o in node.outputs if o.dtype.is_differentiable])
        return {i for i, r in enumerate(self.results) if id(r) in live}

    # ---- derivatives -------------------------------------------------------------------------------------------------

    def pullback(
        self,
        wanted: Sequence[int],
        given: Sequence[int],
        seeded: Sequence[int] = (),
        whole: frozenset[int] = frozenset(),
    ) -> tuple[ClosedFunction, list[bool]]:
        """Its reverse walk, from cotangents of `given` results to those of `wanted` parameters.

        It is ``(parameters, cotangents of given, cotangents of seeded) -> cotangents of wanted``, and with it comes per
        wanted parameter whether a path leads to it. Of `seeded` ones something is known already, which is added up with
        the rest. In cotangents of `whole` results a zero is a number like others; in those of the rest it stands for an
        element that was not chosen (`engine.derivatives.strong_zeros`).
        """
        return self.reverse_walk(wanted, given, seeded, whole)[:2]

    def reverse_walk(
        self, wanted: Sequence[int], given: Sequence[int], seeded: Sequence[int], whole: frozenset[int]
    ) -> tuple[ClosedFunction, list[bool], dict[int, Any], list[bool]]:
        """`pullback`, by identity of a value of this function the one of the walk that is computed anew, and choices.

        The last tells which of the wanted parameters have cotangents of elements that may not have been chosen.
        """

        def walk(body: Body, values: Sequence[Any]) -> tuple[list[Any], tuple[list[bool], dict[int, Any], list[bool]]]:
            count, cut_off = len(self.parameters), len(self.parameters) + len(given)
            of = self._inlined(body, values[:count], False)
            outputs = [of[id(r)] for r in self.results]
            known = [(values[i], strong_zeros.seeded(ct)) for i, ct in zip(seeded, values[cut_off:], strict=True)]
            cts = [
                (i, ct if i in whole else strong_zeros.seeded(ct))
                for i, ct in zip(given, values[count:cut_off], strict=True)
            ]
            seeds = [(body.operand(outputs[i]), ct) for i, ct in cts]
            nodes = list(body.nodes)
            ends = [values[i] for i in wanted]
            parts = reverse(with_slopes(nodes), [*known, *seeds], ends, ones=True, parts=True)
            found = [value_of(strong_zeros.settled(g)) for g in parts]
            filled = [
                zeros_like(values[i]) if g is None else _known(g, values[i]) for i, g in zip(wanted, found, strict=True)
            ]
            chosen = [g is None or strong_zeros.choice_in(g) for g in parts]
            return filled, ([g is not None for g in found], of, chosen)

        key = ("pullback", tuple(wanted), tuple(given), tuple(seeded), whole)
        avals = [p.aval for p in self.parameters]
        avals += [plain(self.results[i].aval) for i in given] + [plain(avals[i]) for i in seeded]

        def made() -> tuple[ClosedFunction, list[bool], dict[int, Any], list[bool]]:
            closed, more = _built_with(avals, walk)
            return closed, *more

        return self.derived(key, made)

    def pushforward(
        self, given: Sequence[int], targets: Sequence[int], whole: frozenset[int] = frozenset()
    ) -> tuple[ClosedFunction, list[bool]]:
        """Its forward walk, ``(parameters, tangents of given) -> (results, tangents of targets)``.

        With it comes per target whether it has a tangent. `whole` are parameters in whose tangents a zero is a number
        like others (see `pullback`).
        """
        return self.forward_walk(given, targets, whole)[:2]

    def forward_walk(
        self, given: Sequence[int], targets: Sequence[int], whole: frozenset[int]
    ) -> tuple[ClosedFunction, list[bool], list[bool]]:
        """`pushforward`, and which of the targets have tangents of elements that may not have been chosen."""

        def walk(body: Body, values: Sequence[Any]) -> tuple[list[Any], tuple[list[bool], list[bool]]]:
            count = len(self.parameters)
            outputs = [body.operand(r) for r in self.inline(body, values[:count])]
            ts = [(i, t if i in whole else strong_zeros.seeded(t)) for i, t in zip(given, values[count:], strict=True)]
            parts = forward(
                list(body.nodes), [(values[i], t) for i, t in ts], [outputs[i] for i in targets], parts=True
            )
            found = [*map(strong_zeros.settled, parts)]
            filled = [zeros_like(outputs[i]) if t is None else t for i, t in zip(targets, found, strict=True)]
            chosen = [t is None or strong_zeros.choice_in(t) for t in parts]
            return [*outputs, *filled], ([t is not None for t in found], chosen)

        def made() -> tuple[ClosedFunction, list[bool], list[bool]]:
            closed, more = _built_with(avals, walk)
            return closed, *more

        avals = [p.aval for p in self.parameters]
        avals += [plain(avals[i]) for i in given]
        return self.derived(("pushforward", tuple(given), tuple(targets), whole), made)

    # ---- batches -----------------------------------------------------------------------------------------------------

    def batched(
        self, flags: Sequence[bool], avals: Sequence[Aval], size: int, full: Sequence[bool] | None = None
    ) -> tuple[ClosedFunction, list[bool]]:
        """It applied to many arguments at once, those with flags; and which results have the batch axis.

        The avals are those of the arguments, batch axis included. Results of `full` must have it; by default those do
        that depend on the batch.
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
    """A key that tells an array from others: a few elements by what they are, more by where they are."""
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
    """Operands and parameters of an op with the constants among its captures inside its closed functions.

    `arrays` are those operands that are constants, by index. The parameters of `names` are closed functions of the
    operands; captures start at index `first`, and `ahead` operands in front are no parameters of theirs.
    """
    chosen = {i: a for i, a in arrays.items() if i >= first}
    if not chosen:
        return tuple(inputs), params
    inner = {i - ahead: a for i, a in chosen.items()}
    fixed = {name: params[name].fixed(inner) for name in names}
    return tuple([x for i, x in enumerate(inputs) if i not in chosen]), {**params, **fixed}


def _restored(kind: type[ClosedFunction], attributes: dict[str, Any]) -> ClosedFunction:
    """One that was pickled without its nodes."""
    found = object.__new__(kind)
    found.__dict__.update(attributes)
    # identities of another process
    found._owners = found.program.owners if found._owned else set()
    return found


def _same(a: Any, b: np.ndarray) -> bool:
    return a is b or bool(np.array_equal(a, b))


def plain(aval: Aval) -> Aval:
    """Without what is known of the contents."""
    return Aval(aval.shape, aval.dtype)


def build(avals: Sequence[Aval], function: Callable[[Body, Sequence[Any]], Sequence[Any]]) -> ClosedFunction:
    """The closed function of ``function(body, symbols)`` for parameters of the given avals."""
    return _built_with(avals, lambda body, values: (function(body, values), None))[0]


def _built_with(
    avals: Sequence[Aval], function: Callable[..., tuple[Sequence[Any], Any]]
) -> tuple[ClosedFunction, Any]:
    body = Body()
    parameters = [body.placeholder(a) for a in avals]
    with paused():
        results, more = function(body, parameters)
    return ClosedFunction(body, parameters, [body.operand(r) for r in results]), more


class OpList:
    """Ops in the order of execution, which take values by number: given symbols make wanted ones, all of known shapes.

    Numbers count the values given, the constants (of `most` bytes at the most), then the results as they come.

    Raises
    ------
    TypeError
        If a shape is not known, so that other ops might be chosen once it is; if a parameter is a function, which must
        be asked anew each time; if a constant is too large to be kept.
    """

    __slots__ = ("constants", "steps", "wanted")

    def __init__(self, nodes: Sequence[Node], given: Sequence[Any], wanted: Sequence[Any], most: int) -> None:
        numbers = {id(symbol): number for number, symbol in enumerate(given)}
        made = [node for node in nodes if not all(id(out) in numbers for out in node.outputs)]
        held = [node for node in made if node.op is constant]
        steps: list[Any] = []
        self.constants = [node.params["value"] for node in held]
        for node in held:
            numbers[id(node.outputs[0])] = len(numbers)
        if any(c.nbytes > most for c in self.constants):
            raise TypeError("a constant is too large to be kept")
        for node in made:
            if node.op is constant:
                continue
            plain = not node.op.stateful and are_plain(node.params, closed=True)
            if not plain or not all(out.aval.is_static for out in node.outputs):
                raise TypeError(f"{node.op.title} may be another op each time")
            steps += (node.op, tuple([numbers[id(x)] for x in node.inputs]), node.params)
            for out in node.outputs:
                numbers[id(out)] = len(numbers)
        self.steps = tuple(steps)
        self.wanted = [numbers[id(x)] for x in wanted]

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The results that are wanted, from eager tensors and shapes for what is given."""
        values = [*given, *map(wrap, self.constants)]
        apply_all(self.steps, values)
        return [values[number] for number in self.wanted]


def apply_all(steps: tuple[Any, ...], values: list[Any]) -> None:
    """Apply ops to values by number, and add their results to these."""
    parts = iter(steps)
    for op, numbers, params in zip(parts, parts, parts, strict=True):
        result = op(*[values[number] for number in numbers], **params)
        values += result if op.multi else (result,)


if in_c:
    apply_all = in_c.apply_all
