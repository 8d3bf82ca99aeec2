"""Layers that put texts and integers into bins by their hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from dualgrad.extras.ops.vocabulary import combined_op, looked_up_op
from dualgrad.keras import functions as tf
from dualgrad.keras.hashes import fingerprint, joined, keyed
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.settings import floatx
from engine.core.dtypes import int64, string
from engine.core.operands import Operand
from engine.core.value import Value, dtype_of, shape_of

_CROSSING = 0xDECAFCAFFE
"""The number to which TensorFlow joins the hashes of a crossing."""


class Bins(NamedTuple):
    """The bin of an element.

    Attributes
    ----------
    number : int
    salt : tuple of int, or None
        The key of the hash.
    mask : bytes, int or None
        The element that has bin 0 to itself.
    """

    number: int
    salt: tuple[int, ...] | None
    mask: Any

    def __call__(self, element: Any) -> int:
        """The number of the bin."""
        reserved = int(self.mask is not None and self.number > 1)
        if reserved and element == self.mask:
            return 0
        text = element if isinstance(element, bytes) else str(int(element)).encode()
        found = fingerprint(text) if self.salt is None else keyed(text, self.salt)
        return found % (self.number - reserved) + reserved


class Crossing(NamedTuple):
    """The bin of several elements together.

    Attributes
    ----------
    number : int
    """

    number: int

    def __call__(self, elements: Sequence[Any]) -> int:
        """The number of the bin."""
        found = _CROSSING
        for x in elements:
            found = joined(found, fingerprint(x) if isinstance(x, bytes) else int(x) & (1 << 64) - 1)
        return found % self.number


class _Hashes(Layer):
    """The base: integers, or rows of ones and zeros that stand for them."""

    num_bins: int
    output_mode: str

    def _set_bins(self, num_bins: Any, output_mode: str, modes: Sequence[str], sparse: bool) -> None:
        kind = type(self).__name__
        if not isinstance(num_bins, int) or num_bins <= 0:
            raise ValueError(
                f"The `num_bins` for `{kind}` cannot be `None` or non-positive values. Received: {num_bins=}"
            )
        if output_mode not in modes:
            raise ValueError(f"{kind}: argument `output_mode` must be one of {tuple(modes)}, got {output_mode!r}")
        if sparse:
            raise NotImplementedError(f"{kind}: argument `sparse` is not supported: the rows are dense")
        self.num_bins, self.output_mode = num_bins, output_mode

    def _value(self, x: Any) -> Any:
        return x if isinstance(x, Value) else self.host.tensor(x)

    def _encoded(self, indices: Any) -> Operand:
        """Indices as the layer gives them."""
        if self.output_mode == "int":
            return tf.cast(indices, self._dtype)
        dims = shape_of(indices) or ()
        if not dims:
            indices = tf.reshape(indices, [1])
        elif self.output_mode == "one_hot" and len(dims) > 1 and dims[-1] == 1:
            indices = tf.squeeze(indices, axis=-1)
        rows = tf.one_hot(indices, self.num_bins, dtype=self._dtype)
        if self.output_mode == "one_hot":
            return rows
        return tf.reduce_max(rows, axis=-2) if self.output_mode == "multi_hot" else tf.reduce_sum(rows, axis=-2)


class Hashing(_Hashes):
    """Texts and integers as the numbers of bins that their hashes put them into: Keras's, on all machines.

    Parameters
    ----------
    num_bins : int
    mask_value : str or int, optional
        What has bin 0 to itself.
    salt : int or 2 ints, optional
        The key of a SipHash; without one it is FarmHash's fingerprint.
    output_mode : {"int", "one_hot", "multi_hot", "count"}
    sparse : bool
        Must be false.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.Hashing(3)([["A"], ["B"], ["C"]]).numpy().ravel()
    array([1, 0, 1])
    """

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    def __init__(
        self,
        num_bins: int,
        mask_value: Any = None,
        salt: Any = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = "int64" if output_mode == "int" else floatx()
        super().__init__(**kwargs)
        self._set_bins(num_bins, output_mode, ("int", "one_hot", "multi_hot", "count"), sparse)
        if salt is not None and not isinstance(salt, int) and len(salt) != 2:
            raise ValueError(
                f"The `salt` argument for `Hashing` can only be a tuple of size 2 integers, or a single integer. "
                f"Received: {salt=}"
            )
        self.mask_value = mask_value
        self.salt = None if salt is None else [salt, salt] if isinstance(salt, int) else list(salt)

    def call(self, inputs: Any) -> Operand:
        """The numbers of the bins, or rows for them."""
        x = self._value(inputs)
        mask = self.mask_value.encode() if isinstance(self.mask_value, str) else self.mask_value
        bins = Bins(self.num_bins, None if self.salt is None else tuple(self.salt), mask)
        return self._encoded(self.host.tensor(looked_up_op(x, table=bins, out_type=int64)))


class HashedCrossing(_Hashes):
    """Several texts or integers together as the number of the bin that their hash puts them into.

    Parameters
    ----------
    num_bins : int
    output_mode : {"int", "one_hot"}
    sparse : bool
        Must be false.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.HashedCrossing(5)((["A", "B"], [101, 101])).numpy()
    array([1, 4])
    """

    def __init__(
        self, num_bins: int, output_mode: str = "int", sparse: bool = False, name: Any = None, dtype: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        dtype = "int64" if output_mode == "int" and dtype is None else dtype
        super().__init__(name=name, dtype=dtype, **kwargs)
        self._set_bins(num_bins, output_mode, ("int", "one_hot"), sparse)

    def _converted(self, x: Any) -> Any:
        return [self._value(part) for part in x] if isinstance(x, (list, tuple)) else super()._converted(x)

    def call(self, inputs: Any) -> Operand:
        """The numbers of the bins, or rows for them."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(f"`HashedCrossing` should be called on at least two inputs. Received: {inputs=}")
        columns = [self._value(x) for x in inputs]
        for x in columns:
            dtype = dtype_of(x)
            if dtype is not string and not dtype.is_integer:
                raise ValueError(
                    f"All `HashedCrossing` inputs should have an integer or string dtype, got {dtype.name}"
                )
            if shape_of(x) != shape_of(columns[0]):
                raise ValueError(
                    f"All `HashedCrossing` inputs should have equal shape, got {list(map(shape_of, columns))}"
                )
        crossed = combined_op(*columns, combine=Crossing(self.num_bins))
        return self._encoded(self.host.tensor(crossed))


__all__ = ["HashedCrossing", "Hashing"]
