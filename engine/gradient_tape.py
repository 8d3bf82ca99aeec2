"""`GradientTape`: record what happens, then ask for derivatives.

One class for both front ends: it records eager tensors, and graph tensors as TensorFlow 1 allows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from engine.core import nest
from engine.core.aval import format_shape
from engine.core.eager import EagerTensor
from engine.core.errors import DTypeError, ShapeError
from engine.core.indexed_slices import IndexedSlices
from engine.core.tape import Tape, active
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import Value, address, as_array, dtype_of, shape_of
from engine.core.variable import Variable, tracked_value
from engine.jacobian.on_tape import TapeDerivatives
from engine.ops.creation import ones_like, zeros_like
from engine.replay import replayed
from engine.reverse import require_one_number, reverse


class GradientTape(TapeDerivatives):
    """Records operations for differentiation.

    Parameters
    ----------
    persistent : bool
        Whether derivatives may be taken more than once. A tape that is not lets go of its recording after the first.
    watch_accessed_variables : bool
        Whether trainable variables are watched when they are read inside.
    strict : bool
        Whether to raise where a derivative would be lost or added up without a word: when a tensor that the tape
        follows becomes a plain array (else a `DetachWarning`, see ``docs/leaving.md``), and when the gradient is asked
        of a target that is not one number (see `jacobian`).

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """

    def __init__(
        self, persistent: bool = False, watch_accessed_variables: bool = True, *, strict: bool = False
    ) -> None:
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._tape = Tape(watch_accessed_variables, strict)
        self._spent = False

    def __enter__(self) -> GradientTape:
        if self._tape.is_recording:
            raise ValueError("the tape is recording already and cannot be entered again")
        self._spent = False
        try:
            self._tape.start()
            return self
        except BaseException:
            # an interrupt: nobody is going to call `__exit__`
            self._tape.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        # twice: an interrupt may come within `finally` (`engine.runtime.state`)
        try:
            self._tape.stop()
        finally:
            self._tape.stop()

    def __del__(self) -> None:
        # if an interrupt kept `__exit__` from beginning, the recording ends with whoever held the tape
        if active.tapes and self._tape.is_recording:
            self._tape.stop()

    def watch(self, tensor: Any) -> None:
        """Trace `tensor` (or each tensor of a structure) from here on.

        Raises
        ------
        TypeError
            If something is not a tensor or variable.
        """
        for x in nest.flatten(tensor):
            _require_tensor(x, "watch")
            if not dtype_of(x).is_differentiable:
                warnings.warn(
                    f"watch: the dtype of a watched tensor must be floating (e.g. tf.float32), got {dtype_of(x).name}; "
                    f"its gradient will be None",
                    stacklevel=2,
                )
                continue
            self._tape.watch(tracked_value(x))
            if isinstance(x, Variable):
                self._tape.variables[id(x)] = x

    def stop_recording(self) -> AbstractContextManager[None]:
        """Leave what happens inside the `with` block unrecorded."""
        if not self._tape.is_recording:
            raise ValueError("stop_recording: the tape is not recording")
        return _Stopped(self)

    def reset(self) -> None:
        """Forget everything recorded and watched so far, as if the tape had just been entered.

        Raises
        ------
        ValueError
            If the tape is not recording. (Dropping a tape frees what it recorded; `reset` is not needed for that.)
        """
        if not self._tape.is_recording:
            raise ValueError("reset: the tape is not recording")
        self._tape.clear()

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables watched, in the order in which they were made (graph variables: in which they were used)."""
        return tuple(sorted(self._tape.variables.values(), key=lambda v: getattr(v, "serial", 0)))

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` (of the sum of all its elements) with respect to each of `sources`.

        Parameters
        ----------
        target : tensor or structure of tensors
            The gradients of several targets add up. See `jacobian` for the derivative of each element.
        sources : tensor, variable or structure of these
        output_gradients : structure like `target`, optional
            Cotangents of the targets in place of ones; None entries mean ones.
        unconnected_gradients : UnconnectedGradients or str
            ``"none"``: None for a source that the target does not depend on. ``"zero"``: zeros.

        Returns
        -------
        structure like `sources`
            Each gradient has shape and dtype of its source. That of a source whose rows are gathered is an
            `IndexedSlices`, which is accepted wherever a tensor is, and made dense by ``tf.convert_to_tensor``.

        Raises
        ------
        RuntimeError
            On a second call, unless the tape is persistent.
        TypeError
            If a target or source is not a tensor.
        ValueError
            If an output gradient's shape is not its target's, or the tape is strict and there is more than one number
            to differentiate.
        """
        policy = as_policy(unconnected_gradients)
        if self._tape.strict and output_gradients is None:
            require_one_number("gradient", nest.flatten(target), "tape.jacobian")
        with self._taking(target, sources) as (targets, flat):
            seeds = zip(targets, _seeds(nest.flatten(target), output_gradients), strict=True)
            found = self._walk([s for s in seeds if dtype_of(s[0]).is_differentiable], flat, sparse=True)
        results = [_result(g, s, policy) for g, s in zip(found, flat, strict=True)]
        return nest.pack_sequence_as(sources, results)

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def _start(self, target: Any, sources: Any) -> tuple[list[Any], list[Any]]:
        """Targets (as the tape knows them) and sources as flat lists; a tape that is not persistent stops recording."""
        if self._spent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
                "Make it GradientTape(persistent=True) to take several derivatives of one recording."
            )
        targets, flat = nest.flatten(target), nest.flatten(sources)
        for x in targets:
            _require_tensor(x, "target")
        for x in flat:
            _require_tensor(x, "source")
        if not self._persistent:
            self._tape.stop()
        return [tracked_value(x) for x in targets], flat

    def _walk(self, seeds: list[tuple[Any, Any]], sources: list[Any], sparse: bool = False) -> list[Any]:
        """Cotangents of the sources; None for those that the tape neither watched nor saw computed."""
        walk = reverse if active.tapes else replayed
        tracked = self._tape.tracked
        wanted = [tracked_value(x) for x in sources]
        found = iter(walk(self._tape.nodes, seeds, [w for w in wanted if address(w) in tracked], sparse=sparse))
        return [next(found) if address(w) in tracked else None for w in wanted]

    def _finish(self) -> None:
        """Let go of the recording, unless the tape is persistent."""
        if not self._persistent:
            self._spent = True
            self._tape.forget()


class _Stopped:
    """Stops a tape inside a ``with`` block."""

    def __init__(self, tape: GradientTape) -> None:
        self._stopped = tape

    def __enter__(self) -> None:
        self._stopped._tape.stop()

    def __exit__(self, *_: Any) -> None:
        if not self._stopped._spent:
            self._stopped._tape.start()


def _require_tensor(x: Any, role: str) -> None:
    if not isinstance(x, Value):
        raise TypeError(
            f"{role}: must be a tensor or variable, got {type(x).__name__}; convert it with tf.convert_to_tensor first"
        )


def _seeds(targets: Sequence[Any], output_gradients: Any) -> list[Any]:
    """The cotangents to start from: those given, ones elsewhere."""
    given = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
    if len(given) != len(targets):
        raise ValueError(
            f"output_gradients: expected {len(targets)} of them, one tensor or array for each target, got {len(given)}"
        )
    return [ones_like(t) if g is None else _checked_seed(t, g) for t, g in zip(targets, given, strict=True)]


def _checked_seed(target: Any, seed: Any) -> Any:
    seed = seed if isinstance(seed, Value) else as_array(seed, dtype_of(target), "output_gradients")
    have, want = shape_of(seed), shape_of(target)
    if have is not None and want is not None and have != want and None not in have + want:
        raise ShapeError(
            f"output_gradients: the target has shape {format_shape(want)}, its gradient {format_shape(have)}"
        )
    if dtype_of(seed) is not dtype_of(target):
        raise DTypeError(
            f"output_gradients: the target has dtype {dtype_of(target).name}, its gradient {dtype_of(seed).name}"
        )
    return seed


def _wrapped(x: Any) -> Any:
    if type(x) is IndexedSlices:
        return x.map(_wrapped)
    return x if isinstance(x, Value) else EagerTensor(x)


def _result(ct: Any, source: Any, policy: UnconnectedGradients) -> Any:
    """A cotangent as the user gets it; None or zeros for an unconnected source."""
    if ct is not None:
        return _wrapped(ct)
    return None if policy is UnconnectedGradients.NONE else _wrapped(zeros_like(source))
