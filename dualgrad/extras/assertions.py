"""Assertions about ranks, shapes and dtypes that both front ends share: at once where they are known."""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import as_dtype
from engine.core.operands import Operand, Operation
from engine.core.value import shape_of


def _shown(tensor: Any) -> str:
    """Name of a tensor in an error."""
    name = getattr(tensor, "name", None)
    return f"Tensor {name}" if name else "Tensor"


def _taken(tf: Any, x: Any) -> Any:
    """A sparse tensor itself, of anything else a tensor."""
    return x if isinstance(x, tf.SparseTensor) else tf.convert_to_tensor(x)


def assert_rank_in(
    tf: Any, x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: str | None = None,
    name: str | None = None,
) -> Operation | None:  # fmt: skip
    """Raise a ValueError unless the rank of `x` is one of `ranks`; where it is not known, the operation that does.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.debugging.assert_rank_in(tf.zeros([2, 3]), (1, 2))
    """
    tensor = _taken(tf, x)
    text = f"{message + ' ' if message else ''}{_shown(tensor)} must have rank in {tuple(ranks)}."
    shape = tensor.shape
    if shape.ndims is None:
        fits = tf.reduce_any([tf.equal(tf.rank(tensor), rank) for rank in ranks])
        return tf.debugging.Assert(fits, [text, tf.shape(tensor)], name=name or "assert_rank_in")
    if len(shape) not in ranks:
        raise ValueError(f"assert_rank_in: {text} Received rank {len(shape)}, shape {shape}")
    return tf.no_op(name=name or "static_checks_determined_all_ok")


def assert_shapes(
    tf: Any, shapes: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation | None:
    """Raise a ValueError unless tensors have shapes that agree; where one is not known, the operation that does.

    Parameters
    ----------
    shapes
        Pairs of a tensor and its shape, or a dict of such: a tuple of sizes, of names (one name, one size) and of None
        (any size). ``...`` or ``"*"`` first stands for any leading axes.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.debugging.assert_shapes([(tf.zeros([4, 3]), ("N", "D")), (tf.zeros([3, 2]), ("D", 2))])
    """
    sizes: dict[Any, Any] = {}
    checks: list[Any] = []
    prefix = f"{message + ' ' if message else ''}"

    def agree(size: Any, other: Any, text: str, tensor: Any) -> None:
        if isinstance(size, int) and isinstance(other, int):
            if size != other:
                raise ValueError(f"assert_shapes: {prefix}{text}: got {size} and {other}")
        else:
            checks.append(tf.debugging.Assert(tf.equal(size, other), [f"{prefix}{text}", tf.shape(tensor)]))

    for x, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        tensor = _taken(tf, x)
        symbols = list(wanted) if isinstance(wanted, (tuple, list, str)) else [wanted]
        open_front = bool(symbols) and symbols[0] in (Ellipsis, "*")
        symbols = symbols[1:] if open_front else symbols
        ranked = tf.debugging.assert_rank_at_least if open_front else tf.debugging.assert_rank
        ranked(tensor, len(symbols), message=message)
        dims = [None] * len(symbols) if tensor.shape.ndims is None else tensor.shape.as_list()
        for axis, symbol in enumerate(symbols, start=-len(symbols)):
            if symbol is None:
                continue
            size = tf.shape(tensor)[axis] if dims[axis] is None else dims[axis]
            known = symbol if isinstance(symbol, int) else sizes.setdefault(symbol, size)
            agree(size, known, f"axis {axis} of {_shown(tensor)} must have size {symbol!r}", tensor)
    return tf.group(*checks, name=name or "assert_shapes") if checks else tf.no_op(name=name or "assert_shapes")


def assert_scalar(tf: Any, tensor: Any, name: str | None = None, message: str | None = None) -> Operand:
    """`tensor`, which must be known to be of rank 0.

    Raises
    ------
    ValueError
        If it is not.
    """
    tensor = tf.convert_to_tensor(tensor)
    if shape_of(tensor) != ():
        raise ValueError(f"{message or ''}Expected scalar shape for {_shown(tensor)}, saw shape: {tensor.shape}.")
    return tensor


def assert_type(
    tf: Any, tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation | None:
    """Raise a TypeError unless `tensor` is of the dtype."""
    tensor, wanted = _taken(tf, tensor), as_dtype(tf_type)
    if tensor.dtype is not wanted:
        raise TypeError(f"{message or ''} {_shown(tensor)} must be of type {wanted!r}; got {tensor.dtype!r}")
    return tf.no_op(name=name or "statically_determined_correct_type")


def assert_integer(tf: Any, x: Any, message: str | None = None, name: str | None = None) -> Operation | None:
    """Raise a TypeError unless `x` is of an integer dtype."""
    tensor = tf.convert_to_tensor(x)
    if not tensor.dtype.is_integer:
        raise TypeError(f'{message or ""} Expected "x" to be integer type. Found: {tensor.dtype!r}')
    return tf.no_op(name=name or "statically_determined_was_integer")
