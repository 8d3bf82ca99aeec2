"""Random numbers that depend on nothing but a seed and a counter: those of TensorFlow's CPU kernels.

Every op here takes two operands that name a stream (`engine.ops.philox`): a seed, which holds two integers, and a
counter, from which on numbers are taken. The same two give the same numbers, whoever asks, in whatever order. So a
program with random ops stays a pure function of its operands. What makes numbers differ from one call to the next is
the counter, which the front ends advance by as many groups of words as TensorFlow's kernel reserves: the tape keeps it
in Python, a graph in a hidden variable. A *draw* stands for that: a function that says where a call's numbers begin.

Shapes are operands too, as everywhere. The numbers carry no derivative, except those of `gamma` (in its parameters) and
`shuffle`, `dropout` (in the values they act on). Parameters such as a mean are applied by arithmetic outside, which is
differentiable by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import Batches, NotBatched, insert_axes, lead_param, materialized
from engine.core.dtypes import FLOATING, INTEGER, REAL, DType, as_dtype, float32, int32, int64, uint32, uint64
from engine.core.kinds import check_dtype, general, linear, nondifferentiable, same_dtype
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.sparsity import ELEMENTWISE, along_first, every
from engine.core.structural import sum_to_like
from engine.core.value import dtype_of, shape_of
from engine.ops import philox
from engine.ops.arithmetic import maximum
from engine.ops.compare import cast
from engine.ops.creation import zeros_like
from engine.ops.joining import stack
from engine.ops.lift import as_operand
from engine.ops.philox import RESERVED, Stream, stream_of
from engine.ops.reduce import reduce_prod
from engine.ops.shape import as_dims, known_dims, shape_operand, size
from engine.ops.shape import shape as dimensions
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from engine.runtime.lazy_scipy import scipy

Draw = Callable[[str, Any], tuple[Any, Any]]
"""``draw(kind, groups)`` gives the seed (integer vector of two) and the counter (integer scalar) of a call.

`kind` names TensorFlow's kernel with its dtypes, `groups()` (an int64 scalar) is how far the call moves the stream on;
None if it takes no numbers, though TensorFlow gives it a seed.
"""


def at(seed: Any, counter: Any = 0) -> Draw:
    """The draw of a given place."""
    return lambda kind, groups: (seed, np.int64(counter))


def generator(seed: Any, counter: Any) -> np.random.Generator:
    """NumPy's generator at a place of its own, for what does not follow a kernel of TensorFlow."""
    key = np.asarray(seed, np.int64).ravel().view(np.uint64)
    # The lower words of Philox's counter are the position within the stream.
    start = np.array([0, 0, np.asarray(counter, np.int64).astype(np.uint64), 0], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=start))


# ---- making ops of samplers ------------------------------------------------------------------------------------------

Sampler = Callable[..., Any]
"""``sampler(stream, shape, *parameters, dtype) -> array`` of shape ``shape + parameters' shape``."""


def _kernel(sampler: Sampler) -> Callable[..., Any]:
    """The kernel of a sampling op. Its operands have `lead` leading axes, and each element is a draw of its own."""

    def kernel(shape: Any, seed: Any, counter: Any, *parameters: Any, dtype: DType, lead: int = 0) -> np.ndarray:
        if lead:
            rows = zip(seed, counter, *parameters, strict=True)
            return np.array([kernel(shape, *row, dtype=dtype, lead=lead - 1) for row in rows], dtype.numpy)
        dims = as_dims(shape)
        if min(dims, default=0) < 0:
            raise ValueError(f"argument `shape` must not be negative, got {list(dims)}")
        if math.prod((*dims, *map(np.size, parameters))) >= 2**63:
            raise ValueError(f"argument `shape` asks for more numbers than an array can hold, got {list(dims)}")
        drawn = sampler(stream_of(seed, counter), dims, *parameters, dtype=dtype.numpy)
        return np.asarray(drawn, dtype.numpy, order="C")

    return kernel


def _moved(shape: Any, each: Any = 1) -> Any:
    """How far a call moves its stream on that gives `each` numbers for each element of a shape."""
    if type(shape) is np.ndarray and type(each) is int:
        # what is too much wraps around, as in an array: the kernel refuses the shape
        groups = RESERVED * each * math.prod(shape.ravel().tolist())
        return np.int64((groups + 2**63) % 2**64 - 2**63)
    return reduce_prod(cast(shape, int64)) * (each * np.int64(RESERVED))


