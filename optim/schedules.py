"""Learning rates that depend on the step.

A schedule is a callable of the step, made of ops, so that it works on numbers, eager tensors and graph tensors alike.
TensorFlow 2 hands the object to an optimizer, which applies it to its own count of steps. TensorFlow 1's functions
apply the same object to a ``global_step``: of a graph they give a tensor; of an eager one a callable without arguments,
to be evaluated anew at each step.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Any

from engine.core.dtypes import float64
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.trace import Symbol
from engine.core.value import Value, as_array, dtype_of
from engine.core.variable import Variable, tracked_value
from engine.ops.arithmetic import ceil, floor, minimum
from engine.ops.compare import cast, cast_like, equal, less, less_equal, where
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import exp, log, pow
from engine.ops.trig import cos
from engine.runtime.faces import Shown
from engine.runtime.public_names import named


def as_tensor(x: Any, name: str = "value") -> Operand:
    """A number, array, tensor or variable as a tensor."""
    if isinstance(x, Variable):
        return x.read_value()
    return x if isinstance(x, Value) else EagerTensor(as_array(x, None, name))


def _like_first(first: Any, *others: Any) -> list[Any]:
    """Numbers as tensors of the dtype of the first."""
    start = as_tensor(first)
    return [start, *[cast_like(as_tensor(x), start) for x in others]]


class LearningRateSchedule(Shown):
    """Base of the schedules. Derive from it and define ``__call__(step)`` for one of your own."""

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step, of which 0 is the first."""
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal schedule."""
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order to be serializable."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule that `get_config` came from."""
        return cls(**config)


