"""`GradientTape`: record what happens, then ask for derivatives.

One class for both front ends: it records eager tensors, and graph tensors as TensorFlow 1 allows.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import is_
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from engine.closed.replay import replayed
from engine.core import nest
from engine.core.aval import Aval, format_shape
from engine.core.batching import Batched, innermost, levels_of, lowered, raised
from engine.core.composite import Composite
from engine.core.dtypes import BY_NUMPY
from engine.core.eager import EagerTensor, wrap
from engine.core.late_tape import LateTape, place_if_due
from engine.core.lazy_tensor import TENSORS, LazyTensor
from engine.core.operands import Operand, Source
from engine.core.tape import Tape, active
from engine.core.unconnected import UnconnectedGradients, as_policy
from engine.core.value import NotCopied, Value, address, as_array, dtype_of, shape_of
from engine.core.variable import Variable, tracked_value
from engine.derivatives.aggregation import is_pairwise
from engine.derivatives.reverse import require_one_number
from engine.jacobian.taking import Taking, require_tensor, used
from engine.ops.creation import ones_like, zeros_like
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.reduce import add_n
from engine.runtime.cache import cached
from engine.runtime.errors import DTypeError, ShapeError, UnimplementedError
from engine.runtime.faces import Shown

if TYPE_CHECKING:
    from engine.explain.explanation import Explanation
    from engine.jacobian.on_tape import TapeDerivatives
else:
    TapeDerivatives = object


T = TypeVar("T")
_NONE = type(None)


class _Planned:
    """A method of `TapeDerivatives`. All are loaded when one is first used: the planner is half of the engine."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tape: Any, owner: type) -> Callable[..., Any]:
        from engine.jacobian.on_tape import TapeDerivatives

        for name, method in vars(TapeDerivatives).items():
            if isinstance(vars(GradientTape).get(name, self), _Planned):
                setattr(GradientTape, name, method)
        return getattr(owner if tape is None else tape, self.name)