def _abstract(name: str, accepts: frozenset[DType]) -> Callable[..., Aval]:
    """Abstract evaluation of a sampling op: the result has the shape asked for, then that of the parameters."""

    def abstract(shape: Aval, seed: Aval, counter: Aval, *parameters: Aval, dtype: DType, lead: int = 0) -> Aval:
        check_dtype(name, "shape", shape, INTEGER)
        check_dtype(name, "seed", seed, INTEGER)
        check_dtype(name, "counter", counter, INTEGER)
        if dtype not in accepts:
            raise InvalidArgumentError(f"{name}: argument `dtype` may not be {dtype.name}")
        if seed.shape is not None and seed.shape[lead:] not in ((2,), (None,)):
            raise ShapeError(f"{name}: argument `seed` must hold two integers, got {seed}")
        wanted = known_dims(shape)
        own = broadcast_shapes(name, *[p.shape for p in parameters]) if parameters else (None,) * lead
        if wanted is None or own is None or seed.shape is None:
            return Aval(None, dtype)
        return Aval((*seed.shape[:lead], *wanted, *own[lead:]), dtype)

    return abstract


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """All elements of a batch see the same draw, unless the draw itself differs between them."""
    if not any(flags):
        return NotBatched(op(*inputs, **params))
    if flags[0]:
        raise ShapeError(f"{op.title}: the shape must not differ between batch elements")
    return op(inputs[0], *materialized(inputs[1:], flags[1:], size), **{**params, "lead": params.get("lead", 0) + 1})


def _sampling(
    name: str, sampler: Sampler, type: str, doc: str, accepts: frozenset[DType] = FLOATING, args: tuple[str, ...] = ()
) -> Op:
    return nondifferentiable(
        name,
        _kernel(sampler),
        abstract=_abstract(name, accepts),
        batch=_batch,
        type=type,
        strict=False,
        args=("shape", "seed", "counter", *args),
        doc=doc,
    )


def _plain(sample: Callable[..., np.ndarray]) -> Sampler:
    """The sampler of a distribution without parameters."""

    def sampler(stream: Stream, shape: tuple[int, ...], *, dtype: np.dtype) -> np.ndarray:
        return sample(stream, math.prod(shape), dtype.type).reshape(shape)

    return sampler


def _integer_sampler(stream: Stream, shape: tuple[int, ...], low: Any, high: Any, *, dtype: np.dtype) -> np.ndarray:
    if np.ndim(low) or np.ndim(high):
        raise ValueError("the limits must be scalars")
    if not low < high:
        raise ValueError(f"argument `minval` must be below `maxval`, got {low} and {high}")
    return philox.integers(stream, math.prod(shape), int(low), int(high), dtype).reshape(shape)


def _gamma_sampler(stream: Stream, shape: tuple[int, ...], alpha: Any, *, dtype: np.dtype) -> np.ndarray:
    return philox.gamma(stream, math.prod(shape), alpha.ravel()).reshape(shape + alpha.shape)


def _poisson_sampler(stream: Stream, shape: tuple[int, ...], rate: Any, *, dtype: np.dtype) -> np.ndarray:
    if not (rate >= 0).all():
        raise ValueError("argument `lam` must not be negative or NaN")
    return philox.poisson(stream, math.prod(shape), rate.ravel()).reshape(shape + rate.shape)


random_uniform_op = _sampling(
    "random_uniform_op", _plain(philox.uniform), "RandomUniform", "Uniform numbers in [0, 1)."
)
random_normal_op = _sampling(
    "random_normal_op", _plain(philox.normal), "RandomStandardNormal", "Numbers of the standard normal distribution."
)
truncated_normal_op = _sampling(
    "truncated_normal_op", _plain(philox.truncated_normal), "TruncatedNormal", "Standard normal numbers in (-2, 2)."
)
random_integers_op = _sampling(
    "random_integers_op",
    _integer_sampler,
    "RandomUniformInt",
    "Uniform integers, the upper limit excluded.",
    frozenset({int32, int64}),
    ("minval", "maxval"),
)
random_full_integers_op = _sampling(
    "random_full_integers_op",
    _plain(philox.full_integers),
    "StatelessRandomUniformFullIntV2",
    "Integers of the whole range of their dtype.",
    frozenset({int32, int64, uint32, uint64}),
)
random_poisson_op = _sampling(
    "random_poisson_op", _poisson_sampler, "RandomPoissonV2", "Counts of the Poisson distribution.", REAL, ("rate",)
)


