"""TensorFlow's arguments where they are not ours: old names, old orders, arguments that mean nothing here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualgrad.frontend.rows import Old
from engine.core.operands import Results
from engine.ops.lift import Wrap, lift

__all__ = ["Old", "legacy", "lift_row"]


def legacy(
    function: Callable[..., Any],
    *,
    renames: Mapping[str, str] | None = None,
    order: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
) -> Callable[..., Any]:
    """A function that accepts TensorFlow 1's arguments for one that takes TensorFlow 2's.

    Parameters
    ----------
    function : callable
    renames : dict, optional
        Old name to new name (``keep_dims`` to ``keepdims``).
    order : sequence of str, optional
        Names of the positional arguments, where TensorFlow 1 has them in another order. ``_sentinel`` is one that must
        not be given, so that those behind it are given by name.
    ignored : sequence of str
        Names of arguments that have no meaning here whatever their value (``validate_indices``).
    """
    table = dict(renames or {})

    @functools.wraps(function)
    def translated(*args: Any, **kwargs: Any) -> Results:
        if order is not None and args:
            if len(args) > len(order):
                raise TypeError(f"{function.__name__}() takes {len(order)} positional arguments, got {len(args)}")
            for key, value in zip(order, args, strict=False):
                if key in kwargs:
                    raise TypeError(f"{function.__name__}() got two values for the argument `{key}`")
                if key == "_sentinel":
                    if value is not None:
                        raise ValueError(
                            f"Only call `{function.__name__}` with named arguments (labels=..., logits=...)"
                        )
                elif value is not None or key not in table:
                    kwargs[key] = value
            args = ()
        for old, new in table.items():
            if old not in kwargs:
                continue
            value = kwargs.pop(old)
            if value is None:
                continue
            if kwargs.get(new) is not None:
                raise ValueError(f"{function.__name__}: cannot specify both `{old}` and `{new}`")
            kwargs[new] = value
        for key in ignored:
            kwargs.pop(key, None)
        return function(*args, **kwargs)

    translated.__old__ = Old(function, table, None if order is None else tuple(order), tuple(ignored))  # type: ignore[attr-defined]
    return translated


def lift_row(
    row: Any, finish: Callable[..., Any], name: str, wrap: Wrap | None = None, finished: type | None = None
) -> Callable[..., Any]:
    """The public function for a row of a table of names: an engine function or op, or an `Old` one; see `lift`."""
    if not isinstance(row, Old):
        return lift(row, finish, name, wrap, finished)
    lifted = lift(row.function, finish, name, wrap, finished)
    return legacy(lifted, renames=row.renames, order=row.order, ignored=row.ignored)