class GradientTape(Shown, NotCopied, TapeDerivatives):
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
    explain : bool
        Whether to note every op with the line of the program, so that `explain` can say why a gradient is None, zero or
        NaN, also after it was taken. A gradient that is None warns then, with the reason. Costs time and memory.

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

    _replayed = staticmethod(replayed)

    def __init__(
        self,
        persistent: bool = False,
        watch_accessed_variables: bool = True,
        *,
        strict: bool = False,
        explain: bool = False,
    ) -> None:
        self._persistent = persistent
        kind: type[Tape] = Tape
        if explain:
            from engine.explain.witness import ExplainedTape as kind
        elif not persistent and not active.tapes and (place := place_if_due(sys._getframe(1))) is not None:
            kind = partial(LateTape, place)  # type: ignore[assignment]
        self._tape = kind(watch_accessed_variables, strict)
        self._spent = False

    def _facts_(self) -> dict[str, Any]:
        state = "recording" if self._tape.is_recording else "spent" if self._spent else "stopped"
        return {"state": state, "operations": len(self._tape.nodes), "persistent": self._persistent}

    def __enter__(self) -> GradientTape:
        if self._tape.is_recording:
            raise ValueError("Tape is still recording; it cannot be entered again")
        self._spent = False
        if active.function is not None:
            active.function.opened.add(id(self._tape))
        try:
            self._tape.start()
            return self
        except BaseException:
            # an interrupt: nobody is going to call `__exit__`
            self._tape.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        # twice: an interrupt may come within `finally` (`engine.runtime.commit`)
        try:
            self._tape.close()
        finally:
            self._tape.close()

    def __del__(self) -> None:
        # if an interrupt kept `__exit__` from beginning, the recording ends with whoever held the tape
        if active.tapes and self._tape.is_recording:
            self._tape.close()

    def watch(self, tensor: Any) -> None:
        """Trace `tensor` (or each tensor of a structure) from here on.

        Raises
        ------
        TypeError
            If something is not a tensor or variable.
        """
        used(self._tape)
        for x in nest.flatten(tensor):
            if isinstance(x, Composite):
                self.watch([part for part in x.components() if dtype_of(part).is_differentiable])
                continue
            require_tensor(x, "watch", elements=True)
            if not dtype_of(x).is_differentiable:
                warnings.warn(
                    f"watch: the dtype of a watched tensor must be floating (e.g. tf.float32), got {dtype_of(x).name}; "
                    f"its gradient will be None",
                    stacklevel=2,
                )
                continue
            self._tape.watch(tracked_value(innermost(x)))
            if isinstance(x, Variable):
                self._tape.variables[id(x)] = x

    def stop_recording(self) -> AbstractContextManager[None]:
        """Leave what happens inside the `with` block unrecorded."""
        if not self._tape.is_recording:
            raise ValueError("stop_recording: the tape is not recording")
        used(self._tape)
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
        used(self._tape)
        self._tape.clear()

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables watched, in the order in which they were made (graph variables: in which they were used)."""
        used(self._tape)
        return tuple(sorted(self._tape.variables.values(), key=lambda v: getattr(v, "serial", 0)))

    @overload
    def gradient(
        self, target: Any, sources: Source[T], output_gradients: Any = None, unconnected_gradients: Any = ..., *,
        aggregation_method: int | None = None,
    ) -> T: ...  # fmt: skip
    @overload
    def gradient(
        self, target: Any, sources: list[Source[T]], output_gradients: Any = None, unconnected_gradients: Any = ..., *,
        aggregation_method: int | None = None,
    ) -> list[T]: ...  # fmt: skip
    @overload
    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = ..., *,
        aggregation_method: int | None = None,
    ) -> Any: ...  # fmt: skip
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        *,
        aggregation_method: int | None = None,
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
            ``"none"``: None for a source that the target does not depend on. ``"zero"``: zeros. `explain` says why it
            does not.
        aggregation_method : int, optional
            An `AggregationMethod`: in which order the contributions of several uses of a value are added up.

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
        pairwise = aggregation_method is not None and is_pairwise(aggregation_method, "gradient")
        if self._tape.strict and output_gradients is None:
            require_one_number("gradient", nest.flatten(target), "tape.jacobian")
        with Taking(self, target, sources, elements=True) as (targets, flat):
            seeds, levels = _seeds(targets, output_gradients), list[tuple[int, int]]()
            if Batched in map(type, (*targets, *flat)):
                levels, seeds, flat = _of_all_elements(seeds, flat)
            # what the tape neither watched nor saw computed is not connected
            tracked = self._tape.tracked
            wanted = [x.handle if isinstance(x, Variable) else x for x in flat]
            kept = [w for w in wanted if address(w) in tracked]
            late = self._tape if isinstance(self._tape, LateTape) and LazyTensor in map(type, targets) else None
            replay = self._replayed if late is None else partial(self._replayed, late=late)
            found = iter(
                replay(
                    self._tape.nodes, seeds, kept, sparse=not levels, pairwise=pairwise, ones=output_gradients is None
                )
            )
            cts = [
                next(found) if address(w) in tracked else _own_seed(w, seeds) if isinstance(x, Variable) else None
                for w, x in zip(wanted, flat, strict=True)
            ]
            if _NONE in map(type, cts):
                self._note_missing(targets, [x for x, ct in zip(flat, cts, strict=True) if ct is None])
        results = [
            wrap(ct) if type(ct) is np.ndarray else _result(ct, x, policy) for ct, x in zip(cts, flat, strict=True)
        ]
        if levels:
            results = [g if g is None else raised(g, levels) for g in results]
        if type(sources) is list and len(sources) == len(flat) and all(map(is_, sources, flat)):
            return results
        return results[0] if isinstance(sources, Value) else nest.pack_sequence_as(sources, results)

    def _note_missing(self, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        """Find out why sources have no gradient while the recording is there: of variables once, or if it was asked."""
        from engine.explain.missing import note

        note(self._tape, targets, sources)

    def explain(self, target: Any, source: Any) -> Explanation | list[Any] | dict[Any, Any]:
        """Why the gradient of `target` is None, zero or NaN (see `engine.explain.explain`).

        Parameters
        ----------
        target : tensor
        source : tensor, variable or structure of these

        Returns
        -------
        Explanation, or structure like `source`

        Raises
        ------
        RuntimeError
            If the tape has let go of its recording; one made with ``explain=True`` keeps it.
        """
        from engine.explain import explain

        return explain(target, source, tape=self)


class _Stopped:
    """Stops a tape inside a ``with`` block."""

    def __init__(self, tape: GradientTape) -> None:
        self._stopped = tape

    def __enter__(self) -> None:
        self._stopped._tape.stop()

    def __exit__(self, *_: Any) -> None:
        if not self._stopped._spent:
            self._stopped._tape.start()


def _seeds(targets: Sequence[Any], output_gradients: Any) -> list[tuple[Any, Any]]:
    """Targets that have derivatives, with the cotangents to start from: those given, ones elsewhere."""
    if output_gradients is None and not active.tapes and TENSORS.issuperset(map(type, targets)):
        # nobody is to know how the ones came about
        each: list[Any] = [t.aval if type(t) is LazyTensor else t._array for t in targets]
        dtypes = [x.dtype.numpy if type(x) is Aval else x.dtype for x in each]
        shaped = zip(targets, each, dtypes, strict=True)
        return [(t, _ones(x.shape, dtype)) for t, x, dtype in shaped if BY_NUMPY[dtype].is_differentiable]
    given = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
    if len(given) != len(targets):
        raise ValueError(
            f"output_gradients: expected {len(targets)} of them, one tensor or array for each target, got {len(given)}"
        )
    seeds = [ones_like(t) if g is None else _checked_seed(t, g) for t, g in zip(targets, given, strict=True)]
    return [pair for pair in zip(targets, seeds, strict=True) if dtype_of(pair[0]).is_differentiable]


def _of_all_elements(seeds: Sequence[Any], sources: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Batch levels; and the seeds and sources of all elements of the batches at once: none depends on another."""
    levels = sorted(levels_of([*[target for target, _ in seeds], *sources]).items())
    if any(levels_of([x]) != dict(levels) for x in sources):
        raise UnimplementedError(
            "gradient: in a function of tf.transforms.vmap a tape takes gradients with respect to what differs "
            "between elements; with respect to other things use tf.transforms.grad, or tf.vectorized_map"
        )
    whole = [(lowered(target, levels), lowered(seed, levels)) for target, seed in seeds]
    return levels, whole, [innermost(x) for x in sources]