class _Configured(LearningRateSchedule):
    """A schedule whose arguments are the fields of a dataclass."""

    def get_config(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(eq=False)
class _ByPeriods(_Configured):
    """A schedule of how many periods of `decay_steps` have passed."""

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step."""
        rate, at, steps, decay = _like_first(self.initial_learning_rate, step, self.decay_steps, self.decay_rate)
        periods = at / steps
        return self._decayed(rate, decay, floor(periods) if self.staircase else periods)

    @staticmethod
    def _decayed(rate: Any, decay: Any, periods: Any) -> Operand:
        raise NotImplementedError


@dataclass(eq=False)
class ExponentialDecay(_ByPeriods):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    With `staircase` the exponent is rounded down, so that the rate falls at every multiple of `decay_steps`.

    Examples
    --------
    >>> ExponentialDecay(1.0, decay_steps=10, decay_rate=0.5)(20).numpy()
    np.float32(0.25)
    """

    name: str | None = "ExponentialDecay"

    @staticmethod
    def _decayed(rate: Any, decay: Any, periods: Any) -> Operand:
        return rate * pow(decay, periods)


@dataclass(eq=False)
class InverseTimeDecay(_ByPeriods):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``; with `staircase` the fraction is rounded down.

    Examples
    --------
    >>> InverseTimeDecay(1.0, decay_steps=1, decay_rate=0.5)(2).numpy()
    np.float32(0.5)
    """

    name: str | None = "InverseTimeDecay"

    @staticmethod
    def _decayed(rate: Any, decay: Any, periods: Any) -> Operand:
        return rate / (decay * periods + 1)


@dataclass(eq=False)
class PolynomialDecay(_Configured):
    """From `initial_learning_rate` to `end_learning_rate` along ``(1 - step / decay_steps) ** power``.

    After `decay_steps` the rate stays; with `cycle` it starts again, each time with a period longer by `decay_steps`.

    Examples
    --------
    >>> PolynomialDecay(1.0, decay_steps=10, end_learning_rate=0.0)(5).numpy()
    np.float32(0.5)
    """

    initial_learning_rate: Any
    decay_steps: Any
    end_learning_rate: Any = 0.0001
    power: Any = 1.0
    cycle: bool = False
    name: str | None = "PolynomialDecay"

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step."""
        rate, at, steps, end, power = _like_first(
            self.initial_learning_rate, step, self.decay_steps, self.end_learning_rate, self.power
        )
        if self.cycle:
            steps = steps * where(equal(at, zeros_like(at)), ones_like(at), ceil(at / steps))
        else:
            at = minimum(at, steps)
        return (rate - end) * pow(1 - at / steps, power) + end


@dataclass(eq=False)
class CosineDecay(_Configured):
    """Half a cosine wave from the initial rate down to `alpha` times it, in `decay_steps` steps.

    With `warmup_target` the rate first rises linearly to that, in `warmup_steps` steps, and decays from there.

    References
    ----------
    Loshchilov and Hutter (2016), *SGDR: Stochastic Gradient Descent with Warm Restarts*, arXiv:1608.03983.

    Examples
    --------
    >>> CosineDecay(1.0, decay_steps=10)(10).numpy()
    np.float32(0.0)
    """

    initial_learning_rate: Any
    decay_steps: Any
    alpha: Any = 0.0
    name: str | None = "CosineDecay"
    warmup_target: Any = None
    warmup_steps: Any = 0

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step."""
        rate, at, warmup = _like_first(self.initial_learning_rate, step, self.warmup_steps)
        if self.warmup_target is None:
            return self._decayed(rate, at)
        _, target = _like_first(rate, self.warmup_target)
        return where(less(at, warmup), rate + (target - rate) * (at / warmup), self._decayed(target, at - warmup))

    def _decayed(self, rate: Any, at: Any) -> Operand:
        _, steps, alpha = _like_first(rate, self.decay_steps, self.alpha)
        wave = (cos(minimum(at, steps) / steps * math.pi) + 1) * 0.5
        return rate * ((1 - alpha) * wave + alpha)


@dataclass(eq=False)
class CosineDecayRestarts(_Configured):
    """Half a cosine wave from the initial rate down to `alpha` times it, again and again.

    The first takes `first_decay_steps` steps; each is `t_mul` times as long and `m_mul` times as high as that before.

    References
    ----------
    Loshchilov and Hutter (2016), *SGDR: Stochastic Gradient Descent with Warm Restarts*, arXiv:1608.03983, section 3.

    Examples
    --------
    >>> schedule = CosineDecayRestarts(1.0, first_decay_steps=10)
    >>> [round(float(schedule(step)), 6) for step in (0, 5, 10, 20)]
    [1.0, 0.5, 1.0, 0.5]
    """

    initial_learning_rate: Any
    first_decay_steps: Any
    t_mul: Any = 2.0
    m_mul: Any = 1.0
    alpha: Any = 0.0
    name: str | None = "SGDRDecay"

    def __call__(self, step: Any) -> EagerTensor:
        """The learning rate at a step."""
        rate, at, first, longer, lower, alpha = _like_first(
            self.initial_learning_rate, step, self.first_decay_steps, self.t_mul, self.m_mul, self.alpha
        )
        done = at / first
        same = equal(longer, ones_like(longer))
        # where all waves have one length, the formula for the others divides by zero: it gets another length
        other = where(same, longer + 1, longer)
        restarts = floor(log(1 - done * (1 - other)) / log(other))
        within = (done - (1 - pow(other, restarts)) / (1 - other)) / pow(other, restarts)
        restarts, within = where(same, floor(done), restarts), where(same, done - floor(done), within)
        wave = (cos(within * math.pi) + 1) * 0.5 * pow(lower, restarts)
        return rate * ((1 - alpha) * wave + alpha)


@dataclass(eq=False)
class PiecewiseConstantDecay(_Configured):
    """``values[0]`` up to and including step ``boundaries[0]``, ``values[1]`` up to ``boundaries[1]``, and so on.

    Examples
    --------
    >>> schedule = PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.25])
    >>> [float(schedule(step)) for step in (10, 11, 21)]
    [1.0, 0.5, 0.25]
    """

    boundaries: Sequence[Any]
    values: Sequence[Any]
    name: str | None = "PiecewiseConstant"

    def __post_init__(self) -> None:
        if len(self.boundaries) != len(self.values) - 1:
            raise ValueError(
                f"The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={self.boundaries} of length {len(self.boundaries)}, and values={self.values} of length "
                f"{len(self.values)}."
            )

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step."""
        at = cast(as_tensor(step), float64)
        *values, rate = [as_tensor(v) for v in self.values]
        for boundary, value in zip(reversed(self.boundaries), reversed(values), strict=True):
            rate = where(less_equal(at, cast(as_tensor(boundary), float64)), value, rate)
        return rate


