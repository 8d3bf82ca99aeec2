"""Updates of variables that are made when they are written, once the rest of a program has succeeded.

The last instructions on the way to a variable's new value are mostly elementwise: a step of an optimizer. They need not
be in the program. It returns what they read (the gradient, the learning rate) instead, and whoever writes new values
into the variables runs them as an `UpdateLoop`: large variables where they lie, many small ones together.

So may be a gradient that is a product of two matrices, which together are smaller: it is computed when its variable is
updated, into memory that the next one uses again. Then no two such gradients are in memory at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.layout import Order
from engine.compiler.updates.update_loop import Scratch, Step, UpdateLoop, is_tileable
from engine.core.aval import Aval
from engine.core.dtypes import float32, float64
from engine.core.op import distinct
from engine.executor.staged import raises
from engine.ops.linalg import matmul_op, product_into
from engine.runtime.buffer_pool import empty
from engine.runtime.commit import commit
from engine.runtime.packs import joined, taken_apart
from engine.runtime.structs import struct
from engine.runtime.tuning import TUNING

LARGE = TUNING.update_elements
"""Elements of a variable that is worth a loop of its own."""
MANY = TUNING.update_variables
"""Smaller variables that are worth one together."""


class Product(NamedTuple):
    """A product of two matrices that is computed when it is used."""

    shape: tuple[int, ...]
    """Of the result."""
    params: Mapping[str, Any]
    """Which of the matrices are transposed first."""

    def of(self, factors: Sequence[Any]) -> Any:
        """The product as an op on values."""
        return matmul_op(*factors, **self.params)

    def into(self, out: np.ndarray, factors: Sequence[Any]) -> tuple[Any, ...]:
        """The call of a C function that computes it."""
        return (product_into(out, *factors, **self.params),)


class DeferredArray:
    """An array that is there only once it is computed: a product."""

    __slots__ = ("dtype", "factors", "product", "shape")

    def __init__(self, product: Product, factors: Sequence[np.ndarray]) -> None:
        self.product, self.factors = product, factors
        self.shape, self.dtype = product.shape, factors[0].dtype

    def computed(self) -> np.ndarray:
        """The array."""
        out = empty(self.shape, self.dtype)
        commit([self.product.into(out, self.factors)])
        return out

    @property
    def key(self) -> tuple[Any, ...]:
        """The parts that such products share."""
        return *[x.shape for x in self.factors], distinct(tuple(self.product.params.items()))


def with_deferred_arrays(results: Sequence[Any], products: Mapping[int, tuple[int, Product]]) -> list[Any]:
    """The results of a program that leaves `products` to be computed (`Program.products`)."""
    deferred = {k: DeferredArray(product, (results[k], results[second])) for k, (second, product) in products.items()}
    return [deferred.get(k, result) for k, result in enumerate(results)]


class Places(Protocol):
    """Where variables have their values, by the identities of their handles. Who makes an update holds their locks."""

    packs: bool
    """Whether the values of several variables may be parts of one array."""

    def arrays(self, keys: Sequence[int]) -> list[Any]:
        """The values."""

    def renewed(
        self, keys: tuple[int, ...], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[Any, Any, list[tuple[Any, ...]]]:
        """The old values as one array; an array for the new ones; and the writes that come after."""

    def replacing(self, keys: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """The write that gives the variables new values."""


@struct(frozen=True, eq=False)
class Update:
    """An update of variables, or of equally many variables in each of several places."""

    loop: UpdateLoop
    """Its arrays are the variables' old values, in the order of `variables`, then `operands`; its results are their
    new values, in that order."""
    variables: tuple[tuple[Any, ...], ...]
    """For each place the variables that lie there, one after the other."""
    operands: tuple[tuple[int, ...], ...]
    """For each further array the program's results that lie there, or of whose product it consists."""
    numbers: tuple[int, ...]
    """The program's results that are the loop's numbers."""
    shapes: tuple[tuple[int, ...], ...]
    """Of the variables in each place."""
    products: Mapping[int, Product]
    """By positions among `operands`."""
    keys: tuple[tuple[int, ...], ...] = ()
    """The identities of `variables`."""

    def at(self, positions: Mapping[int, int]) -> Update:
        """The update with positions among a program's results in place of value ids."""
        operands = tuple([tuple([positions[s] for s in ids]) for ids in self.operands])
        numbers = tuple([positions[s] for s in self.numbers])
        keys = tuple([tuple(map(id, handles)) for handles in self.variables])
        return Update(self.loop, self.variables, operands, numbers, self.shapes, self.products, keys)

    def arrays(self, results: Sequence[Any], scratch: Scratch) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """The arrays of `operands` from a program's results; and the calls that compute those that are products."""
        arrays: list[Any] = []
        calls: list[tuple[Any, ...]] = []
        places = iter(scratch.vectors("products", len(self.products), math.prod(self.shapes[0]), self.loop.dtype))
        for i, positions in enumerate(self.operands):
            parts = [results[k] for k in positions]
            product = self.products.get(i)
            if product is None:
                arrays.append(joined(parts))
            else:
                arrays.append(next(places).reshape(product.shape))
                calls.append(product.into(arrays[-1], parts))
        return arrays, calls

    def writes(self, results: Sequence[Any], scratch: Scratch, store: Places) -> list[tuple[Any, ...]]:
        """The writes that make the update from a program's results, for `engine.runtime.commit.commit`."""
        numbers = [np.asarray(results[i]) for i in self.numbers]
        operands, calls = self.arrays(results, scratch)
        if raises() or (len(self.shapes) > 1 and not store.packs):
            # what may fail is done before anything is written
            before = [joined(store.arrays(keys)) for keys in self.keys]
            after = [empty(array.shape, array.dtype) for array in before]
            commit([*calls, *self.loop.calls([*before, *operands], numbers, after, scratch)])
            return [store.replacing(k, taken_apart(a, self.shapes)) for k, a in zip(self.keys, after, strict=True)]
        places = [store.renewed(keys, self.shapes) for keys in self.keys]
        before, after = [old for old, _, _ in places], [new for _, new, _ in places]
        calls += self.loop.calls([*before, *operands], numbers, after, scratch)
        return [*calls, *[write for _, _, writes in places for write in writes]]