def _own_seed(handle: Any, seeds: Sequence[tuple[Any, Any]]) -> Any:
    """The derivative of a variable that is a target itself, without any recording; None if it is not one."""
    own = [seed for target, seed in seeds if target is handle]
    return add_n(own) if len(own) > 1 else own[0] if own else None


@cached(256)
def _one(dtype: np.dtype) -> np.ndarray:
    """A one that nobody may write to."""
    one = np.ones((), dtype)
    one.flags.writeable = False
    return one


def _ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """As `np.ones` makes them, in a fraction of the time."""
    if not shape:
        return _one(dtype)
    ones = np.empty(shape, dtype)
    ones.fill(1)
    return ones


def _checked_seed(target: Any, seed: Any) -> Operand:
    seed = seed.as_value() if isinstance(seed, IndexedSlices) else seed
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


def _wrapped(x: Any) -> Operand | IndexedSlices:
    if type(x) is IndexedSlices:
        return x.map(_wrapped)
    return x if isinstance(x, Value) else EagerTensor(x)


def _result(ct: Any, source: Any, policy: UnconnectedGradients) -> Operand | IndexedSlices | None:
    """A cotangent as the user gets it; None or zeros for an unconnected source."""
    if ct is not None:
        return _wrapped(ct)
    return None if policy is UnconnectedGradients.NONE else _wrapped(zeros_like(source))


for _name in ("jacobian", "batch_jacobian", "hessian", "hessian_diag", "jvp", "vjp", "hvp", "jacobian_plan"):
    setattr(GradientTape, _name, _Planned(_name))
