"""Effects that taking a derivative has on the tape."""

from __future__ import annotations

from typing import Any

from engine.core import nest
from engine.core.batching import Batched
from engine.core.detach import effect
from engine.core.late_tape import LateTape
from engine.core.lazy_tensor import LazyTensor
from engine.core.tape import Tape, active
from engine.core.value import Value
from engine.core.variable import Variable
from engine.runtime.errors import DTypeError, UnimplementedError


class Taking:
    """Targets (as the tape knows them) and sources as flat lists, inside a ``with`` block.

    Afterwards a tape that is not persistent is spent; after an error it is as it was.
    """

    __slots__ = ("_elements", "_of", "_recording", "_sources", "_target")

    def __init__(self, of: Any, target: Any, sources: Any, elements: bool = False) -> None:
        self._of, self._target, self._sources, self._elements = of, target, sources, elements

    def __enter__(self) -> tuple[list[Any], list[Any]]:
        of, tape = self._of, self._of._tape
        if active.function is not None:
            used(tape)
        self._recording = tape in active.tapes
        try:
            if of._spent:
                raise RuntimeError(
                    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
                    "Make it GradientTape(persistent=True) to take several derivatives of one recording."
                )
            # most are one tensor
            targets = [self._target] if isinstance(self._target, Value) else nest.flatten(self._target)
            sources = [self._sources] if isinstance(self._sources, Value) else nest.flatten(self._sources)
            if self._target is None:
                raise TypeError(
                    "Argument `target` should be a list or nested structure of tensors or variables, got None"
                )
            for role, values in (("target", targets), ("source", sources)):
                for x in values:
                    if not isinstance(x, Value) or (isinstance(x, Batched) and not self._elements):
                        require_tensor(x, role)
            if not of._persistent:
                tape.stop()
            if type(tape) is LateTape and (active.tapes or not self._elements or LazyTensor not in map(type, targets)):
                tape.settle()
            return [x.handle if isinstance(x, Variable) else x for x in targets], sources
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            if self._recording:
                self._of._tape.start()
        elif not self._of._persistent:
            self._of._spent = True
            self._of._tape.forget()


def used(tape: Tape) -> None:
    """Note that a tape is asked something: if it is not one of the function's own, that is no op."""
    function = active.function
    if function is not None and id(tape) not in function.opened:
        effect("it uses a tape from around it")


def require_tensor(x: Any, role: str, elements: bool = False) -> None:
    """Refuse what is no tensor; and elements of a batch, for what is recorded are ops on all of them at once."""
    if not isinstance(x, Value):
        # a TypeError, and a ValueError as TensorFlow raises it
        raise DTypeError(
            f"{role}: must be a tensor or variable, got {type(x).__name__}; convert it with tf.convert_to_tensor first"
        )
    if isinstance(x, Batched) and not elements:
        raise UnimplementedError(
            f"{role}: this derivative cannot be taken in a function of tf.transforms.vmap; use tf.transforms.jacrev, "
            f"jvp and their like there, or tf.vectorized_map"
        )
