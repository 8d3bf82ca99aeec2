"""Stages that call functions on elements."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.data.rowwise import Rowwise
from dualgrad.data.stage import UNKNOWN, Element, Environment, Lasting, Stage, Stream, stacked
from dualgrad.data.structure import Spec
from engine.runtime.errors import InternalError, InvalidArgumentError


class Mapped(Stage):
    """The results of a function for each element."""

    keeps_size = True

    def __init__(self, source: Stage, function: Any) -> None:
        self.inputs = (source,)
        self.function = function
        self.own = function.captured

    @property
    def spec(self) -> Spec:
        """Of what the function returns."""
        return self.function.result_spec(self.inputs[0])

    def stream(self, env: Environment) -> Stream:
        """The results."""
        return Stream(map(self.function.bound(env), self.inputs[0].stream(env).elements()))

    def for_batches(self, env: Environment) -> Stream:
        """The elements that the results are of: a function that gives many of them the same bits is called once."""
        function = self.function
        if not isinstance(function, Rowwise):
            return self.stream(env)
        source, call = self.inputs[0].stream(env), self.function.bound(env)
        items = _GivenBack(source.items)

        def batch(group: Sequence[Any]) -> Element:
            together = function.of_many(group, source)
            if together is not None:
                return together
            results = []
            for i, item in enumerate(group):
                try:
                    results.append(call(source.element(item)))
                except BaseException:
                    items.back.extend(group[i + 1 :])  # an error is one element
                    raise
            made = stacked(results)
            function.compare(group, source, made)
            return made

        return Stream(items, lambda item: call(source.element(item)), batch)


class _GivenBack(Iterator[Any]):
    """Items, before which those come that somebody took and gave back."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items, self.back = items, deque[Any]()

    def __next__(self) -> Any:
        return self.back.popleft() if self.back else next(self._items)


class Filtered(Stage):
    """The elements for which a function holds."""

    def __init__(self, source: Stage, predicate: Any) -> None:
        self.inputs = (source,)
        self._predicate = predicate
        self.own = predicate.captured

    def stream(self, env: Environment) -> Stream:
        """Those elements."""
        holds = self._predicate.bound(env, InternalError)
        source = self.inputs[0].stream(env)
        return source.choosing(Lasting(lambda: (item for item in source.items if bool(holds(source.element(item))[0]))))

    def size(self, env: Environment | None = None) -> int:
        """Not known."""
        return 0 if self.inputs[0].size(env) == 0 else UNKNOWN


class Interleaved(Stage):
    """The elements of the data sets that a function makes, of several at a time (`flat_map`: of one)."""

    def __init__(self, source: Stage, function: Any, cycle: Any, block: Any) -> None:
        self.inputs = (source,)
        self._function, self._cycle, self._block = function, cycle, block
        self.own = (*function.captured, cycle, block)

    @property
    def spec(self) -> Spec:
        """Of the elements of these data sets."""
        return self._function.result_spec(self.inputs[0])

    def stream(self, env: Environment) -> Stream:
        """Blocks of each in turn; one that ends makes room for the next."""
        start = self._function.streams(env)
        sources = map(start, self.inputs[0].stream(env).elements())
        return Stream(interleaved(sources, env.number(self._cycle), env.number(self._block)))


def interleaved(sources: Iterator[Iterator[Any]], cycle: int, block: int = 1) -> Iterator[Any]:
    """Elements of several iterators at a time in turn, blocks of each."""
    if cycle < 1 or block < 1:
        raise InvalidArgumentError(
            f"interleave: `cycle_length` and `block_length` must be positive, got {cycle} and {block}"
        )
    slots: list[Iterator[Any] | None] = [None] * cycle
    at = given = 0
    ended = False

    def elements() -> Iterator[Any]:
        nonlocal at, given, ended
        while not ended or any(s is not None for s in slots):
            if slots[at] is None and not ended:
                slots[at] = next(sources, None)
                ended = slots[at] is None
            for element in slots[at] or ():
                given += 1
                yield element
                if cycle > 1 and given == block:
                    break
            else:
                slots[at] = None
            at, given = (at + 1) % cycle, 0

    return Lasting(elements)


class Scanned(Stage):
    """The results of a function for a state and each element, with the state handed on."""

    keeps_size = True

    def __init__(self, source: Stage, initial: Element, function: Any, count: int) -> None:
        self.inputs = (source,)
        self._initial, self._function, self._states = initial, function, count
        self.own = (*function.captured, *[x for x in initial if not isinstance(x, (np.ndarray, np.generic))])

    @property
    def spec(self) -> Spec:
        """Of the second result."""
        return self._function.result_spec(self.inputs[0])[1]

    def stream(self, env: Environment) -> Stream:
        """The outputs."""
        step = self._function.bound(env)
        elements = self.inputs[0].stream(env).elements()
        state = tuple([env.array(x) for x in self._initial])

        def outputs() -> Iterator[Element]:
            nonlocal state
            for element in elements:
                results = step((*state, *element))
                state = results[: self._states]
                yield results[self._states :]

        return Stream(Lasting(outputs))