# ---- TensorFlow 1's functions ----------------------------------------------------------------------------------------


def _at(schedule: LearningRateSchedule, global_step: Any, function: str) -> Operand | Callable[[], Operand]:
    """The schedule at a step of a graph; what evaluates it, if the step is eager."""
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")
    if isinstance(tracked_value(global_step), Symbol):
        return schedule(global_step)
    return functools.partial(schedule, global_step)


@dataclass(eq=False)
class _LinearCosine(_Configured):
    initial_learning_rate: Any
    decay_steps: Any
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001

    def __call__(self, step: Any) -> Operand:
        """The learning rate at a step."""
        rate, at, steps, periods, alpha, beta = _like_first(
            self.initial_learning_rate, step, self.decay_steps, self.num_periods, self.alpha, self.beta
        )
        done = minimum(at, steps) / steps
        return rate * ((alpha + (1 - done)) * (cos(done * (periods * 2 * math.pi)) + 1) * 0.5 + beta)


def _function(
    name: str,
    kind: Callable[..., LearningRateSchedule],
    doc: str,
    make: Callable[..., LearningRateSchedule] | None = None,
) -> Callable[..., Operand | Callable[[], Operand]]:
    """TensorFlow 1's function for a schedule: it has its arguments, and the step behind the rate."""
    rate, *others = takewhile(lambda p: p.name != "name", inspect.signature(kind).parameters.values())
    first = rate.replace(name="learning_rate"), rate.replace(name="global_step")
    signature = inspect.Signature([*first, *others, rate.replace(name="name", default=None)])

    def function(*args: Any, **kwargs: Any) -> Operand | Callable[[], Operand]:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        given.pop("name", None)
        rate, step = given.pop("learning_rate"), given.pop("global_step")
        return _at((make or kind)(rate, **given), step, name)

    function.__signature__ = signature  # type: ignore[attr-defined]
    return named(function, name, doc)


exponential_decay = _function("exponential_decay", ExponentialDecay, "`ExponentialDecay` at `global_step`.")
natural_exp_decay = _function(
    "natural_exp_decay",
    ExponentialDecay,
    "``learning_rate * exp(-decay_rate * global_step / decay_steps)``: `ExponentialDecay` by ``exp(-decay_rate)``.",
    lambda rate, decay_rate, **others: ExponentialDecay(rate, decay_rate=exp(-as_tensor(decay_rate)), **others),
)
inverse_time_decay = _function("inverse_time_decay", InverseTimeDecay, "`InverseTimeDecay` at `global_step`.")
polynomial_decay = _function("polynomial_decay", PolynomialDecay, "`PolynomialDecay` at `global_step`.")
cosine_decay = _function("cosine_decay", CosineDecay, "`CosineDecay` at `global_step`.")
cosine_decay_restarts = _function(
    "cosine_decay_restarts", CosineDecayRestarts, "`CosineDecayRestarts` at `global_step`."
)
linear_cosine_decay = _function(
    "linear_cosine_decay",
    _LinearCosine,
    """``learning_rate * ((alpha + linear) * wave + beta)``: a cosine wave of `num_periods` on a line down to 0.

    References
    ----------
    Bello, Zoph, Vasudevan and Le (2017), *Neural Optimizer Search with Reinforcement Learning*, arXiv:1709.07417.
    """,
)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Operand | Callable[[], Operand]:
    """`PiecewiseConstantDecay` at step `x`.

    Raises
    ------
    ValueError
        If boundaries are floats for a step that is an integer, or the other way.
    """
    kind = dtype_of(as_tensor(x))
    for boundary in boundaries:
        other = dtype_of(as_tensor(boundary))
        if other.is_integer != kind.is_integer:
            raise ValueError(
                f"piecewise_constant: argument `boundaries`: Boundaries ({other.name}) must have the same dtype as x "
                f"({kind.name}); cast them with tf.cast"
            )
    return _at(PiecewiseConstantDecay(boundaries, values), x, "piecewise_constant")


KINDS: dict[str, type[LearningRateSchedule]] = {
    kind.__name__: kind
    for kind in (
        CosineDecay,
        CosineDecayRestarts,
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
    )
}
"""The schedules that configurations may name."""


__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
]