@struct(eq=False, slots=True)
class _Part:
    """Instructions that hang together, and the variables whose new values they make."""

    instructions: list[Instruction]
    handles: list[Any]
    loop: UpdateLoop
    operands: list[int]
    numbers: list[int]
    aval: Aval


def taken_out(
    changed: Sequence[tuple[Any, int]], initial: Mapping[int, int], code: Code, wanted: Sequence[int]
) -> list[Update]:
    """Take updates, in which value ids stand for results, out of code; the arguments are those of `assignments`."""
    instructions, avals = code.instructions, code.avals
    new = _replaceable(changed, initial, wanted, avals)
    if not new:
        return []
    inside = _inside(instructions, avals, new, {*wanted, *[s for _, s in changed if s not in new]})
    groups: dict[Any, list[_Part]] = {}
    for part in _parts(inside, avals, new, initial):
        alone = (part.aval.size or 0) >= LARGE
        kind = None if alone or not part.loop.keeps_bits_anywhere else (part.loop.key, tuple(part.numbers))
        groups.setdefault(id(part) if kind is None else kind, []).append(part)
    worth = [g for g in groups.values() if len(g) >= MANY or (g[0].aval.size or 0) >= LARGE]
    # what the largest one needs is enough for the others
    worth.sort(key=lambda group: group[0].aval.size or 0, reverse=True)
    gone = {id(i) for group in worth for part in group for i in part.instructions}
    code.instructions = [i for i in instructions if id(i) not in gone]
    made = {id(handle) for group in worth for part in group for handle in part.handles}
    needed = [*wanted, *[s for handle, s in changed if id(handle) not in made]]
    needed += [s for group in worth for part in group for s in (*part.operands, *part.numbers)]
    single = _worth_waiting(code, needed, initial.values())
    updates = []
    for group in worth:
        operands = [tuple(ids) for ids in zip(*[part.operands for part in group], strict=True)]
        deferred = {k: single[ids[0]] for k, ids in enumerate(operands) if len(group) == 1 and ids[0] in single}
        gone.update(map(id, deferred.values()))
        shapes = tuple([_shape(part.aval) for part in group])
        updates.append(
            Update(
                group[0].loop,
                tuple(zip(*[part.handles for part in group], strict=True)),
                tuple([deferred[k].inputs if k in deferred else ids for k, ids in enumerate(operands)]),
                tuple(group[0].numbers),
                shapes,
                {k: Product(shapes[0], each.params) for k, each in deferred.items()},
            )
        )
    code.instructions = [i for i in code.instructions if id(i) not in gone]
    return updates


def products_put_off(code: Code, wanted: list[int]) -> dict[int, tuple[int, Product]]:
    """Take products that can wait out of code; see `Program.products` for what becomes of `wanted`."""
    deferred = _worth_waiting(code, wanted)
    products = {}
    for k, product in [(k, deferred[s]) for k, s in enumerate(wanted) if s in deferred]:
        products[k] = len(wanted), Product(_shape(code.avals[wanted[k]]), product.params)
        wanted[k] = product.inputs[0]
        wanted.append(product.inputs[1])
        code.instructions.remove(product)
    return products


