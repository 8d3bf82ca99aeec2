"""Transforms: what happens to gradients between `compute_gradients` and `apply_gradients`.

A transform makes pairs of pairs, in both modes, of dense gradients and of rows (`IndexedSlices`). None stays None.
Transforms are put together with ``|`` or `chain`, and applied from left to right::

    chain = skip_nonfinite() | clip_by_global_norm(1.0) | weight_decay(1e-4)
    optimizer.apply_gradients(chain(optimizer.compute_gradients(loss)))

Some keep something between steps: a count, sums of gradients, a scale. That changes together with the variables, in the
step that the pairs are for, or not at all. So the pairs that such a transform gives are for one step, and one thread at
a time uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of, shape_of
from engine.core.variable import Variable, tracked_value
from engine.ops.arithmetic import add, divide, maximum, minimum, multiply, square, subtract
from engine.ops.compare import cast, greater_equal, is_finite, logical_and, where
from engine.ops.explog import pow, sqrt
from engine.ops.gather import gather
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.joining import stack
from engine.ops.random import stateless_normal
from engine.ops.reduce import reduce_all, reduce_mean, reduce_sum
from engine.runtime.commit import exclusively
from engine.runtime.errors import InvalidArgumentError
from optim import clip
from optim.pairs import Change, Pairs, as_gradient, as_pairs
from optim.slots import MAKING, Slots, Stateful, filled

Each = Callable[[Any, Variable], Any]


class Transform(Stateful):
    """A function from pairs to pairs.

    Parameters
    ----------
    function : callable
        ``function(pairs) -> pairs``, given and giving `Pairs`.
    name : str
    parts : sequence of Transform
        Those that it is made of. Checkpoints hold what they keep.

    Examples
    --------
    >>> import tape_api as tf
    >>> w, b = tf.Variable([3.0, 4.0]), tf.Variable(1.0)
    >>> pairs = (clip_by_norm(1.0) | scale(2.0))([(tf.constant([3.0, 4.0]), w), (None, b)])
    >>> pairs[0][0].numpy(), pairs[1][0]
    (array([1.2, 1.6], dtype=float32), None)
    """

    def __init__(self, function: Callable[[Pairs], Pairs], name: str, parts: Sequence[Transform] = ()) -> None:
        self._function, self._name, self.parts = function, name, tuple(parts)
        self._slots, self._counters = Slots(), Slots()

    def make(self, variables: Sequence[Variable]) -> None:
        """Make what is kept for variables now rather than when their gradients come first."""

    def __call__(self, grads_and_vars: Iterable[Any]) -> Pairs:
        """The pairs that this transform makes of some."""
        return self._function(as_pairs(grads_and_vars))

    def __or__(self, other: Any) -> Transform:
        """This transform, then another one."""
        return chain(self, other) if isinstance(other, Transform) else NotImplemented

    def __repr__(self) -> str:
        return f"<{self._name}>"


def chain(*transforms: Transform) -> Transform:
    """Transforms applied one after the other; none at all changes nothing.

    Raises
    ------
    TypeError
        If something is not a transform.
    """
    for each in transforms:
        if not isinstance(each, Transform):
            raise TypeError(f"chain: expected transforms, got {each!r}")

    def function(pairs: Pairs) -> Pairs:
        for each in transforms:
            pairs = each(pairs)
        return pairs

    return Transform(function, " | ".join(map(repr, transforms)) or "nothing", transforms)


def each(function: Each, name: str = "") -> Transform:
    """The transform that replaces each gradient that is not None by ``function(gradient, variable)``.

    `name` is what it is shown as, by default the function's.
    """
    return Transform(
        lambda pairs: pairs.then([(None if g is None else function(as_gradient(g, v), v), v) for g, v in pairs]),
        name or getattr(function, "__name__", "each"),
    )


# ---- clipping --------------------------------------------------------------------------------------------------------


def clip_by_value(clip_value_min: Any, clip_value_max: Any) -> Transform:
    """Limit each element, see `optim.clip_by_value`. None stays None."""
    return each(lambda g, _: clip.clip_by_value(g, clip_value_min, clip_value_max), "clip_by_value")


def clip_by_norm(clip_norm: Any) -> Transform:
    """Limit the norm of each gradient, see `optim.clip_by_norm`. Rows of equal index are added up first.

    None stays None.
    """
    return each(lambda g, _: clip.clip_by_norm(_distinct(g), clip_norm), "clip_by_norm")


def clip_by_average_norm(clip_norm: Any) -> Transform:
    """Limit the norm of each gradient divided by its number of elements, see `optim.clip_by_average_norm`.

    None stays None.
    """
    return each(lambda g, _: clip.clip_by_average_norm(_dense(g), clip_norm), "clip_by_average_norm")


def clip_by_global_norm(clip_norm: Any) -> Transform:
    """Limit the norm of all gradients together, see `optim.clip_by_global_norm`. None stays None."""

    def function(pairs: Pairs) -> Pairs:
        gradients = [None if g is None else _distinct(as_gradient(g, v)) for g, v in pairs]
        if all(g is None for g in gradients):
            return pairs
        clipped, _ = clip.clip_by_global_norm(gradients, clip_norm)
        return pairs.then(list(zip(clipped, [v for _, v in pairs], strict=True)))

    return Transform(function, "clip_by_global_norm")


def clip_adaptively(clipping: float = 0.01, epsilon: float = 1e-3) -> Transform:
    """Limit the norm of each unit's gradient to a part of the norm of its weights.

    None stays None.

    ``g ← g min(1, clipping max(‖w‖, epsilon) / ‖g‖)``, with the norms of what belongs to one output: over all axes but
    the last, or over the whole of scalars and vectors.

    References
    ----------
    Brock, De, Smith and Simonyan (2021), *High-Performance Large-Scale Image Recognition Without Normalization*,
    arXiv:2102.06171, section 4.
    """

    def function(g: Any, v: Variable) -> Operand | IndexedSlices:
        g = _distinct(g)
        x = g.values if isinstance(g, IndexedSlices) else g
        rank = len(shape_of(v) or ())
        axes = list(range(rank - 1)) if rank > 1 else None
        weights, size = _norm(v.read_value(), axes), _norm(x, axes)
        limit = maximum(weights, _like(epsilon, v)) * _like(clipping, v)
        # where the gradient is zero, nothing is divided by it
        factor = where(greater_equal(limit, size), _like(1.0, v), divide(limit, maximum(size, _like(1e-30, v))))
        return _scaled(g, factor)

    return each(function, "clip_adaptively")


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def scale(factor: Any) -> Transform:
    """Multiply each gradient by a number, or by a scalar tensor. None stays None."""
    return each(lambda g, v: _scaled(g, _like(factor, v)), "scale")


def weight_decay(rate: Any) -> Transform:
    """Add ``rate * variable``, the gradient of ``rate / 2 * ‖variable‖²``; to rows, that of these rows.

    None stays None.
    """

    def function(g: Any, v: Variable) -> Operand | IndexedSlices:
        if not isinstance(g, IndexedSlices):
            return add(g, multiply(v.read_value(), _like(rate, v)))
        g = g.summed()
        return g.with_values(add(g.values, multiply(gather(v.read_value(), g.indices), _like(rate, v))))

    return each(function, "weight_decay")


def centralize() -> Transform:
    """Subtract from the gradient of each unit its mean: over all axes but the last, of variables of at least two axes.

    None stays None.

    References
    ----------
    Yong, Huang, Hua and Zhang (2020), *Gradient Centralization*, arXiv:2004.01461, equation 1.
    """

    def function(g: Any, v: Variable) -> Operand | IndexedSlices:
        rank = len(shape_of(v) or ())
        if rank < 2:
            return g
        g = _dense(g)
        return subtract(g, reduce_mean(g, axis=list(range(rank - 1)), keepdims=True))

    return each(function, "centralize")


def add_noise(stddev: Any = 1.0, decay: float = 0.0, seed: int = 0) -> Transform:
    """Add normal noise whose standard deviation at step t (from 0) is ``stddev / (1 + t) ** (decay / 2)``.

    None stays None.

    The noise is a function of seed, step and position of the variable: the same in both modes.

    References
    ----------
    Neelakantan et al. (2015), *Adding Gradient Noise Improves Learning for Very Deep Networks*, arXiv:1511.06807.
    """

    def function(pairs: Pairs) -> Pairs:
        if not pairs:
            return pairs
        count = made._counters.shared(pairs[0][1], "noise_steps", np.int32(0))
        made.restored()
        t = count.read_value()
        noisy = []
        for i, (g, v) in enumerate(pairs):
            if g is not None:
                g = _distinct(as_gradient(g, v))
                x = g.values if isinstance(g, IndexedSlices) else g
                size = multiply(_like(stddev, v), pow(add(cast(t, v.dtype), 1), _like(-decay / 2, v)))
                key = stack([t, np.int32(seed * 65_536 + i)])
                noise = stateless_normal(shape_of(x), key, dtype=v.dtype)
                g = _with_values(g, add(x, multiply(noise, size)))
            noisy.append((g, v))
        return pairs.then(noisy, [(count, t + 1)])

    made = Transform(function, "add_noise")
    return made


# ---- by variable -----------------------------------------------------------------------------------------------------


def freeze(*which: Any) -> Transform:
    """Leave out the pairs of some variables: given themselves, or by regular expressions for the start of names.

    None stays None.
    """
    return Transform(lambda pairs: pairs.then([p for p in pairs if not _is_one_of(p[1], which)]), "freeze")


def only(*which: Any) -> Transform:
    """Leave out the pairs of all but some variables, which are given as in `freeze`. None stays None."""
    return Transform(lambda pairs: pairs.then([p for p in pairs if _is_one_of(p[1], which)]), "only")


def multiply_by_name(factors: Mapping[str, Any]) -> Transform:
    """Multiply gradients by the factor of the first regular expression that the start of the name matches.

    None stays None.

    Raises
    ------
    TypeError
        If `factors` is no mapping.
    """
    if not isinstance(factors, Mapping):
        raise TypeError(f"multiply_by_name: `factors` must map regular expressions to factors, got {factors!r}")

    def function(g: Any, v: Variable) -> Operand | IndexedSlices:
        for pattern, factor in factors.items():
            if _is_one_of(v, (pattern,)):
                return _scaled(g, _like(factor, v))
        return g

    return each(function, "multiply_by_name")


# ---- over several steps ----------------------------------------------------------------------------------------------


def accumulate(steps: int, mean: bool = True) -> Transform:
    """Make one step of every `steps`, along the mean (or sum) of their gradients.

    None stays None.

    In between nothing changes but the sums, which are kept beside the variables. Rows are added up as wholes.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) If `steps` is not a positive int.
    """
    return _Accumulate(steps, mean)


class _Accumulate(Transform):
    def __init__(self, steps: int, mean: bool) -> None:
        super().__init__(self._accumulated, "accumulate")
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise InvalidArgumentError(f"accumulate: `steps` must be a positive int, got {steps!r}")
        self._steps, self._mean = steps, mean

    def make(self, variables: Sequence[Variable]) -> None:
        """Make the count and the sums."""
        if variables:
            self._counters.shared(variables[0], "accumulated_steps", np.int32(0))
        for v in variables:
            self._slots.create(v, "accumulated", partial(filled, number=0.0))

    def _accumulated(self, pairs: Pairs) -> Pairs:
        ready = [(as_gradient(g, v), v) for g, v in pairs if g is not None]
        if not ready:
            return pairs
        exclusively(MAKING, self.make, [v for _, v in ready])
        self.restored()
        count = self._counters.shared(ready[0][1], "accumulated_steps", np.int32(0))
        number = count.read_value() + 1
        due = greater_equal(number, np.int32(self._steps))
        # a variable that is given twice has one sum
        variables = list({id(v.handle): v for _, v in ready}.values())
        sums = {id(v.handle): slot for v, _, slot in self._slots.items()}
        totals = {id(v.handle): sums[id(v.handle)].read_value() for v in variables}
        for g, v in ready:
            totals[id(v.handle)] = add(totals[id(v.handle)], _dense(g))
        changes: list[Change] = [(count, where(due, np.int32(0), number))]
        summed: list[Any] = [(None, v) for g, v in pairs if g is None]
        for v in variables:
            total = totals[id(v.handle)]
            changes.append((sums[id(v.handle)], where(due, _like(0.0, v), total)))
            summed.append((divide(total, _like(self._steps, v)) if self._mean else total, v))
        return pairs.then(summed, changes, due)


class SkipNonfinite(Transform):
    """Make no step where a gradient holds an infinity or NaN, and count such steps: made by `skip_nonfinite`."""

    def __init__(self) -> None:
        super().__init__(self._checked, "skip_nonfinite")

    @property
    def skipped(self) -> Variable | int:
        """How many steps were left out: a variable as soon as pairs have been seen, 0 before."""
        return self._counters.all()[-1] if self._counters.all() else 0

    def _checked(self, pairs: Pairs) -> Pairs:
        finite = _all_finite(pairs)
        if finite is None:
            return pairs
        count = self._counters.shared(pairs[0][1], "skipped_steps", np.int64(0))
        self.restored()
        number = count.read_value()
        return pairs.then(pairs, [(count, where(finite, number, number + 1))], finite)


def skip_nonfinite() -> SkipNonfinite:
    """Make no step where a gradient holds an infinity or NaN; `skipped` counts such steps. None stays None."""
    return SkipNonfinite()


class LossScale(Transform):
    """Gradients of a loss that was multiplied by a scale, divided by it again; the scale follows what float16 can hold.

    ``optimizer.apply_gradients(scaling(optimizer.compute_gradients(scaling.scaled(loss))))``: where a gradient is not
    finite no step is made and the scale is halved; after `growth_interval` good steps it is doubled.

    Parameters
    ----------
    initial : float
    growth_interval : int, optional
        None keeps the scale as it is, whatever happens.
    near : variable
        Beside which the scale is kept: any one of those to be trained.

    Raises
    ------
    TypeError
        If `near` is no variable.

    References
    ----------
    Micikevicius et al. (2018), *Mixed Precision Training*, arXiv:1710.03740, section 3.2.
    """

    def __init__(self, near: Variable, initial: float = 2.0**15, growth_interval: int | None = 2000) -> None:
        super().__init__(self._unscaled, "LossScale")
        if not isinstance(near, Variable):
            raise TypeError(f"LossScale: `near` must be a variable, beside which the scale is kept, got {near!r}")
        self._interval = growth_interval
        self.scale = near.new_slot("loss_scale", np.float32(initial), below=False)
        self._good = near.new_slot("good_steps", np.int32(0), below=False)

    def kept_together(self) -> list[Variable]:
        """The scale, and how many good steps there were since it last changed."""
        return [self.scale, self._good]

    def scaled(self, loss: Any) -> Operand | Callable[[], Any]:
        """The loss times the scale; of a callable, a callable."""
        if callable(loss) and not isinstance(loss, Value):
            return lambda: self.scaled(loss())
        return multiply(loss, cast(self.scale.read_value(), dtype_of(loss)))

    def _unscaled(self, pairs: Pairs) -> Pairs:
        size = self.scale.read_value()
        unscaled = [(None if g is None else _scaled(as_gradient(g, v), divide(_like(1.0, v), cast(size, v.dtype))), v)
                 for g, v in pairs]  # fmt: skip
        finite = _all_finite(unscaled)
        if finite is None or self._interval is None:
            return pairs.then(unscaled, (), finite)
        good = self._good.read_value() + 1
        full = greater_equal(good, np.int32(self._interval))
        grown = where(full, minimum(size * 2.0, _like(2.0**100, self.scale)), size)
        changes = [
            (self.scale, where(finite, grown, maximum(size * 0.5, _like(1.0, self.scale)))),
            (self._good, where(logical_and(finite, ~full), good, np.int32(0))),
        ]
        return pairs.then(unscaled, changes, finite)


# ---- the parts -------------------------------------------------------------------------------------------------------


def _like(x: Any, v: Variable) -> Operand:
    """A number as a scalar of the variable's dtype."""
    return cast(x, v.dtype) if isinstance(x, Value) else EagerTensor(np.asarray(x, v.dtype.numpy))


