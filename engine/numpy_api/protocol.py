"""NumPy's functions on values: ``np.sin(t)``, ``np.mean(t)``, ``np.concatenate([t, u])``, ``array @ t``.

NumPy hands a call to the operands that define ``__array_ufunc__`` and ``__array_function__``. Values do, and answer in
one of three ways.

- What carries derivatives is done by our own op or function, so that it is recorded, adds a node or is batched, like
  anything else that is done to the value. For a ufunc that is the op whose kernel the ufunc is; for other functions the
  tables in `engine.numpy_api.functions` say. Arguments and results are NumPy's, except for the dtype: arrays and
  numbers beside a tensor take the tensor's.
- What carries none (``argmax``, ``isnan``, ``allclose``) gives NumPy's own result on eager values: programs index with
  it, or print it. If a tape knows such a value, the result is a tensor that behaves like it, and is recorded
  (`engine.numpy_api.array_results`). On symbolic values it adds a node if we have the function.
- ``array += value`` makes the array's name that of a value, as in TensorFlow. NumPy takes for the result of the
  statement whatever we answer; that it is one is seen from the instruction that the caller is at.
- What we have no function for works on the arrays of eager values. If a gradient tape tracks one of them the result
  would lose its derivative without a word, and a symbolic value has no array: both are errors that say what to use.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import broadcast_shapes
from engine.core.detach import assigns_in_place, followers
from engine.core.eager import EagerTensor
from engine.core.nest import flatten, map_structure
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.tape import active, paused
from engine.core.trace import Symbol
from engine.core.value import Value
from engine.core.variable import Variable, tracked_value
from engine.numpy_api import manners
from engine.numpy_api.array_results import ArrayTensor, called
from engine.numpy_api.functions import RECORDED, UNDERIVED, NotTaken, Row, as_asked, dims_of, not_taken_if, rank_of
from engine.numpy_api.promotion import complex_dtype, promoted
from engine.ops import arithmetic, compare, complexes, einsum, explog, joining, linalg, reduce, slicing, trig
from engine.ops.creation import ones_like
from engine.ops.lift import as_operand, conversion
from engine.ops.shape import broadcast_to, identity, stop_gradient
from engine.runtime import elementary
from engine.runtime.cache import cached
from engine.runtime.errors import DTypeError, SymbolicArrayError
from engine.runtime.lazy_scipy import Later

# ---- ufuncs ----------------------------------------------------------------------------------------------------------


def _operator(name: str, reflected: str) -> Callable[[Any, Any], Any]:
    """Python's operator: ``array + t`` arrives here as ``np.add(array, t)`` and must be what ``t``'s operator gives."""

    def apply(x: Any, y: Any) -> Operand:
        if not isinstance(x, Value):
            return getattr(y, reflected)(x)
        return getattr(Value if isinstance(x, ArrayTensor) else type(x), name)(x, y)

    return apply


def _equality(name: str, op: Op) -> Callable[[Any, Any], Any]:
    """``==`` or ``!=`` where they compare elements. Those of symbols compare identities, and NumPy's means the op."""

    def apply(x: Any, y: Any) -> Operand:
        own, other = (x, y) if isinstance(x, Value) else (y, x)
        if not isinstance(other, Value) and type(own).__eq__ is not Value.__eq__:
            return getattr(own, name)(other)
        return op(*_converted(op.name, (x, y)))

    return apply


def _matmul(a: Any, b: Any) -> Operand:
    """Also of vectors, which TensorFlow's `matmul` leaves to `matvec`."""
    ranks = rank_of(a), rank_of(b)
    if ranks == (1, 1):
        return einsum.tensordot(a, b, 1)
    if ranks[1] == 1:
        return linalg.matvec(a, b)
    return linalg.matvec(b, a, transpose_a=True) if ranks[0] == 1 else linalg.matmul(a, b)


def _unless_nan(out: Any, x: Any, y: Any) -> Operand:
    """`out`, or the one of `x` and `y` that is a number where the other is none."""
    return compare.where(compare.not_equal(x, x), y, compare.where(compare.not_equal(y, y), x, out))


def _logaddexp(x: Any, y: Any) -> Operand:
    shape = broadcast_shapes("np.logaddexp", dims_of(x), dims_of(y))
    return reduce.reduce_logsumexp(joining.stack([broadcast_to(x, shape), broadcast_to(y, shape)]), 0)


