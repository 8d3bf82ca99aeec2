"""The stages of a pipeline: where elements come from, and what is done with them one after the other.

A stage knows the spec of its elements, the values around that it depends on (`captures`: placeholders and tensors of
the graph it was made in), and how to start (`stream`). Elements are flat tuples of arrays while they travel. Stages
that only choose (`shuffle`, `take`, `repeat`) never touch elements: what comes from arrays travels as the number of its
row, and is gathered by `batch` in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from dualgrad.data.structure import Spec
from engine.core.operands import Operand
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.structs import field, struct

R = TypeVar("R")

INFINITE, UNKNOWN = -1, -2
"""Cardinalities that are no number."""

Element = tuple[Any, ...]


@struct()
class Environment:
    """Knowledge of one iterator: the values of captured tensors, and what stages keep from epoch to epoch.

    Attributes
    ----------
    values : dict
        ``id(tensor) -> array``.
    kept : dict
        ``id(stage) -> whatever it keeps``.
    """

    values: dict[int, Any] = field(default_factory=dict)
    kept: dict[int, Any] = field(default_factory=dict)

    def number(self, x: Any) -> int:
        """A count that is an int, or a captured tensor."""
        return int(self.values[id(x)]) if id(x) in self.values else int(x)

    def array(self, x: Any) -> np.ndarray:
        """A captured tensor's value; anything else is itself."""
        return self.values.get(id(x), x)

    def keep(self, stage: Any, make: Callable[[], R]) -> R:
        """The thing that a stage keeps, made when it is first asked for."""
        if id(stage) not in self.kept:
            self.kept[id(stage)] = make()
        return self.kept[id(stage)]


def _itself(item: Any) -> tuple[Operand, ...]:
    return item


def stacked(elements: Sequence[Element]) -> Element:
    """Elements as one.

    Raises
    ------
    InvalidArgumentError
        If their shapes differ.
    """
    return tuple([_stack(component, i) for i, component in enumerate(zip(*elements, strict=True))])


def _stack(arrays: Sequence[Any], component: int) -> np.ndarray:
    first = arrays[0]
    if first.dtype.kind == "O" and not first.ndim:
        return np.fromiter([a[()] for a in arrays], object, len(arrays))
    try:
        return np.stack(arrays)
    except ValueError:
        other = next(i for i, a in enumerate(arrays) if a.shape != first.shape)
        raise InvalidArgumentError(
            f"Cannot batch tensors with different shapes in component {component}. First element had shape "
            f"{list(first.shape)} and element {other} had shape {list(arrays[other].shape)}; use padded_batch"
        ) from None


class Lasting(Iterator[Any]):
    """The items of a generator, in which an error is one of them: behind it the generator is made anew.

    A generator of Python's ends with the first error, so that whoever goes on would take it for the end of the data.

    Parameters
    ----------
    make : callable
        Makes the generator, which goes on where the last one was: what it knows is kept outside of it.
    """

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make, self._left = make, make()

    def __next__(self) -> Any:
        try:
            return next(self._left)
        except StopIteration:
            raise
        except BaseException:
            self._left = self._make()
            raise


@struct()
class Stream:
    """Elements on their way.

    Attributes
    ----------
    items : iterator
        Elements, or what stands for them.
    element : callable
        ``element(item)``: the element.
    batch : callable
        ``batch(list of items)``: the elements stacked.
    """

    items: Iterator[Any]
    element: Callable[[Any], Element] = _itself
    batch: Callable[[Sequence[Any]], Element] = stacked

    def elements(self) -> Iterator[Element]:
        """The elements."""
        return self.items if self.element is _itself else map(self.element, self.items)

    def choosing(self, items: Iterator[Any]) -> Stream:
        """Some of the same items."""
        return Stream(items, self.element, self.batch)


class Stage:
    """Base of the stages."""

    inputs: tuple[Stage, ...] = ()
    own: tuple[Any, ...] = ()
    """The tensors and counts that the stage takes from around."""
    _spec: Spec | None = None
    """The structure of the elements, if it is not that of the first input."""
    keeps_size = False
    """Whether there are as many elements as in its first input."""

    @property
    def spec(self) -> Spec:
        """The structure of the elements: avals, and `DatasetLeaf` for data sets."""
        return self.inputs[0].spec if self._spec is None else self._spec

    def stream(self, env: Environment) -> Stream:
        """Start."""
        raise AttributeError(f"{type(self).__name__} does not define `stream`")

    def for_batches(self, env: Environment) -> Stream:
        """Start, for one who takes some elements at a time and stacks them."""
        return self.stream(env)

    def size(self, env: Environment | None = None) -> int:
        """How many elements there are, or INFINITE, or UNKNOWN."""
        return self.inputs[0].size(env) if self.keeps_size else UNKNOWN

    def captures(self) -> list[Any]:
        """The tensors around that this stage and those before depend on."""
        tensors = [x for stage in self.inputs for x in stage.captures()]
        return list({id(x): x for x in [*tensors, *[x for x in self.own if not isinstance(x, int)]]}.values())

    def _count(self, env: Environment | None, x: Any) -> int | None:
        """A count, None if it is not known yet."""
        if env is None:
            return x if isinstance(x, int) else None
        return env.number(x)