def _scrambled_kernel(seed: Any) -> np.ndarray:
    seeds = [philox.scrambled(row)[:2] for row in np.reshape(seed, (-1, 2))]
    return np.array(seeds, np.uint64).view(np.int64).reshape(seed.shape)


def _scrambled_abstract(seed: Aval) -> Aval:
    check_dtype("stateless", "seed", seed, INTEGER)
    if seed.shape is not None and seed.shape[-1:] not in ((2,), (None,)):
        raise ShapeError(f"stateless random numbers: argument `seed` must hold two integers, got {seed}")
    return Aval(seed.shape, int64)


scrambled_seed = nondifferentiable(
    "scrambled_seed",
    _scrambled_kernel,
    abstract=_scrambled_abstract,
    type="StatelessRandomGetKeyCounter",
    strict=False,
    args=("seed",),
    doc="The seed with which an op draws what a stateless one draws with the seed given.",
)

# ---- gamma, which is differentiable in its parameter -----------------------------------------------------------------


def _gamma_slope_kernel(sample: Any, alpha: Any) -> np.ndarray:
    """``-(dF/dalpha) / f``, F the distribution (its nearer tail, by five-point differences), f its density."""
    x, a = np.asarray(sample, np.float64), np.asarray(alpha, np.float64)
    upper = x > a
    step = 1e-3 * np.maximum(a, 1e-3) / (1 + a) ** 0.5

    def tail(k: int) -> np.ndarray:
        shifted = a + k * step
        return np.where(upper, -scipy.special.gammaincc(shifted, x), scipy.special.gammainc(shifted, x))

    change = (8 * (tail(1) - tail(-1)) - (tail(2) - tail(-2))) / (12 * step)
    density = elementary.exp((a - 1) * elementary.log(x) - x - scipy.special.gammaln(a))
    return np.where(x > 0, -change / density, 0).astype(alpha.dtype)


gamma_slope = nondifferentiable(
    "gamma_slope",
    _gamma_slope_kernel,
    args=("sample", "alpha"),
    accepts=FLOATING,
    doc="How a gamma-distributed sample moves with alpha, at a fixed quantile.",
)


def _gamma_abstract(shape: Aval, seed: Aval, counter: Aval, alpha: Aval, *, dtype: DType, lead: int = 0) -> Aval:
    same_dtype("gamma", ("dtype", "alpha"), (Aval((), dtype), alpha))
    return _abstract("gamma", FLOATING)(shape, seed, counter, alpha, dtype=dtype, lead=lead)


def _aligned(x: Any, out: Any, lead: int) -> Operand:
    """`x` with axes of size one behind its `lead` leading ones, so that it broadcasts against `out`."""
    if not lead:
        return x
    rank, full = shape_of(x), shape_of(out)
    assert rank is not None and full is not None, "a batch has a known rank"
    return insert_axes(x, lead, len(full) - len(rank))


random_gamma_op = general(
    "random_gamma_op",
    _kernel(_gamma_sampler),
    _gamma_abstract,
    vjp=(
        None,
        None,
        None,
        lambda ct, out, shape, seed, counter, alpha, *, lead=0, **_: sum_to_like(
            ct * gamma_slope(out, _aligned(alpha, out, lead)), alpha, lead=lead, ref_lead=lead
        ),
    ),
    jvp=(
        None,
        None,
        None,
        lambda t, out, shape, seed, counter, alpha, *, lead=0, **_: (
            _aligned(t, out, lead) * gamma_slope(out, _aligned(alpha, out, lead))
        ),
    ),
    batch=_batch,
    strict=False,
    type="RandomGamma",
    args=("shape", "seed", "counter", "alpha"),
    sparsity=lambda site, i: every(site, i) if site.params.get("lead") else ELEMENTWISE(site, i),
    doc="Gamma-distributed numbers of unit scale, differentiable in the shape parameter (implicit reparameterization).",
)