def _logaddexp2(x: Any, y: Any) -> Operand:
    # in units of the larger one, whose logarithm to another base would be rounded
    larger = stop_gradient(arithmetic.maximum(x, y))
    larger = compare.where(compare.is_finite(larger), larger, 0 * ones_like(larger))
    return larger + _logaddexp((x - larger) * math.log(2), (y - larger) * math.log(2)) / math.log(2)


def _heaviside(x: Any, at_zero: Any) -> Operand:
    steps = compare.where(compare.greater(x, 0 * x), ones_like(x), 0 * x)
    return compare.where(compare.equal(x, 0 * x), at_zero, steps)


def _copysign(x: Any, y: Any) -> Operand:
    negative = compare.less(trig.atan2(y, -ones_like(y)), 0 * y)  # also where y is -0.0
    return compare.where(negative, -complexes.abs(x), complexes.abs(x))


def _whole(x: Any) -> Operand:
    """Towards zero."""
    return compare.where(compare.less(x, 0 * x), arithmetic.ceil(x), arithmetic.floor(x))


def _frexp(x: Any) -> Any:
    """The exponent is a number of NumPy's, of an array that is there."""
    if not isinstance(x, EagerTensor):
        raise DTypeError("np.frexp: the exponents are those of an array; use it on eager tensors")
    exponent = called(np.frexp, "np.frexp", (x,), {})[1]
    return x * np.exp2(-exponent.astype(x._array.dtype)), exponent


catalog = Later("engine.numpy_api.catalog", modules=False)
"""The tables that programs seldom need."""


def _ops_by_kernel() -> dict[Any, Callable[..., Any]]:
    """The ops whose kernel is a ufunc of NumPy's."""
    ops = [op for module in (arithmetic, compare, explog, trig) for op in vars(module).values() if isinstance(op, Op)]
    return {elementary.numpy_of(op.kernel): op for op in ops if elementary.is_ufunc(op.kernel)}


def _key(function: Any) -> str | Callable[..., Any]:
    """The key of a function in the tables: NumPy's itself, SciPy's ufuncs by name, so that nothing loads SciPy."""
    name = getattr(function, "__name__", "")
    # a function of SciPy's may hand its arguments to a ufunc that has no public name
    homes = [sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs")]
    own = any(home is not None and getattr(home, name, None) is function for home in homes)
    return f"scipy.special.{name}" if own else function


_ARITHMETIC = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.floor_divide: "floordiv",
    np.remainder: "mod",
    np.power: "pow",
    np.bitwise_and: "and",
    np.bitwise_or: "or",
    np.bitwise_xor: "xor",
}
_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    **{ufunc: _operator(f"__{name}__", f"__r{name}__") for ufunc, name in _ARITHMETIC.items()},
    np.less: _operator("__lt__", "__gt__"),
    np.less_equal: _operator("__le__", "__ge__"),
    np.greater: _operator("__gt__", "__lt__"),
    np.greater_equal: _operator("__ge__", "__le__"),
    np.equal: _equality("__eq__", compare.equal),
    np.not_equal: _equality("__ne__", compare.not_equal),
}
"""The functions of Python's operators, so that it does not matter on which side of one the tensor stands."""