def _distinct(g: Any) -> Operand | IndexedSlices:
    """A gradient whose rows of equal index are added up."""
    return g.summed() if isinstance(g, IndexedSlices) else g


def _dense(g: Any) -> Operand:
    return g.dense() if isinstance(g, IndexedSlices) else g


def _with_values(g: Any, values: Any) -> Operand | IndexedSlices:
    return g.with_values(values) if isinstance(g, IndexedSlices) else values


def _scaled(g: Any, factor: Any) -> Operand | IndexedSlices:
    return _with_values(g, multiply(g.values if isinstance(g, IndexedSlices) else g, factor))


def _norm(x: Any, axes: list[int] | None) -> Operand:
    return sqrt(reduce_sum(square(x), axis=axes, keepdims=axes is not None))


def _is_one_of(v: Variable, which: Iterable[Any]) -> bool:
    return any(
        re.match(w, v.name) is not None if isinstance(w, str) else tracked_value(w) is tracked_value(v) for w in which
    )


def _all_finite(pairs: Iterable[Any]) -> Operand | None:
    """Whether all gradients are finite, as a scalar; None if there are none."""
    parts = [g.values if isinstance(g, IndexedSlices) else as_gradient(g, v) for g, v in pairs if g is not None]
    if not parts:
        return None
    return reduce_all(stack([reduce_all(is_finite(x)) for x in parts]))
