"""Queues: elements that some threads put in and others take out, in runs of a session.

The elements belong to a session (`graph_api.sessions.resources`). A run that finds a queue full, or with too few
elements, waits; closing the queue, or the session, ends the waiting.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.data.combining import filled_up
from dualgrad.data.stage import stacked
from engine.core.arguments import as_int
from engine.core.aval import Aval, normalize_shape
from engine.core.dtypes import as_dtype, bool_, int32
from engine.core.value import boxed
from engine.runtime.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from engine.runtime.faces import Shown
from graph_api.control_flow.flow import stateful_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.sessions.resources import Resource

Element = tuple[Any, ...]


class Elements:
    """The elements of a queue in one session.

    Parameters
    ----------
    name : str
        For messages.
    capacity : int
        How many there may be; negative: any number.
    least : int
        So many are left in the queue, so that they are mixed well.
    draw : callable, optional
        ``draw(n)``: which of `n` is taken out; without it the oldest.
    """

    def __init__(self, name: str, capacity: int, least: int = 0, draw: Callable[[int], int] | None = None) -> None:
        self._name, self._capacity, self._least, self._draw = name, capacity, least, draw
        self._held: list[Element] = []
        self._changed = threading.Condition()
        self._taking = threading.Lock()  # who comes first gets all that it wants before the next one
        self.is_closed = self._refusing = self._cancelled = False

    def __len__(self) -> int:
        return len(self._held)

    def put(self, elements: Sequence[Element]) -> None:
        """Put elements in, as soon as there is room for each."""
        with self._changed:
            if self.is_closed:
                raise CancelledError(f"{self._name} is closed.")
            for element in elements:
                self._changed.wait_for(lambda: self._refusing or self._has_room())
                if self._refusing:
                    raise CancelledError(f"{self._name} is closed.")
                self._held.append(element)
                self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._capacity < 0 or len(self._held) < self._capacity

    def take(self, count: int, fewer: bool = False) -> list[Element]:
        """Take so many elements out, one after the other; fewer, if the queue is closed and that is enough."""
        taken: list[Element] = []
        with self._taking, self._changed:
            while len(taken) < count:
                self._changed.wait_for(lambda: self.is_closed or len(self._held) > self._least)
                left = len(taken) + len(self._held)
                if self._cancelled:
                    raise CancelledError(f"{self._name} was cancelled: its session is closed.")
                if self.is_closed and left < count and not (fewer and left):
                    self._held[:0] = taken
                    raise OutOfRangeError(
                        f"{self._name} is closed and has insufficient elements (requested {count}, current size {left})"
                    )
                if not self._held:
                    break
                taken.append(self._one())
                self._changed.notify_all()
        return taken

    def _one(self) -> Element:
        if self._draw is not None:
            at = self._draw(len(self._held))
            self._held[at], self._held[0] = self._held[0], self._held[at]
        return self._held.pop(0)

    def close(self, cancel: bool = False, session: bool = False) -> None:
        """Nothing more can be put in; who waits to put in goes on waiting, unless it is cancelled.

        Who waits to take out gets what there is; nothing, if the session is closed.
        """
        with self._changed:
            self.is_closed = True
            self._refusing = self._refusing or cancel
            self._cancelled = self._cancelled or session
            self._changed.notify_all()


# ---- operations ------------------------------------------------------------------------------------------------------


def _put(number: Any, *values: Any, queue: QueueBase, many: bool) -> tuple[()]:
    arrays = [np.array(v) for v in values]
    if many:
        lengths = {len(a) for a in arrays}
        if len(lengths) != 1:
            raise InvalidArgumentError(f"enqueue_many: the tensors have {sorted(lengths)} rows; all need as many")
        elements = [tuple([boxed(a[i]) for a in arrays]) for i in range(lengths.pop())]
    else:
        elements = [tuple(arrays)]
    for element in elements[:1]:
        queue.check(element)
    queue.elements(number).put(elements)
    return ()


put_elements = stateful_op(
    "put_elements",
    _put,
    abstract=lambda *_, queue, many: (),
    type="QueueEnqueueV2",
    args=("resource", "*values"),
    multi=True,
    doc="Puts elements into a queue.",
)


def _taken(number: Any, count: Any, *, queue: QueueBase, many: bool, fewer: bool, spec: Any) -> tuple[Any, ...]:
    elements = queue.elements(number).take(int(count), fewer)
    return queue.together(elements) if many else tuple([np.array(a) for a in elements[0]])


take_elements = stateful_op(
    "take_elements",
    _taken,
    abstract=lambda *_, queue, many, fewer, spec: tuple(spec),
    type="QueueDequeueV2",
    args=("resource", "count"),
    multi=True,
    doc="Takes elements out of a queue.",
)


def _closed(number: Any, *, queue: QueueBase, cancel: bool) -> tuple[()]:
    queue.elements(number).close(cancel)
    return ()


close_queue = stateful_op(
    "close_queue",
    _closed,
    abstract=lambda *_, queue, cancel: (),
    type="QueueCloseV2",
    args=("resource",),
    multi=True,
    doc="Closes a queue.",
)
queue_size = stateful_op(
    "queue_size",
    lambda number, *, queue: np.int32(len(queue.elements(number))),
    abstract=lambda *_, queue: Aval((), int32),
    type="QueueSizeV2",
    args=("resource",),
    doc="How many elements a queue has.",
)
queue_is_closed = stateful_op(
    "queue_is_closed",
    lambda number, *, queue: np.bool_(queue.elements(number).is_closed),
    abstract=lambda *_, queue: Aval((), bool_),
    type="QueueIsClosedV2",
    args=("resource",),
    doc="Whether a queue is closed.",
)


# ---- queues ----------------------------------------------------------------------------------------------------------


class QueueBase(Shown):
    """Base of the queues; see `FIFOQueue`."""

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str) -> None:
        self._dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
        self._shapes = _shapes(shapes, len(self._dtypes))
        self._names = None if names is None else list(names) if isinstance(names, (list, tuple)) else [names]
        if self._names is not None and len(self._names) != len(self._dtypes):
            raise ValueError(f"List of names must have the same length as the list of dtypes, got {self._names}")
        self._capacity = as_int(type(self).__name__, "capacity", capacity)
        self._resource = Resource(name)

    def _made(self) -> Elements:
        return Elements(f"{type(self).__name__} '{self.name}'", self._capacity)

    def elements(self, number: Any) -> Elements:
        """The elements in the session that has the number."""
        return self._resource.get(int(number), self._made)

    def check(self, element: Element) -> None:
        """Raise unless an element fits the shapes of the queue."""
        for array, shape in zip(element, self._shapes, strict=True):
            known = shape is not None and None not in shape
            if known and array.shape != shape:
                raise InvalidArgumentError(
                    f"Shape mismatch in tuple component of queue '{self.name}'. Expected {list(shape)}, got "
                    f"{list(array.shape)}"
                )

    def together(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        """Several elements as one."""
        return stacked(elements)

    @property
    def name(self) -> str:
        """Of the operation that stands for the queue, without its scopes."""
        return str(self._resource.op.name.rpartition("/")[2])

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that stands for the queue in the graph."""
        return self._resource.number

    @property
    def dtypes(self) -> list[Any]:
        """Of the tensors of an element."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[Any]:
        """Of the tensors of an element."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """Of the tensors of an element, which is a dict then."""
        return self._names

    # ---- operations --------------------------------------------------------------------------------------------------

    def _tensors(self, vals: Any, name: str) -> list[Tensor]:
        if isinstance(vals, Mapping):
            if self._names is None or set(self._names) != set(vals):
                raise ValueError(f"{name}: the queue's elements have the names {self._names}, got {sorted(vals)}")
            vals = [vals[n] for n in self._names]
        elif self._names is not None:
            raise ValueError(f"{name}: the queue's elements have names; give a dict")
        values = vals if isinstance(vals, (list, tuple)) and len(self._dtypes) > 1 else [vals]
        if isinstance(vals, (list, tuple)) and len(self._dtypes) == 1 and len(vals) == 1:
            values = vals
        if len(values) != len(self._dtypes):
            raise ValueError(f"{name}: the queue's elements have {len(self._dtypes)} tensors, got {len(values)}")
        return [convert_to_tensor(v, dtype=d) for v, d in zip(values, self._dtypes, strict=True)]

    def _effect(self, op: Any, operands: Sequence[Any], name: str, **params: Any) -> Operation:
        graph = get_default_graph()
        return graph.apply_for_effect(op, (self._resource.number, *operands), {"queue": self, **params}, name)

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that puts an element in; it waits while the queue is full.

        Raises
        ------
        CancelledError
            When it runs and the queue is closed.
        """
        label = name or f"{self.name.rpartition('/')[2]}_enqueue"
        return self._effect(put_elements, self._tensors(vals, "enqueue"), label, many=False)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that puts each row in as an element."""
        label = name or f"{self.name.rpartition('/')[2]}_EnqueueMany"
        return self._effect(put_elements, self._tensors(vals, "enqueue_many"), label, many=True)

    def _take(self, count: Any, many: bool, fewer: bool, name: str) -> Any:
        lead = () if not many else (None,) if fewer or not isinstance(count, int) else (count,)
        spec = tuple(
            Aval(None if s is None else (*lead, *s), d) for s, d in zip(self._shapes, self._dtypes, strict=True)
        )
        params = {"queue": self, "many": many, "fewer": fewer, "spec": spec}
        outputs = get_default_graph().apply(
            take_elements,
            (self._resource.number, np.int64(count) if isinstance(count, int) else count),
            params,
            name=name,
        )
        if self._names is not None:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def dequeue(self, name: str | None = None) -> Tensor | list[Tensor] | dict[str, Tensor]:
        """The next element: a tensor, a list of them, or a dict if they have names. It waits while there is none.

        Raises
        ------
        OutOfRangeError
            When it runs, the queue is closed and has no more elements.
        """
        return self._take(1, False, False, name or f"{self.name.rpartition('/')[2]}_Dequeue")

    def dequeue_many(self, n: Any, name: str | None = None) -> Tensor | list[Tensor]:
        """The next `n` elements, stacked."""
        return self._take(n, True, False, name or f"{self.name.rpartition('/')[2]}_DequeueMany")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Tensor:
        """The next `n` elements, stacked; those that are left, if the queue is closed."""
        return self._take(n, True, True, name or f"{self.name.rpartition('/')[2]}_DequeueUpTo")

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation that closes the queue: nothing more can be put in."""
        return self._effect(
            close_queue, (), name or f"{self.name.rpartition('/')[2]}_Close", cancel=cancel_pending_enqueues
        )

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are, as an int32 tensor."""
        return get_default_graph().apply(queue_size, (self._resource.number,), {"queue": self}, name=name or "Size")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, as a bool tensor."""
        return get_default_graph().apply(
            queue_is_closed, (self._resource.number,), {"queue": self}, name=name or "is_closed"
        )