def _shape(aval: Aval) -> tuple[int, ...]:
    return cast("tuple[int, ...]", aval.shape)


def _worth_waiting(code: Code, needed: Sequence[int], state: Collection[int] = ()) -> dict[int, Instruction]:
    """The products that can wait until one is used, by their value ids.

    `needed` are the value ids of what is used behind the instructions, once for each use; `state` those of what
    variables hold.
    """
    used = code.uses(needed)
    return {
        each.outputs[0]: each
        for each in code.instructions
        if _is_worth_waiting(each, code, state) and used[each.outputs[0]] == 1
    }


def _is_worth_waiting(instruction: Instruction, code: Code, state: Collection[int]) -> bool:
    """Whether an instruction is a large product of two matrices that take less memory, and are no variables."""
    if instruction.op is not matmul_op or any(code.orders[s] is not Order.CONTIGUOUS for s in instruction.inputs):
        return False
    out, *operands = [code.avals[s] for s in (*instruction.outputs, *instruction.inputs)]
    if out.dtype not in (float32, float64) or not all(a.is_static and len(a.shape or ()) == 2 for a in operands):
        return False
    size = out.size or 0
    return size >= LARGE and sum([a.size or 0 for a in operands]) < size and set(instruction.inputs).isdisjoint(state)


def _replaceable(
    changed: Sequence[tuple[Any, int]], initial: Mapping[int, int], wanted: Sequence[int], avals: Mapping[int, Aval]
) -> dict[int, Any]:
    """By the value ids of new values: variables of fixed shape that nothing else shares its new value with."""
    times: dict[int, int] = {}
    for s in (*wanted, *[s for _, s in changed]):
        times[s] = times.get(s, 0) + 1
    return {
        s: handle
        for handle, s in changed
        if times[s] == 1 and handle.aval.is_static and avals[s].dtype.is_floating and s != initial.get(id(handle))
    }


def _inside(
    instructions: Sequence[Instruction], avals: Mapping[int, Aval], new: Mapping[int, Any], outside: set[int]
) -> list[Instruction]:
    """The tileable instructions that only new values need."""
    needed, inside = set(new), []
    outside = set(outside)
    for each in reversed(instructions):
        made = each.outputs[0] if len(each.outputs) == 1 else -1
        if (
            made in needed
            and made not in outside
            and is_tileable(each.op, [avals[s] for s in each.inputs], [avals[made]])
        ):
            needed.update(each.inputs)
            inside.append(each)
        else:
            outside.update(each.inputs)
    return inside[::-1]


def _parts(
    inside: Sequence[Instruction], avals: Mapping[int, Aval], new: Mapping[int, Any], initial: Mapping[int, int]
) -> list[_Part]:
    """The instructions, taken apart into what hangs together."""
    made = {each.outputs[0] for each in inside}
    changed = {s: handle for s, handle in new.items() if s in made}
    old = {initial[id(handle)]: s for s, handle in changed.items() if id(handle) in initial}
    leader = {s: s for s in made}

    def root(s: int) -> int:
        while leader[s] != s:
            leader[s] = leader[leader[s]]
            s = leader[s]
        return s

    for each in inside:
        for s in each.inputs:
            s = old.get(s, s)
            if s in made:
                leader[root(s)] = root(each.outputs[0])
    members: dict[int, list[Instruction]] = {}
    for each in inside:
        members.setdefault(root(each.outputs[0]), []).append(each)
    return [_part(group, avals, changed, initial) for group in members.values()]


def _part(
    group: list[Instruction], avals: Mapping[int, Aval], changed: Mapping[int, Any], initial: Mapping[int, int]
) -> _Part:
    made = [each.outputs[0] for each in group]
    results = [s for s in made if s in changed]
    handles = [changed[s] for s in results]
    # a variable whose old value nothing reads has a place all the same
    before = [initial.get(id(handle), -1 - k) for k, handle in enumerate(handles)]
    aval = avals[made[0]]
    own = {*made, *before}
    others = dict.fromkeys(s for each in group for s in each.inputs if s not in own)
    operands = [s for s in others if avals[s].shape]
    numbers = [s for s in others if not avals[s].shape]
    steps = [Step(each.op, each.inputs, each.outputs[0]) for each in group]
    loop = UpdateLoop(steps, [*before, *operands], numbers, results, aval.dtype.numpy)
    return _Part(group, handles, loop, operands, numbers, aval)
