"""Functions of elements that are called once for many of them, where each gets the same bits so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dualgrad.data.parsing import decode_raw_op, parse_examples
from dualgrad.data.stage import Element, Stream
from dualgrad.data.structure import flat, mapped
from engine.core.batching import Batched, batch_level
from engine.core.eager import EagerTensor
from engine.core.function_tape import FunctionTape
from engine.core.tape import active, paused
from engine.runtime.errors import UnimplementedError

_EACH_ALONE = {parse_examples, decode_raw_op}
"""The ops that do not move data, nor act on each number, and give a row the same bits beside others."""


class _Row(Batched):
    """One of many elements."""

    def _bind(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not (op.elementwise or op.moves or op in _EACH_ALONE):
            raise UnimplementedError(f"{op.type} may give an element other bits beside others")
        return super()._bind(op, inputs, params)


class Rowwise:
    """A user's function of elements.

    That it may be called once for many is known from its first batch, which is computed in both ways.
    """

    _only_computes: bool | None = None
    _is_rowwise: bool | None = None
    _called: Callable[..., Any]

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """The first call happens inside: it tells whether the function does more than to compute."""
        if self._only_computes is not None or active.function is not None or active.region is not None:
            yield
            return
        tape = FunctionTape()
        tape.start()
        try:
            yield
        finally:
            tape.stop()
        self._only_computes = not (tape.refusal or tape.draws or tape.written or tape.made_variables)

    def of_many(self, items: Sequence[Any], source: Stream) -> Element | None:
        """The results for some items of a stream, stacked; None unless one call is known to give the same bits."""
        return self._together(items, source) if self._is_rowwise else None

    def compare(self, items: Sequence[Any], source: Stream, results: Element) -> None:
        """See, the first time, whether one call gives the same bits as one for each."""
        if self._is_rowwise is None:
            made = self._together(items, source) if self._only_computes else None
            self._is_rowwise = made is not None and all(map(_same, made, results))

    def _together(self, items: Sequence[Any], source: Stream) -> Element | None:
        try:
            with batch_level() as level, paused():
                rows = [_Row(EagerTensor(a), level, len(items)) for a in source.batch(items)]
                made = flat(mapped(lambda x: x, self._called(rows)))
            return tuple([x.inner._array if type(x) is _Row else np.stack([x._array] * len(items)) for x in made])
        except Exception:  # noqa: BLE001 - one call for each says what is wrong
            return None


def _same(a: Any, b: Any) -> bool:
    same = a.dtype == b.dtype and a.shape == b.shape
    return same and (a.tobytes() == b.tobytes() if a.dtype != object else bool((a == b).all()))