# ---- categorical, shuffle --------------------------------------------------------------------------------------------


def _categorical_kernel(count: Any, seed: Any, counter: Any, logits: Any, *, dtype: DType, lead: int = 0) -> np.ndarray:
    if lead:
        rows = zip(seed, counter, logits, strict=True)
        return np.array([_categorical_kernel(count, *row, dtype=dtype, lead=lead - 1) for row in rows], dtype.numpy)
    if logits.ndim != 2 or not logits.shape[1]:
        raise ValueError("`logits` must have the shape (rows, classes), with at least one class")
    (number,) = as_dims(count)
    if number < 0:
        raise ValueError(f"`num_samples` must not be negative, got {number}")
    chosen = philox.categorical(stream_of(seed, counter), number, logits)
    return np.minimum(chosen, logits.shape[1] - 1).astype(dtype.numpy)


def _categorical_abstract(count: Aval, seed: Aval, counter: Aval, logits: Aval, *, dtype: DType, lead: int = 0) -> Aval:
    check_dtype("categorical", "logits", logits, FLOATING)
    check_dtype("categorical", "num_samples", count, INTEGER)
    if logits.shape is None:
        return Aval((None,) * (lead + 2), dtype)
    if len(logits.shape) != lead + 2:
        raise ShapeError(f"categorical: argument `logits` must have the shape (rows, classes), got {logits}")
    return Aval((*logits.shape[:-1], *(known_dims(count) or (None,))), dtype)


categorical_op = nondifferentiable(
    "categorical_op",
    _categorical_kernel,
    abstract=_categorical_abstract,
    batch=_batch,
    type="Multinomial",
    args=("num_samples", "seed", "counter", "logits"),
    doc="Classes drawn with the probabilities that each row of logits gives.",
)


def _shuffle_kernel(value: Any, seed: Any, counter: Any, *, inverse: bool = False, lead: int = 0) -> np.ndarray:
    if value.ndim <= lead:
        raise ValueError("a scalar cannot be shuffled")
    order = philox.permutation(stream_of(seed, counter), value.shape[lead])
    return np.take(value, np.argsort(order) if inverse else order, axis=lead)


shuffle_op = linear(
    "shuffle_op",
    _shuffle_kernel,
    lambda ct, value, seed, counter, *, inverse=False, lead=0: shuffle_op(
        ct, seed, counter, inverse=not inverse, lead=lead
    ),
    lambda value, seed, counter, **_: Aval(value.shape, value.dtype),
    lead_param,
    type="RandomShuffle",
    args=("value", "seed", "counter"),
    sparsity=along_first,
    doc="The rows of a value in random order.",
)

# ---- public functions, given a draw ----------------------------------------------------------------------------------


def _kind(op: Op, dtype: DType, *parameters: Any) -> str:
    """The kernel that TensorFlow runs for a call."""
    return ":".join([op.type, dtype.name, *[dtype_of(p).name for p in parameters]])


def _sampled(op: Op, shape: Any, draw: Draw, *parameters: Any, dtype: DType) -> Operand:
    """Apply a sampling op: its results have a shape, then that of the parameters."""
    dims = shape_operand(shape)

    def moved() -> Any:
        each: Any = 1
        if op is not random_integers_op and parameters:
            own = shape_of(parameters[0])
            each = size(parameters[0], int64) if own is None or None in own else math.prod(own)
        return _moved(dims, each)

    # the kernel is another one for shapes of another dtype than lists of numbers have
    sizes = (dims,) if hasattr(shape, "dtype") and dtype_of(dims) is int64 else ()
    kind = _kind(op, dtype, *sizes, *(parameters if op is random_poisson_op else ()))
    return op(dims, *draw(kind, moved), *parameters, dtype=dtype)


def _floating(name: str, dtype: Any) -> DType:
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise InvalidArgumentError(f"{name}: argument `dtype` must be floating, got {wanted.name}")
    return wanted


