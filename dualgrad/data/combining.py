"""Stages that put elements together, or take them apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.data.stage import INFINITE, UNKNOWN, Element, Environment, Lasting, Stage, Stream
from dualgrad.data.structure import DatasetLeaf, Spec, batched, flat, joined, mapped, narrowed, packed, unbatched
from engine.core.value import boxed
from engine.runtime.errors import InvalidArgumentError


class Batched(Stage):
    """Several elements as one."""

    def __init__(self, source: Stage, size: Any, drop_remainder: bool) -> None:
        self.inputs = (source,)
        self._batch, self._drop = size, drop_remainder
        self.own = (size,)

    @property
    def spec(self) -> Spec:
        """With a dimension in front."""
        known = self._batch if isinstance(self._batch, int) and self._drop else None
        return batched(self.inputs[0].spec, known)

    def stream(self, env: Environment) -> Stream:
        """The batches."""
        size = env.number(self._batch)
        if size <= 0:
            raise InvalidArgumentError(f"batch: argument `batch_size` must be greater than zero, got {size}")
        source = (self.inputs[0].for_batches if type(self) is Batched else self.inputs[0].stream)(env)
        groups = iter(lambda: list(itertools.islice(source.items, size)), [])
        return Stream(Lasting(lambda: (self.made(source, g) for g in groups if len(g) == size or not self._drop)))

    def made(self, source: Stream, items: list[Any]) -> Element:
        """A batch of items."""
        return source.batch(items)

    def size(self, env: Environment | None = None) -> int:
        """So many times less."""
        count, size = self._count(env, self._batch), self.inputs[0].size(env)
        if count is None or size < 0:
            return UNKNOWN if count is None else size
        return size // count if self._drop else -(-size // count)


class PaddedBatched(Batched):
    """Several elements of different shapes as one, filled up."""

    def __init__(self, source: Stage, size: Any, drop: bool, shapes: Sequence[Any], values: Sequence[Any]) -> None:
        super().__init__(source, size, drop)
        self._shapes, self._values = shapes, values

    @property
    def spec(self) -> Spec:
        """With a dimension in front, and the shapes that elements are filled up to."""
        inner = self.inputs[0].spec
        shapes = [None if s is None else s for s in self._shapes]
        bare = packed(inner, [type(a)(None, a.dtype) for a in flat(inner)])
        known = self._batch if isinstance(self._batch, int) and self._drop else None
        return batched(narrowed(bare, shapes), known)

    def made(self, source: Stream, items: list[Any]) -> Element:
        """A batch of items that are filled up."""
        components = zip(*[source.element(i) for i in items], strict=True)
        return tuple(
            [filled_up(list(c), s, v) for c, s, v in zip(components, self._shapes, self._values, strict=True)]
        )  # fmt: skip


def filled_up(arrays: list[Any], shape: Any, value: Any) -> np.ndarray:
    """Arrays stacked, each filled up with a value; None in the shape: as large as the largest."""
    rank = arrays[0].ndim
    wanted = [None] * rank if shape is None else list(shape)
    if len(wanted) != rank:
        raise InvalidArgumentError(
            f"padded_batch: elements of rank {rank} cannot be filled up to shape {tuple(wanted)}"
        )
    largest = [max(a.shape[axis] for a in arrays) for axis in range(rank)]
    dims = [m if w is None else w for m, w in zip(largest, wanted, strict=True)]
    if any(m > d for m, d in zip(largest, dims, strict=True)):
        raise InvalidArgumentError(
            f"padded_batch: an element has shape {tuple(largest)}, larger than the shape {tuple(dims)} to fill up to"
        )
    out = np.full((len(arrays), *dims), value, arrays[0].dtype)
    for i, a in enumerate(arrays):
        where: tuple[Any, ...] = (i, *[slice(0, n) for n in a.shape])
        out[where] = a
    return out


class Unbatched(Stage):
    """The rows of elements."""

    def __init__(self, source: Stage) -> None:
        self.inputs = (source,)

    @property
    def spec(self) -> Spec:
        """With a dimension less."""
        return unbatched(self.inputs[0].spec)

    def stream(self, env: Environment) -> Stream:
        """The rows."""
        elements = self.inputs[0].stream(env).elements()

        def rows() -> Iterator[Element]:
            for element in elements:
                if len({len(a) for a in element}) > 1:
                    raise InvalidArgumentError("unbatch: the tensors of an element have different numbers of rows")
                for i in range(len(element[0])):
                    yield tuple([boxed(a[i]) for a in element])

        return Stream(Lasting(rows))


class Windows(Stage):
    """Data sets of neighboring elements."""

    def __init__(self, source: Stage, size: int, shift: int, stride: int, drop_remainder: bool) -> None:
        self.inputs = (source,)
        self._how = size, shift, stride
        self._drop, self._spec = drop_remainder, mapped(DatasetLeaf, source.spec)

    def stream(self, env: Environment) -> Stream:
        """The windows, stacked."""
        size, shift, stride = self._how
        source = self.inputs[0].stream(env)
        reach = (size - 1) * stride + 1
        held: list[Any] = []
        skipping, ended = 0, False

        def windows() -> Iterator[Element]:
            nonlocal skipping, ended
            while True:
                while len(held) < reach and not ended:
                    item = _next_or_error(source.items)
                    if item is _END:
                        ended = True
                    elif skipping:
                        skipping -= 1
                    else:
                        held.append(item)
                some = held[:reach:stride]
                if not some or (len(some) < size and self._drop):
                    return
                skipping += max(shift - len(held), 0)
                del held[:shift]
                _raise_first(some)
                yield source.batch(some)

        return Stream(Lasting(windows))

    def size(self, env: Environment | None = None) -> int:
        """One for each start."""
        size, (length, shift, stride) = self.inputs[0].size(env), self._how
        if size < 0:
            return size
        return max(-(-(size - (length - 1) * stride) // shift), 0) if self._drop else -(-size // shift)


_END = object()


def _next_or_error(items: Iterator[Any]) -> Any:
    """The next item, or the error in its place; `_END` behind the last."""
    try:
        return next(items, _END)
    except Exception as error:  # noqa: BLE001 - raised by `_raise_first`
        return error


def _raise_first(items: Sequence[Any]) -> None:
    """Raise the first error among items, if there is one."""
    for item in items:
        if isinstance(item, Exception):
            raise item


class Zipped(Stage):
    """Elements of several data sets side by side, as long as all have some."""

    def __init__(self, inputs: Sequence[Stage], structure: Any) -> None:
        self.inputs = tuple(inputs)
        self._structure = structure

    @property
    def spec(self) -> Spec:
        """The structure of their specs."""
        return packed(self._structure, [s.spec for s in self.inputs])

    def stream(self, env: Environment) -> Stream:
        """The elements side by side."""
        sources = [s.stream(env) for s in self.inputs]

        def element(items: Any) -> Element:
            return tuple([x for s, i in zip(sources, items, strict=True) for x in s.element(i)])

        def batch(group: Any) -> Element:
            columns = zip(*group, strict=True)
            return tuple([x for s, c in zip(sources, columns, strict=True) for x in s.batch(list(c))])

        def together() -> Iterator[Any]:
            while True:
                # all go on behind an error of one, so that what belongs together stays together
                items = [_next_or_error(s.items) for s in sources]
                if _END in items or not items:
                    return
                _raise_first(items)
                yield items

        return Stream(Lasting(together), element, batch)

    def size(self, env: Environment | None = None) -> int:
        """That of the shortest."""
        sizes = [s.size(env) for s in self.inputs]
        if UNKNOWN in sizes:
            return UNKNOWN
        return min((s for s in sizes if s != INFINITE), default=INFINITE)


class Concatenated(Stage):
    """The elements of one data set, then those of another."""

    def __init__(self, first: Stage, second: Stage) -> None:
        self.inputs = (first, second)
        self._spec = joined(first.spec, second.spec)

    def stream(self, env: Environment) -> Stream:
        """One after the other."""

        def elements(one: Stage) -> Iterator[Element]:
            return one.stream(env).elements()

        return Stream(itertools.chain.from_iterable(map(elements, self.inputs)))

    def size(self, env: Environment | None = None) -> int:
        """Of both."""
        sizes = [s.size(env) for s in self.inputs]
        return INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)


class Cached(Stage):
    """Elements that are computed once, in the first epoch that comes to its end."""

    keeps_size = True

    def __init__(self, source: Stage) -> None:
        self.inputs = (source,)

    def stream(self, env: Environment) -> Stream:
        """The elements, from memory if they are there."""
        kept: list[list[Element]] = env.keep(self, list)
        if kept:
            return Stream(iter(kept[0]))

        seen: list[Element] = []
        size, elements = self.size(env), self.inputs[0].stream(env).elements()
        starts = 0

        def first() -> Iterator[Element]:
            nonlocal starts
            starts += 1
            for element in elements:
                seen.append(element)
                if starts == 1 and len(seen) == size:
                    # who knows how many there are does not ask for more; TensorFlow does so ahead
                    kept[:] = [seen]
                yield element
            if starts == 1:  # elements that failed are not left out for good
                kept[:] = [seen]

        return Stream(Lasting(first))


class Sized(Stage):
    """A data set of which the number of elements is said."""

    def __init__(self, source: Stage, size: int) -> None:
        self.inputs = (source,)
        self._size = size

    def stream(self, env: Environment) -> Stream:
        """The elements, which are counted."""
        source = self.inputs[0].stream(env)
        count = 0

        def counted() -> Iterator[Any]:
            nonlocal count
            for item in source.items:
                count += 1
                if 0 <= self._size < count:
                    raise InvalidArgumentError(f"Input dataset was expected to contain {self._size} elements but more")
                yield item
            if count < self._size:
                raise InvalidArgumentError(
                    f"Input dataset was expected to contain {self._size} elements but contained only {count}"
                )

        return source.choosing(Lasting(counted))

    def size(self, env: Environment | None = None) -> int:
        """As it is said."""
        return self._size