_UFUNCS: dict[Any, Callable[..., Any]] = {
    **_ops_by_kernel(),
    np.absolute: complexes.abs,
    np.fabs: complexes.abs,
    np.sign: complexes.sign,
    np.conjugate: complexes.conj,
    np.positive: identity,
    np.matmul: _matmul,
    np.exp2: lambda x: catalog.scipy_special.exp2(x),
    np.deg2rad: lambda x: x * (math.pi / 180),
    np.radians: lambda x: x * (math.pi / 180),
    np.rad2deg: lambda x: x * (180 / math.pi),
    np.degrees: lambda x: x * (180 / math.pi),
    np.hypot: lambda x, y: complexes.abs(complexes.complex(x, y)),
    np.logaddexp: _logaddexp,
    np.fmax: lambda x, y: _unless_nan(arithmetic.maximum(x, y), x, y),
    np.fmin: lambda x, y: _unless_nan(arithmetic.minimum(x, y), x, y),
    np.float_power: explog.pow,
    np.vecdot: lambda x, y: catalog.vecdot(x, y),
    np.matvec: linalg.matvec,
    np.vecmat: lambda x, a: linalg.matvec(a, complexes.conj(x), transpose_a=True),
    np.trunc: _whole,
    np.frexp: _frexp,
    np.cbrt: lambda x: catalog.scipy_special.cbrt(x),
    np.logaddexp2: _logaddexp2,
    np.copysign: _copysign,
    np.heaviside: _heaviside,
    np.ldexp: lambda x, i: x * np.exp2(i),
    np.divmod: lambda x, y: (x // y, x % y),
    np.modf: lambda x: (x - _whole(x), _whole(x)),
    np.fmod: lambda x, y: x - _whole(x / y) * y,
}
_AS_FUNCTIONS: dict[tuple[str, Any], Callable[..., Any]] = {
    ("reduce", np.add): np.sum,
    ("reduce", np.multiply): np.prod,
    ("reduce", np.maximum): np.max,
    ("reduce", np.minimum): np.min,
    ("reduce", np.logical_and): np.all,
    ("reduce", np.logical_or): np.any,
    ("accumulate", np.add): np.cumsum,
    ("accumulate", np.multiply): np.cumprod,
    ("accumulate", np.maximum): lambda x, **how: catalog.running(np.maximum, x, **how),
    ("accumulate", np.minimum): lambda x, **how: catalog.running(np.minimum, x, **how),
    ("reduceat", np.add): lambda *given, **how: catalog.sums_from(*given, **how),
    ("reduce", np.logaddexp): lambda x, **how: catalog.log_sum(x, **how),
}
"""The functions that methods of ufuncs stand for."""


def _array_ufunc(self: Value, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Operand:
    """NumPy calls this for a ufunc one of whose operands is a value (https://numpy.org/neps/nep-0013)."""
    if method == "__call__" and kwargs:
        rebinds = _is_operand(kwargs.get("out"), inputs) and assigns_in_place(_caller(sys._getframe(1)))
        inputs, kwargs = (inputs, {}) if rebinds else _as_told(inputs, kwargs)
    if isinstance(self, ArrayTensor) and _of_arrays((inputs, kwargs)):
        return called(getattr(ufunc, method), _name(ufunc), inputs, kwargs)
    if method == "__call__" and not kwargs:
        if ufunc in _OPERATORS:
            return _OPERATORS[ufunc](*inputs)
        op = _ufunc(ufunc)
        if op is not None:
            return _one_of_ours(op, ufunc, inputs)
    if (method, ufunc) in _AS_FUNCTIONS:
        return _AS_FUNCTIONS[method, ufunc](*inputs, **{"axis": 0, **kwargs})
    name, advice = _name(ufunc), _advice(ufunc)
    if ufunc is np.signbit:
        return _on_arrays(ufunc, name, advice, inputs, kwargs, cuts=False)
    if any(isinstance(out, Value) for out in kwargs.get("out", ())):
        raise TypeError(f"{name}: argument `out` is a tensor, and tensors do not change; use {advice}")
    if method == "outer" and not kwargs:
        x, y = _converted(name, inputs)
        return ufunc(slicing.getitem(x, (..., *[None] * rank_of(y))), y)
    if method != "__call__":
        name = f"{name}.{method}"
    if kwargs:
        name = f"{name} with {_listed(kwargs)}"
    return _on_arrays(getattr(ufunc, method), name, advice, inputs, kwargs)


def _is_operand(out: Any, inputs: Sequence[Any]) -> bool:
    """Whether a result is to stand where the first operand does, an array, as ``array += value`` asks for."""
    return out is not None and len(inputs) == 2 and len(out) == 1 and out[0] is inputs[0]


def _caller(frame: FrameType) -> FrameType:
    """The frame of who called the ufunc: the first call of all comes by way of another module of this package."""
    return frame.f_back if frame.f_back and frame.f_globals.get("__package__") == __package__ else frame


def _as_told(inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands in the dtype in which a ufunc is to compute, and what else it was told."""
    rest = {key: value for key, value in kwargs.items() if not (key == "where" and value is True)}
    if "out" in rest or "where" in rest or not np.issubdtype(rest.get("dtype", np.bool_), np.inexact):
        return inputs, rest
    try:
        inputs = tuple([as_asked(x if isinstance(x, Value) else np.asarray(x), rest["dtype"]) for x in inputs])
    except NotTaken:
        return inputs, rest
    return inputs, {key: value for key, value in rest.items() if key != "dtype"}


def _one_of_ours(function: Callable[..., Any], ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    unary = ufunc.nin == 1
    if unary and isinstance(function, Op) and function.vjp is None and _is_eager(inputs[0]):
        # isnan, floor: no derivative, so NumPy's result serves
        return called(ufunc, _name(ufunc), inputs, {})
    try:
        return function(*(inputs if unary else _converted(_name(ufunc), inputs)))
    except DTypeError:
        if unary and not inputs[0].dtype.is_differentiable and _is_eager(inputs[0]):
            # the square root of an integer, say: NumPy knows it and there is no derivative
            return called(ufunc, _name(ufunc), inputs, {})
        raise


def _converted(name: str, inputs: Sequence[Any]) -> list[Any]:
    """The operands as values: arrays and numbers in the dtype of the first value among them."""
    inputs = promoted(inputs)
    values = [x for x in inputs if isinstance(x, Value)]
    dtype = min(values, key=lambda x: isinstance(x, ArrayTensor)).dtype
    return [x if isinstance(x, Value) else EagerTensor(as_operand(x, dtype, name)) for x in inputs]


# ---- functions -------------------------------------------------------------------------------------------------------

_ROWS: dict[Any, Row] = {**RECORDED, **UNDERIVED}
"""Our functions, by NumPy's own: those that programs often use."""
_INSPECTING = {
    *(np.allclose, np.array_equal, np.array_equiv, np.isclose, np.isin, np.isreal, np.iscomplex),
    *(np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savez_compressed, np.savetxt),
    *(np.nonzero, np.flatnonzero, np.argwhere, np.searchsorted, np.digitize, np.min_scalar_type),
    *(np.histogram_bin_edges, np.linalg.matrix_rank, np.nanargmax, np.nanargmin, np.argpartition, np.lexsort),
    *(np.isneginf, np.isposinf),
}
"""Functions that only look at arrays."""
_OF_SHAPES = {
    *(np.isrealobj, np.iscomplexobj, np.result_type, np.can_cast, np.common_type, np.shares_memory),
    *(np.may_share_memory, np.empty_like, np.einsum_path, np.tril_indices_from, np.triu_indices_from),
    *(np.diag_indices_from, np.shape, np.ndim, np.size, np.zeros_like, np.ones_like),
}
"""Functions of shapes and dtypes alone: plain results, whoever records."""

_ADVICE: dict[Any, str] = {
    np.absolute: "tf.abs",
    np.fabs: "tf.abs",
    np.matmul: "tf.matmul",
    np.true_divide: "tf.divide",
    np.power: "tf.pow",
    np.conjugate: "tf.math.conj",
    np.positive: "tf.identity",
    np.bitwise_and: "tf.bitwise.bitwise_and",
    np.bitwise_or: "tf.bitwise.bitwise_or",
    np.bitwise_xor: "tf.bitwise.bitwise_xor",
    np.invert: "tf.bitwise.invert",
    np.trunc: "tf.cast",
    np.divmod: "tf.math.floordiv and tf.math.mod",
    np.cbrt: "tf.pow",
    np.log2: "tf.math.log",
    np.log10: "tf.math.log",
    "scipy.special.gamma": "tf.math.lgamma",
    "scipy.special.ndtr": "tf.math.erfc",
    "scipy.special.expit": "tf.sigmoid",
    "scipy.special.log_expit": "tf.math.log_sigmoid",
    np.allclose: "tf.debugging.assert_near",
    np.searchsorted: "tf.searchsorted",
    np.nonzero: "tf.where",
    np.argwhere: "tf.where",
    np.empty_like: "tf.zeros_like",
    np.unique: "tf.unique",
}
"""Advice for functions that the other tables do not name."""


def _array_function(self: Value, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy calls this for its other functions (https://numpy.org/neps/nep-0018)."""
    if function in _OF_SHAPES and _all_eager((args, kwargs)):
        with paused():
            return function(*map_structure(lambda x: np.asarray(x) if isinstance(x, Value) else x, args), **kwargs)
    name, advice = _name(function), _advice(function)
    positions = function is np.where and len(args) == 1
    counts = function is np.histogram and len(args) < 5 and kwargs.get("weights") is None
    if function in _INSPECTING or positions or counts or (function in UNDERIVED and _all_eager((args, kwargs))):
        return _on_arrays(function, name, advice, args, kwargs, cuts=False)
    row = row_of(function)
    has_slope = type(self) is EagerTensor and self.dtype.is_differentiable
    if row is None or (not has_slope and _only_whole((args, kwargs))):
        return _on_arrays(function, name, advice, args, kwargs)
    ours = {key: value for key, value in kwargs.items() if value is not None or key not in ("out", "dtype")}
    return _ours_or_arrays(row[0], function, name, advice, args, ours, kwargs)


def of_scipy(name: str, theirs: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of SciPy's, which does not ask its operands, for values among its arguments.

    `theirs` is SciPy's own, for arrays, and is called `name`.
    """
    ours = {key: value for key, value in kwargs.items() if key not in catalog.HOW}
    function, advice = _row(name)
    if function is None or _only_whole((args, kwargs)):
        return _on_arrays(theirs, name, advice, args, kwargs)
    return _ours_or_arrays(function, theirs, name, advice, args, ours, kwargs)


def row_of(function: Any) -> Row | None:
    """Our function for one of NumPy's or, by its name, of SciPy's, and what to use in its place."""
    return _ROWS.get(function) or catalog.ROWS.get(function)


def _ufunc(ufunc: Any) -> Callable[..., Any] | None:
    """Our function for a ufunc, which may be given by its name if it is one of SciPy's."""
    return _UFUNCS.get(ufunc) or catalog.UFUNCS.get(ufunc if isinstance(ufunc, str) else _key(ufunc))


def _row(name: str) -> tuple[Any, str]:
    """Our function for one of SciPy's, None if there is none, and what to use in its place."""
    if not name.startswith("scipy.stats."):
        return catalog.ROWS[name]
    from engine.numpy_api.stats.table import STATS

    return STATS.get(name, (None, "a formula of NumPy's functions"))


def _ours_or_arrays(function: Any, theirs: Any, name: str, advice: str, args: Any, ours: Any, kwargs: Any) -> Any:
    """Our function if it takes these arguments; else theirs, if that loses no derivative."""
    try:
        return _called(function, name, args, ours)
    except NotTaken:
        what = f"with {_listed(ours)}" if ours else "of these arguments"
        return _on_arrays(theirs, f"{name} {what}", advice, args, kwargs)
    except DTypeError:
        values = [x for x in flatten((args, kwargs)) if isinstance(x, Value)]
        if any(x.dtype.is_differentiable or not _is_eager(x) for x in values):
            raise
        # of integers, NumPy's function takes more than ours
        return _on_arrays(theirs, name, advice, args, kwargs)


def _called(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """Call one of our functions, its tensor arguments converted as a front end converts them."""
    known = _parameters(function, name)
    # what `inspect.Signature.bind` does, in a tenth of the time
    more = args[len(known.positional) :]
    arguments = {**dict(zip(known.positional, args, strict=False)), **kwargs}
    every = len(arguments) + len(more) == len(args) + len(kwargs) and (known.rest or not more)
    not_taken_if(
        not (every and known.needed <= arguments.keys() and (known.is_open or arguments.keys() <= known.names))
    )
    if more:
        arguments[known.rest] = more
    if manners.enabled():
        _promote(arguments, known.same)
    known.convert(arguments)
    more = arguments.pop(known.rest, ())
    given = itertools.takewhile(arguments.__contains__, known.positional)
    return function(*[arguments.pop(key) for key in list(given)], *more, **arguments)


class _Parameters(NamedTuple):
    """The arguments that calls of one of our functions take."""

    positional: list[str]
    rest: str
    """The one that takes all further positional arguments, if there is one."""
    is_open: bool
    """Whether there may be arguments of other names."""
    needed: set[str]
    names: set[str]
    same: list[str]
    """Those of one dtype."""
    convert: Callable[[dict[str, Any]], None]


@cached(1 << 10)
def _parameters(function: Callable[..., Any], name: str) -> _Parameters:
    parameters = inspect.signature(function).parameters.values()
    same, alone = getattr(function, "__operands__", ((), ()))
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return _Parameters(
        [p.name for p in named if p.kind is p.POSITIONAL_OR_KEYWORD],
        "".join(p.name for p in parameters if p.kind is p.VAR_POSITIONAL),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
        {p.name for p in named if p.default is p.empty},
        {p.name for p in named},
        [key.lstrip("*") for key in same],
        conversion(name, same, alone, {p.name for p in parameters if p.default is None}, EagerTensor),
    )


def _promote(arguments: dict[str, Any], names: Sequence[str]) -> None:
    """Make the real values among arguments complex if others are."""
    several = {key for key in names if isinstance(arguments.get(key), (list, tuple))}
    parts = [x for key in names for x in (arguments.get(key, ()) if key in several else (arguments.get(key),))]
    if complex_dtype(parts) is not None:
        rest = iter(promoted(parts))
        for key in names:
            arguments[key] = [next(rest) for _ in arguments.get(key, ())] if key in several else next(rest)


# ---- NumPy's own functions on our arrays -----------------------------------------------------------------------------


def _on_arrays(function: Any, name: str, advice: str, args: Any, kwargs: Any, cuts: bool = True) -> Any:
    """NumPy's own result for the arrays of eager values.

    There is a SymbolicArrayError if a value has no array, and a TypeError if it `cuts` the path of a derivative that a
    tape follows.
    """
    for x in flatten((args, kwargs)):
        if not isinstance(x, Value):
            continue
        what = _described(x)
        if not _is_eager(x):
            raise SymbolicArrayError(f"{name} cannot be applied to {what}, which has no array here; use {advice}")
        if cuts and followers(tracked_value(x)):
            raise TypeError(
                f"{name} cannot be recorded, but a gradient tape tracks its argument {what}, so that the "
                f"gradient would be cut off here. Use {advice}; if no gradient is meant to pass, apply it to x.numpy() "
                f"or tf.stop_gradient(x)"
            )
    return called(function, name, args, kwargs)


def _is_eager(x: Value) -> bool:
    """Whether a value has an array; a variable has one unless it lives in a graph."""
    if isinstance(x, Variable):
        try:
            with paused():
                np.asarray(x)
        except NotImplementedError:
            return False
        return True
    return isinstance(x, EagerTensor)


def _all_eager(arguments: Any) -> bool:
    return all(_is_eager(x) for x in flatten(arguments) if isinstance(x, Value))


def _only_whole(arguments: Any) -> bool:
    """Whether all values are eager and have no derivative to lose: shapes, counts and indices."""
    values = [x for x in flatten(arguments) if isinstance(x, Value)]
    whole = all(isinstance(x, ArrayTensor) or (_is_eager(x) and not x.dtype.is_differentiable) for x in values)
    return active.function is None and whole


def _of_arrays(arguments: Any) -> bool:
    """Whether all values are what NumPy's functions gave."""
    return all(isinstance(x, ArrayTensor) for x in flatten(arguments) if isinstance(x, Value))


def _described(x: Value) -> str:
    """Without the contents, which may be many."""
    if isinstance(x, Symbol):
        return repr(x)
    return repr(x.name) if isinstance(x, Variable) else f"a {'tensor' if _is_eager(x) else 'batch'} of {x.aval}"


def _listed(kwargs: dict[str, Any]) -> str:
    return ", ".join(f"`{key}`" for key in kwargs)


@cached(1 << 10)
def _name(function: Any) -> str:
    """``np.linalg.norm``, ``np.sin``, ``scipy.special.erf``."""
    if isinstance(function, np.ufunc):
        home = "np" if hasattr(np, function.__name__) else "scipy.special"
        return f"{home}.{function.__name__}"
    return f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"


@cached(1 << 10)
def _advice(function: Any) -> str:
    """The name of a function to use in place of NumPy's."""
    if (row := row_of(function)) is not None:
        return row[1]
    key = function if isinstance(function, str) else _key(function)
    if key in _ADVICE:
        return _ADVICE[key]
    op = _ufunc(key)
    if not isinstance(op, Op) or op.module in catalog.SCIPYS_ALONE:
        return "functions of tf (tf.math, tf.linalg, tf.signal)"
    name = op.title
    special_ones = name.startswith(("bessel", "dawsn", "expint", "fresnel", "spence"))
    return f"tf.math.special.{name}" if special_ones else f"tf.math.{name}"


def install() -> None:
    """Give `Value` NumPy's two protocols."""
    Value.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
    Value.__array_function__ = _array_function  # type: ignore[attr-defined]
