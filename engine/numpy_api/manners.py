"""NumPy's methods, attributes and indexing on values: ``x.T``, ``x.sum(axis=0)``, ``x[[0, 2]]``, ``A @ vector``.

TensorFlow's tensors have none of these unless a program asks for them, and some programs look whether they are there.
So they are on where a program says so (`enable`), and inside functions for NumPy's users (`as_arrays`). A name that
a kind of tensor has itself keeps its meaning. Methods that would change the array are not here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.value import Value

SWITCH = "tf.experimental.numpy.experimental_enable_numpy_behavior()"


class _State(threading.local):
    inside = 0


_state = _State()
_everywhere = [False]


def enable(on: bool = True) -> None:
    """Give values NumPy's methods and indexing everywhere, in all threads (or take them away again)."""
    _everywhere[0] = on


def enabled() -> bool:
    """Whether values have NumPy's methods and indexing here."""
    return _everywhere[0] or _state.inside > 0


@contextmanager
def as_arrays() -> Iterator[None]:
    """Inside, values have NumPy's methods and indexing."""
    _state.inside += 1
    try:
        yield
    finally:
        _state.inside -= 1


class _Manner:
    """An attribute of NumPy's arrays, of values while `enabled`; who reads it elsewhere is told how to get it."""

    def __init__(self, function: Callable[..., Any], called: bool, instead: str) -> None:
        self._function, self._called, self._instead = function, called, instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def missing(self, instance: Any, owner: type) -> AttributeError:
        return AttributeError(
            f"'{owner.__name__}' object has no attribute '{self.name}'. Use {self._instead}; tensors get the methods "
            f"and the indexing of NumPy's arrays by {SWITCH}",
            name=self.name,
            obj=instance,
        )

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None or not enabled():
            raise self.missing(instance, owner)
        if not self._called:
            return self._function(instance)
        return lambda *args, **kwargs: self._function(instance, *args, **kwargs)


def missing(x: Any, name: str) -> AttributeError | None:
    """The error for an attribute of NumPy's where values do not have it; None for all others."""
    manner = vars(Value).get(name)
    return manner.missing(x, type(x)) if isinstance(manner, _Manner) and not enabled() else None


def _whole(args: tuple[Any, ...]) -> Any:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))`` are the same."""
    return args[0] if len(args) == 1 else args


def _astype(x: Any, dtype: Any, **_: Any) -> Any:
    from engine.ops.compare import cast

    return cast(x, np.dtype(dtype) if isinstance(dtype, (type, str)) else dtype)


def _array(x: Any) -> np.ndarray:
    """The array, as a user reads it: noted, not warned of."""
    looked_at(x)
    return x.numpy()


def _same(text: str) -> dict[str, tuple[Callable[..., Any], str]]:
    """NumPy's functions of these names, and the public function that does the same where values are no arrays."""
    pairs = [pair.split("=") for pair in text.split()]
    return {name: (getattr(np, name), f"tf.{instead}") for name, instead in pairs}


_METHODS: dict[str, tuple[Callable[..., Any], str]] = {
    **_same(
        "sum=reduce_sum mean=reduce_mean min=reduce_min max=reduce_max std=math.reduce_std var=math.reduce_variance "
        "prod=reduce_prod all=reduce_all any=reduce_any dot=tensordot ravel=reshape swapaxes=transpose "
        "squeeze=squeeze clip=clip_by_value cumsum=cumsum cumprod=math.cumprod argmax=argmax argmin=argmin "
        "argsort=argsort repeat=repeat round=round conj=math.conj take=gather diagonal=linalg.diag_part "
        "trace=linalg.trace nonzero=where searchsorted=searchsorted"
    ),
    "flatten": (np.ravel, "tf.reshape"),
    "reshape": (lambda x, *shape, order="C": np.reshape(x, _whole(shape), order), "tf.reshape"),
    "transpose": (lambda x, *axes: np.transpose(x, _whole(axes) if axes else None), "tf.transpose"),
    "astype": (_astype, "tf.cast"),
    "copy": (lambda x, order="C": np.copy(x), "tf.identity"),
    "conjugate": (np.conj, "tf.math.conj"),
    "compress": (lambda x, condition, axis=None: np.compress(condition, x, axis), "tf.boolean_mask"),
    "item": (lambda x, *at: _array(x).item(*at), "x.numpy().item"),
    "tobytes": (lambda x, order="C": _array(x).tobytes(order), "x.numpy().tobytes"),
    "tolist": (lambda x: _array(x).tolist(), "x.numpy().tolist"),
}
_ATTRIBUTES: dict[str, tuple[Callable[..., Any], str]] = {
    **_same("real=math.real imag=math.imag size=size"),
    "T": (np.transpose, "tf.transpose"),
    "mT": (np.matrix_transpose, "tf.linalg.matrix_transpose"),
    "flat": (np.ravel, "tf.reshape"),
    "itemsize": (lambda x: x.dtype.size, "x.dtype.size"),
    "nbytes": (lambda x: np.size(x) * x.dtype.size, "x.dtype.size"),
}


def install() -> None:
    """Give `Value` NumPy's attributes, which are there while `enabled`."""
    for table, called in ((_METHODS, True), (_ATTRIBUTES, False)):
        for name, (function, instead) in table.items():
            manner = _Manner(function, called, instead)
            manner.__set_name__(Value, name)
            setattr(Value, name, manner)
