"""`StackedArray`: an array of tensors of one shape, written element by element, as a value of loops.

It is a value: each `write` gives a new one. What it holds is one tensor, its elements stacked; how large these are is
known from the first one written, if not from the beginning.
"""

from __future__ import annotations

from typing import Any, Self

from dualgrad.frontend.tensor_arrays import require_size
from engine.core.aval import normalize_shape
from engine.core.dtypes import as_dtype, int32
from engine.core.operands import Operand
from engine.core.trace import constant_value
from engine.ops import arithmetic, compare, filling, gather, joining, scatter, shape
from engine.runtime.errors import DTypeError, InvalidArgumentError, UnimplementedError
from engine.runtime.faces import Shown
from engine.runtime.public_names import methods_of


@methods_of("TensorArray")
class StackedArray(Shown):
    """An array of tensors. Use what `write` returns, and pass it on as a loop variable of `while_loop`.

    Parameters
    ----------
    dtype : DType
    size : int or int tensor
        Number of elements. Those never written are zeros.
    dynamic_size : bool
        Whether it grows where an index lies behind its end.
    element_shape : shape, optional
        By default that of the first element written.
    clear_after_read, tensor_array_name, handle, flow, infer_shape, colocate_with_first_write_call, name
        Accepted for compatibility.
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
        if size is None:
            raise ValueError("TensorArray: argument `size` must be given")
        self.dtype = as_dtype(dtype)
        self.dynamic_size = bool(dynamic_size)
        self._size = size
        self._first: list[Any] = []
        known = normalize_shape(element_shape)
        self._buffer: Any = None
        if known is not None and None not in known:
            self._buffer = self._zeros([int(d or 0) for d in known])

    def convert(self, value: Any, dtype: Any = None) -> Any:
        """A tensor of the front end."""
        raise NotImplementedError

    # ---- what control flow asks --------------------------------------------------------------------------------------

    @property
    def is_allocated(self) -> bool:
        """Whether the shape of its elements is known."""
        return self._buffer is not None

    @property
    def buffer(self) -> Any:
        """Its elements, stacked."""
        if self._buffer is None:
            raise InvalidArgumentError("TensorArray: nothing has been written to it yet, and it has no `element_shape`")
        return self._buffer

    def holding(self, buffer: Any) -> Self:
        """The same with other contents."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._buffer = buffer
        return new

    def tracing(self, buffer: Any) -> Self:
        """The same inside a loop; `first_written` is going to be the first element written there."""
        new = self.holding(buffer)
        new._first = []
        return new

    @property
    def first_written(self) -> Any:
        """The first element that was written in a loop, or None."""
        return self._first[0] if self._first else None

    def zeros_for(self, value: Any) -> Any:
        """Contents of zeros, for elements like `value`."""
        return self._zeros(shape.shape(value))

    def _zeros(self, dims: Any) -> Any:
        count = shape.reshape(self.convert(self._size, int32), [1])
        if isinstance(dims, list):
            dims = self.convert(dims, int32)
        return self.convert(filling.zeros(joining.concat([count, dims], 0), self.dtype))

    # ---- what users ask ----------------------------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> Self:
        """The array with another element at `index`."""
        element, at = self.convert(value), self.convert(index)
        if element.dtype is not self.dtype:
            raise DTypeError(
                f"TensorArray.write: argument `value` must be {self.dtype.name}, got {element.dtype.name}; cast it"
            )
        self._first.append(element)
        buffer = self._grown(self.zeros_for(element) if self._buffer is None else self._buffer, at)
        where = shape.reshape(at, [1, 1])
        return self.holding(scatter.tensor_scatter_nd_update(buffer, where, shape.expand_dims(element, 0)))

    def _grown(self, buffer: Any, index: Any) -> Operand:
        if not self.dynamic_size:
            return buffer
        at, length = constant_value(index), None if buffer.aval.shape is None else buffer.aval.shape[0]
        if at is None or length is None:
            dims = shape.shape(buffer)
            missing = arithmetic.maximum(compare.cast(index, int32) + 1 - dims[0], 0)
        elif at < length:
            return buffer
        else:
            dims, missing = shape.shape(buffer), self.convert(int(at) + 1 - length)
        more = filling.zeros(joining.concat([shape.reshape(missing, [1]), dims[1:]], 0), self.dtype)
        return joining.concat([buffer, more], 0)

    def read(self, index: Any, name: str | None = None) -> Any:
        """The element at `index`."""
        return gather.gather(self.buffer, self.convert(index))

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """The elements at `indices`, stacked."""
        return gather.gather(self.buffer, self.convert(indices))

    def stack(self, name: str | None = None) -> Any:
        """All elements, stacked."""
        return shape.identity(self.buffer)

    def concat(self, name: str | None = None) -> Any:
        """All elements, joined along their first dimension."""
        dims = shape.shape(self.buffer)
        return shape.reshape(self.buffer, joining.concat([self.convert([-1]), dims[2:]], 0))

    def unstack(self, value: Any, name: str | None = None) -> Self:
        """The array whose elements are the rows of `value`."""
        tensor = self.convert(value, self.dtype)
        new = self.holding(tensor)
        new._size = shape.shape(tensor)[0]
        return new

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> Self:
        """The array with the rows of `value` at `indices`."""
        rows = self.convert(value, self.dtype)
        buffer = self.zeros_for(rows[0]) if self._buffer is None else self._buffer
        where = shape.expand_dims(self.convert(indices), -1)
        return self.holding(scatter.tensor_scatter_nd_update(buffer, where, rows))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> Self:
        """The array whose elements are parts of `value`, of the given length, which must be one for all.

        Raises
        ------
        UnimplementedError
            If the lengths differ, or are not known: elements are of one shape.
        InvalidArgumentError
            If their number is not that of the elements, and the array does not grow.
        """
        known = constant_value(self.convert(lengths, int32))
        if known is None or known.ndim != 1 or (known[1:] != known[:-1]).any():
            raise UnimplementedError(
                f"TensorArray.split: argument `lengths` must be a list of equal numbers in a graph, where all elements "
                f"have one shape, got {lengths!r}; pad `value`, or use tf.split, which gives a list of tensors"
            )
        require_size(len(known), constant_value(self.convert(self._size, int32)), self.dynamic_size)
        return self.unstack(joining.stack(joining.split(self.convert(value, self.dtype), known.tolist(), 0)))

    def size(self, name: str | None = None) -> Any:
        """Number of elements."""
        if self._buffer is None:
            return self.convert(self._size, int32)
        return compare.cast(shape.shape(self._buffer)[0], int32)

    def identity(self) -> Self:
        """Itself."""
        return self

    def close(self, name: str | None = None) -> None:
        """Accepted for compatibility: there is nothing to free."""
