"""Loops over the rows of tensors in graphs: `map_fn`, `scan`, `foldl`, `foldr`. See `dualgrad.frontend.flow.rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.frontend.flow import rows
from engine.runtime.public_names import named
from graph_api.control import HOST


def scanned(
    name: str, function: Callable[[Any, Any], tuple[Any, Any]], initial: Any, elems: Any, backwards: bool = False,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``state, result = function(state, row)`` for each row of some tensors: the last state, the results stacked."""
    return rows.scanned(HOST, name, function, initial, elems, backwards, max_bytes)


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` applied to each row of `elems`, the results stacked.

    Parameters
    ----------
    fn : callable
        ``fn(row)`` returns a tensor or a structure of tensors.
    elems : tensor or structure of tensors
        Of the same first dimension.
    dtype, fn_output_signature : DType or structure of these, optional
        The dtypes of the results, which must agree; known from `fn` without it.
    parallel_iterations, swap_memory, infer_shape
        Accepted for compatibility.
    back_prop : bool
        If False, the result counts as a constant in gradients.
    name : str, optional

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.map_fn(lambda x: x * x, tf.constant([1.0, 2.0, 3.0]))))
    [1. 4. 9.]
    """
    declared = dtype if dtype is not None else fn_output_signature
    return rows.map_fn(HOST, fn, elems, declared, back_prop, name)


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
    max_bytes: int | None = None,
) -> Any:
    """All intermediate results of `foldl` (of `foldr` if `reverse`), stacked; `max_bytes` as in `while_loop`.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.scan(lambda total, x: total + x, tf.constant([1.0, 2.0, 3.0]))))
    [1. 3. 6.]
    """
    return rows.scan(HOST, fn, elems, initializer, back_prop, reverse, name, max_bytes)


def _fold(public: str, doc: str) -> Callable[..., Any]:
    def fold(
        fn: Callable[[Any, Any], Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
        max_bytes: int | None = None,
    ) -> Any:
        return rows.fold(HOST, public, fn, elems, initializer, back_prop, name, max_bytes)

    return named(fold, public, doc)


foldl = _fold(
    "foldl",
    "``fn(... fn(fn(initializer, first row), second row) ...)``; by default the first row is the initializer.",
)
foldr = _fold("foldr", "`foldl` from the last row to the first.")