class FIFOQueue(QueueBase):
    """A queue whose elements are taken out in the order in which they were put in.

    Parameters
    ----------
    capacity : int
        How many elements there may be; negative: any number.
    dtypes : list of DType
        Of the tensors of an element.
    shapes : list of shapes, optional
        `dequeue_many` needs them known.
    names : list of str, optional
        Of the tensors; elements are dicts then.
    shared_name, name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    ...     sess.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    ...     print(sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2)))
    1.0 [2. 3.]
    """

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose `dequeue_many` fills up dimensions that differ (None in `shapes`) with zeros."""

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name)

    def together(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        """Several elements as one, filled up."""
        return tuple(
            [
                filled_up(list(c), s, b"" if c[0].dtype.kind == "O" else 0)
                for c, s in zip(zip(*elements, strict=True), self._shapes, strict=True)
            ]
        )


class RandomShuffleQueue(QueueBase):
    """A queue whose elements are taken out in random order (another one than TensorFlow's, also with its seed).

    Parameters
    ----------
    capacity, dtypes, shapes, names, shared_name, name
        As in `FIFOQueue`.
    min_after_dequeue : int
        How many elements must be left when some are taken out, unless the queue is closed.
    seed : int, optional
    """

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name)
        self._least = as_int("RandomShuffleQueue", "min_after_dequeue", min_after_dequeue, 0)
        own = get_default_graph().seed
        self._seed = None if seed is None and own is None else f"{own} {seed}"
        if 0 <= self._capacity < self._least:
            raise InvalidArgumentError(
                f"RandomShuffleQueue: argument `min_after_dequeue` must be less than the capacity, got {self._least}"
            )

    def _made(self) -> Elements:
        draw = random.Random(self._seed).randrange
        return Elements(f"{type(self).__name__} '{self.name}'", self._capacity, self._least, draw)


def _shapes(shapes: Any, count: int) -> list[Any]:
    if shapes is None:
        return [None] * count
    if count == 1 and not (isinstance(shapes, (list, tuple)) and shapes and not _is_dim(shapes[0])):
        shapes = [shapes] if not (isinstance(shapes, list) and len(shapes) == 1 and not _is_dim(shapes[0])) else shapes
    if len(shapes) != count:
        raise ValueError(f"Queue shapes must have the same length as dtypes, got {len(shapes)} and {count}")
    return [normalize_shape(s) for s in shapes]


def _is_dim(x: Any) -> bool:
    return x is None or isinstance(x, (int, np.integer))