def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, *, draw: Draw) -> Operand:
    """Uniform random numbers in [minval, maxval).

    Parameters
    ----------
    shape : sequence of int, or integer vector
    minval, maxval : number or value
        By default 0 and 1. Integers need a `maxval`, and scalars for both. Floating numbers are differentiable in them.
    dtype : DType
        Floating, int32 or int64.
    draw : Draw
    """
    wanted = as_dtype(dtype)
    if wanted.is_integer:
        if maxval is None:
            raise InvalidArgumentError(f"uniform: argument `maxval` must be given for integer dtype {wanted.name}")
        limits = (as_operand(limit, wanted, "uniform") for limit in (minval, maxval))
        return _sampled(random_integers_op, shape, draw, *limits, dtype=wanted)
    unit = _sampled(random_uniform_op, shape, draw, dtype=_floating("uniform", wanted))
    if maxval is None and isinstance(minval, (int, float)) and minval == 0:
        return unit
    low, high = (as_operand(limit, wanted, "uniform") for limit in (minval, 1 if maxval is None else maxval))
    return unit * (high - low) + low


def full_integers(shape: Any, dtype: Any, *, draw: Draw) -> Operand:
    """Integers of the whole range of a dtype: int32, int64, uint32 or uint64."""
    return _sampled(random_full_integers_op, shape, draw, dtype=as_dtype(dtype))


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, *, draw: Draw) -> Operand:
    """Normally distributed random numbers.

    Parameters
    ----------
    shape : sequence of int, or integer vector
    mean, stddev : number or value
        Broadcast against `shape`; the result is differentiable in them.
    dtype : DType
        Floating.
    draw : Draw
    """
    wanted = _floating("normal", dtype)
    standard = _sampled(random_normal_op, shape, draw, dtype=wanted)
    return standard * as_operand(stddev, wanted, "normal") + as_operand(mean, wanted, "normal")


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, *, draw: Draw) -> Operand:
    """Normally distributed random numbers no further than two standard deviations from the mean (see `normal`)."""
    wanted = _floating("truncated_normal", dtype)
    standard = _sampled(truncated_normal_op, shape, draw, dtype=wanted)
    return standard * as_operand(stddev, wanted, "truncated_normal") + as_operand(mean, wanted, "truncated_normal")


def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, *, draw: Draw) -> Operand:
    """Gamma-distributed random numbers, differentiable in both parameters.

    Parameters
    ----------
    shape : sequence of int, or integer vector
        How many for each pair of parameters.
    alpha : number or value
        Shape parameter.
    beta : number or value, optional
        Inverse scale, broadcast with `alpha`; by default 1.
    dtype : DType
        Floating.
    draw : Draw

    Returns
    -------
    value, shape ``shape + (alpha + beta).shape``
    """
    wanted = _floating("gamma", dtype)
    alpha = as_operand(alpha, wanted, "gamma")
    rate = as_operand(1 if beta is None else beta, wanted, "gamma")
    standard = _sampled(random_gamma_op, shape, draw, alpha + zeros_like(rate), dtype=wanted)
    return maximum(standard / rate, np.finfo(wanted.numpy).tiny)


def poisson(shape: Any, lam: Any, dtype: Any = float32, *, draw: Draw) -> Operand:
    """Counts of the Poisson distribution.

    Parameters
    ----------
    shape : sequence of int, or integer vector
        How many for each rate.
    lam : number or value
        Floating rates.
    dtype : DType
        Of the result: floating or integer.
    draw : Draw

    Returns
    -------
    value, shape ``shape + lam.shape``
    """
    rate = as_operand(lam, None, "poisson")
    return _sampled(random_poisson_op, shape, draw, rate, dtype=as_dtype(dtype))


