"""Tapes that put off what they record of large tensors, to compute it together with the gradient.

One program of a function and its gradient does less than op by op, keeps less, and gives the same bits. But if Python
looks at contents before it asks for the gradient, they are computed op by op after all. So each place that makes tapes
is tried out: after one that did not pay it makes usual ones for a while, and then for twice as long.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import FrameType
from typing import Any

from engine.core.eager import applied_in_python, is_each_seen
from engine.core.lazy_tensor import LARGE, LazyTensor, put_off, settle
from engine.core.op import Op, are_plain
from engine.core.tape import Tape, references
from engine.core.value import dtype_of

_LONGEST = 64
"""Usual tapes that a place makes at the most before it tries again."""
_MOST_PLACES = 256
_places: dict[tuple[int, int], list[int]] = {}
"""By code and instruction: so many usual tapes come next, and as many after the next that does not pay."""


def place_if_due(frame: FrameType) -> tuple[int, int] | None:
    """The place where a frame is, if the next tape that is made there is to put off ops."""
    place = id(frame.f_code), frame.f_lasti
    known = _places.get(place)
    if known is None:
        if len(_places) >= _MOST_PLACES:
            _places.clear()
        known = _places[place] = [2, 1]
    if known[0] > 0:
        known[0] -= 1
        return None
    known[:] = known[1], min(2 * known[1], _LONGEST)
    return place


class LateTape(Tape):
    """A tape that puts off ops while no other tape records."""

    __slots__ = ("_applying", "_place")

    def __init__(self, place: tuple[int, int], watch_accessed_variables: bool = True, strict: bool = False) -> None:
        super().__init__(watch_accessed_variables, strict)
        self._place, self._applying = place, ExitStack()

    def start(self) -> None:
        """Record the current thread from here on."""
        super().start()
        self._applying.close()
        self._applying.enter_context(applied_in_python(LARGE))

    def stop(self) -> None:
        """Stop recording."""
        super().stop()
        self._applying.close()

    close = stop

    def instead(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The lazy results of an op; None if it is applied at once, so that what may fail does so at its line."""
        refuses = op.refuses
        if refuses is None:
            refuses = any(hasattr(x, "dtype") and dtype_of(x).is_integer for x in inputs)
        if refuses or op.stateful or not are_plain(params) or is_each_seen():
            return None
        return put_off(self, op, inputs, params)

    def escaping(self) -> list[LazyTensor]:
        """The lazy tensors that somebody else holds, too."""
        held, log, others = references((self,)), self.nodes.log, self.nondifferentiable
        results = [out if op.multi else (out,) for op, out in zip(log[::4], log[3::4], strict=True)]
        results += [node.outputs for _, node in others.values()]
        found = {id(x): x for outputs in results for x in outputs if type(x) is LazyTensor}
        del results
        # besides `found`, `x` and the argument
        return [x for x in found.values() if sys.getrefcount(x) > held[id(x)] + 3]

    def settle(self) -> None:
        """Compute all that was put off."""
        settle(out for node in self.everything() for out in node.outputs)

    def paid(self) -> None:
        """Note that putting off ops paid: the next tape is to do so, too."""
        _places[self._place] = [0, 1]
