"""TensorArray: an array of tensors of one shape, written element by element, in graphs."""

from __future__ import annotations

from typing import Any

from dualgrad.frontend.flow.stacked_array import StackedArray
from engine.ops.checked import checked_op
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph


class TensorArray(StackedArray):
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

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     squares = tf.TensorArray(tf.float32, size=3)
    ...     _, squares = tf.while_loop(
    ...         lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32))), (0, squares)
    ...     )
    ...     print(sess.run(squares.stack()))
    [0. 1. 4.]
    """

    @property
    def flow(self) -> Any:
        """A number that is there when all elements written so far are."""
        zero = convert_to_tensor(0.0)
        return checked_op(zero, self.buffer, check=lambda _: None) if self.is_allocated else zero

    def close(self, name: str | None = None) -> Any:
        """An operation that does nothing: there is nothing to free."""
        return get_default_graph().group([], name)

    def convert(self, value: Any, dtype: Any = None) -> Any:
        """A tensor of the graph."""
        return convert_to_tensor(value, dtype)