def categorical(logits: Any, num_samples: Any, dtype: Any = None, *, draw: Draw) -> Operand:
    """Classes drawn at random.

    Parameters
    ----------
    logits : value, shape (rows, classes)
        Unnormalized logarithms of the probabilities.
    num_samples : int or integer scalar
        How many for each row.
    dtype : DType, optional
        int64 (the default) or int32.
    draw : Draw

    Returns
    -------
    value, shape (rows, num_samples)
    """
    wanted = int64 if dtype is None else as_dtype(dtype)
    logits, count = as_operand(logits, None, "categorical"), shape_operand([num_samples])

    def moved() -> Any:
        known = shape_of(logits)
        rows = known[0] if known and known[0] is not None else cast(dimensions(logits)[0], int64)
        # two words a number, and whole groups
        return _moved((count + 3) // 4 * 8, rows)

    return categorical_op(count, *draw(_kind(categorical_op, wanted, logits), moved), logits, dtype=wanted)


def shuffle(value: Any, *, draw: Draw) -> Operand:
    """The rows of `value` (along axis 0) in random order; differentiable."""
    rows = as_operand(value, None, "shuffle")
    known = shape_of(rows)
    if known == ():
        raise InvalidArgumentError("shuffle: argument `value` is a scalar, which has no rows")

    def moved() -> Any:
        count = np.int64(known[0]) if known and known[0] is not None else cast(dimensions(rows)[0], int64)
        # one word for each row but the last
        return (count + 2) // 4

    return shuffle_op(rows, *draw(_kind(shuffle_op, dtype_of(rows)), moved))


# ---- the same with a seed instead of a draw --------------------------------------------------------------------------


def draw_of(seed: Any, alg: Any = None) -> Draw:
    """The draw that a seed, two integers, stands for.

    Raises
    ------
    UnimplementedError
        If another algorithm than Philox is asked for.
    """
    if getattr(alg, "value", alg) not in (None, 1, 3, "philox", "auto_select"):
        raise UnimplementedError(
            f"stateless random numbers: argument `alg` must be 'philox' (what 'auto_select' is on CPUs), got {alg!r}"
        )
    return at(scrambled_seed(as_operand(seed, None, "seed")))


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, alg: Any = None
) -> Operand:
    """`uniform` as a pure function of a seed, which is two integers.

    With an integer dtype (unsigned ones of 32 and 64 bits, too) and None for both limits, the dtype's whole range.

    Examples
    --------
    >>> a, b = stateless_uniform([2], seed=[1, 2]), stateless_uniform([2], seed=[1, 2])
    >>> bool(np.all(a == b))
    True
    """
    wanted = as_dtype(dtype)
    if minval is None and maxval is None and wanted.is_integer:
        return full_integers(shape, wanted, draw=draw_of(seed, alg))
    return uniform(shape, minval, maxval, wanted, draw=draw_of(seed, alg))


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, alg: Any = None
) -> Operand:
    """`normal` as a pure function of a seed, which is two integers."""
    return normal(shape, mean, stddev, dtype, draw=draw_of(seed, alg))


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, alg: Any = None
) -> Operand:
    """`truncated_normal` as a pure function of a seed, which is two integers."""
    return truncated_normal(shape, mean, stddev, dtype, draw=draw_of(seed, alg))


def _around(name: str, shape: Any, own: Any) -> list[int]:
    """The part of a shape in front of that of the parameters, which it must end with."""
    dims, own = as_dims(shape_operand(shape)), own or ()
    if dims[len(dims) - len(own) :] != own:
        raise ShapeError(f"{name}: argument `shape` must end with that of the parameters, {own}, got {dims}")
    return list(dims[: len(dims) - len(own)])


def stateless_gamma(shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = float32) -> Operand:
    """`gamma` as a pure function of a seed, which is two integers; `shape` ends with that of the parameters."""
    wanted = _floating("gamma", dtype)
    alpha = as_operand(alpha, wanted, "gamma")
    rate = as_operand(1 if beta is None else beta, wanted, "gamma")
    own = broadcast_shapes("stateless_gamma", shape_of(alpha), shape_of(rate))
    return gamma(_around("stateless_gamma", shape, own), alpha, rate, wanted, draw=draw_of(seed))


def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = int32) -> Operand:
    """`poisson` as a pure function of a seed, which is two integers; `shape` ends with that of `lam`."""
    rate = as_operand(lam, None, "poisson")
    return poisson(_around("stateless_poisson", shape, shape_of(rate)), rate, dtype, draw=draw_of(seed))


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = int64) -> Operand:
    """`categorical` as a pure function of a seed, which is two integers."""
    return categorical(logits, num_samples, dtype, draw=draw_of(seed))


def stateless_split(seed: Any, num: Any = 2, alg: Any = None) -> Operand:
    """`num` new seeds, shape (num, 2), made of one."""
    seed = as_operand(seed, None, "seed")
    return full_integers([num, 2], dtype_of(seed), draw=draw_of(seed, alg))


def stateless_fold_in(seed: Any, data: Any, alg: Any = None) -> Operand:
    """A new seed, made of one and an integer."""
    data = as_operand(data, None, "data")
    return stack([full_integers([], dtype_of(data), draw=draw_of(seed, alg)), data])
