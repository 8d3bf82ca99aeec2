"""`TensorArray`: a list of tensors that is written to one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.frontend.tensor_arrays import require_size
from engine.core.dtypes import DType, as_dtype
from engine.core.eager import EagerTensor
from engine.core.tensor_shape import TensorShape
from engine.runtime.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from engine.runtime.faces import Shown
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor


class TensorArray(Shown):
    """A list of tensors of one dtype.

    Parameters
    ----------
    dtype : DType
    size : int, optional
        Number of places.
    dynamic_size : bool
        Whether writing beyond the end adds places.
    clear_after_read : bool
        Whether a place can be read only once.
    infer_shape : bool
        Whether all must have the shape of the first that is written, where `element_shape` is not given.
    element_shape : shape, optional
        What the tensors' shapes must fit. Where nothing is written there are zeros of this shape.
    tensor_array_name, handle, flow, colocate_with_first_write_call, name
        Accepted for compatibility.

    Examples
    --------
    >>> import tape_api as tf
    >>> array = tf.TensorArray(tf.float32, size=2)
    >>> for i in range(2):
    ...     array = array.write(i, float(i))
    >>> array.stack().numpy()
    array([0., 1.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self.dtype: DType = as_dtype(dtype)
        self.dynamic_size = bool(dynamic_size)
        self._once = True if clear_after_read is None else clear_after_read
        self.element_shape = TensorShape(element_shape)
        self._items: list[Any] = [None] * int(0 if size is None else size)
        self._taken: set[int] = set()
        self._infers = bool(infer_shape) and self.element_shape.rank is None

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a tensor at a place; the array itself is returned, as TensorFlow's programs expect."""
        i = int(index)
        if i >= len(self._items) and self.dynamic_size:
            self._items.extend([None] * (i + 1 - len(self._items)))
        self._require_place(i, "write")
        tensor = convert_to_tensor(value, self.dtype)
        if not self.element_shape.is_compatible_with(tensor.shape):
            raise ShapeError(f"TensorArray.write: the elements have shape {self.element_shape}, got {tensor.shape}")
        if self._infers:
            self.element_shape = tensor.shape
        self._items[i] = tensor
        self._taken.discard(i)
        return self

    def read(self, index: Any, name: str | None = None) -> EagerTensor:
        """The tensor at a place, which is empty afterwards (unless ``clear_after_read=False``)."""
        i = int(index)
        self._require_place(i, "read")
        element = self._filled(i)
        if self._once:
            self._items[i] = None
            self._taken.add(i)
        return element

    def _require_place(self, i: int, what: str) -> None:
        if not 0 <= i < len(self._items):
            raise OutOfRangeError(f"TensorArray.{what}: index {i} is not in [0, {len(self._items)})")

    def _filled(self, i: int) -> EagerTensor:
        if self._items[i] is not None:
            return self._items[i]
        if i in self._taken:
            raise InvalidArgumentError(
                f"TensorArray: the element at index {i} has been read already; with clear_after_read=False it can be "
                f"read again"
            )
        if not self.element_shape.is_fully_defined():
            raise InvalidArgumentError(
                f"TensorArray: nothing was written to index {i}, and nothing says which shape its zeros have; give "
                f"`element_shape`"
            )
        return EagerTensor(np.zeros(self.element_shape.as_tuple(), self.dtype.numpy))

    def stack(self, name: str | None = None) -> EagerTensor:
        """All tensors as one, along a new first axis."""
        return self.gather(range(len(self._items)))

    def gather(self, indices: Any, name: str | None = None) -> EagerTensor:
        """The tensors at some places, as one."""
        chosen = [self._filled(int(i)) for i in np.asarray(indices)]
        if not chosen:
            return EagerTensor(np.zeros((0, *(self.element_shape.as_tuple() or ())), self.dtype.numpy))
        return tf.stack(chosen)

    def concat(self, name: str | None = None) -> EagerTensor:
        """All tensors joined along their first axis."""
        return tf.concat([self._filled(i) for i in range(len(self._items))], axis=0)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Fill the array with the rows of a tensor."""
        return self._filled_with(tf.unstack(convert_to_tensor(value, self.dtype)))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Fill the array with parts of a tensor, of the given lengths along its first dimension.

        Raises
        ------
        InvalidArgumentError
            If their number is not that of the places, and the array does not grow.
        """
        require_size(np.size(lengths), len(self._items), self.dynamic_size)
        return self._filled_with(tf.split(convert_to_tensor(value, self.dtype), lengths))

    def _filled_with(self, items: Sequence[EagerTensor]) -> TensorArray:
        self._items = list(items)
        self._taken.clear()
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put the rows of a tensor at the given places."""
        for i, row in zip(np.asarray(indices), tf.unstack(convert_to_tensor(value, self.dtype)), strict=True):
            self.write(int(i), row)
        return self

    def size(self, name: str | None = None) -> EagerTensor:
        """The number of places."""
        return EagerTensor(np.int32(len(self._items)))

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def __len__(self) -> int:
        return len(self._items)
