"""Which arguments a public function takes, and what it gives: read from what `lift` and `legacy` made it of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.core.op import Op


@dataclass(frozen=True)
class Arguments:
    """The arguments of a function.

    Attributes
    ----------
    positional : tuple of str
        In their order.
    keywords : tuple of str
        All that may be given by name.
    required : frozenset of str
        Those that may not be left out.
    variadic : bool
        Whether any number may be given by position.
    any_keyword : bool
        Whether any keyword is taken.
    ignored : frozenset of str
        Those that mean nothing here, whatever their value.
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    required: frozenset[str] = frozenset()
    variadic: bool = False
    any_keyword: bool = False
    ignored: frozenset[str] = frozenset()


def arguments_of(function: Callable[..., Any]) -> Arguments | None:
    """The arguments that a function, class or method takes; None where Python does not tell.

    Parameters
    ----------
    function : callable
        Of a method, `self` counts as an argument.

    Examples
    --------
    >>> import graph_api as tf
    >>> arguments_of(tf.nn.moments).positional[:3]
    ('x', 'axes', 'shift')
    >>> arguments_of(tf.sin).keywords
    ('x', 'name')
    """
    if (old := vars_of(function, "__old__")) is not None:
        inner = arguments_of(old.function)
        return None if inner is None else _translated(inner, old)
    if (engine := vars_of(function, "__engine__")) is not None and vars_of(function, "__signature__") is None:
        inner = _of_op(engine) if isinstance(engine, Op) else _of_signature(engine)
        return None if inner is None else _named(inner)
    return _of_signature(function)


def engine_function(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The engine's function or op that a public one was made of; None if it was not made of one."""
    old = vars_of(function, "__old__")
    return vars_of(function if old is None else old.function, "__engine__")


def vars_of(function: Any, name: str) -> Any:
    """An attribute of its own, not one of a class."""
    return getattr(function, "__dict__", {}).get(name)


def _of_op(op: Op) -> Arguments:
    names = tuple(name.lstrip("*") for name in op.args)
    return Arguments(names, names, frozenset(names), any(name.startswith("*") for name in op.args))


def _of_signature(function: Callable[..., Any]) -> Arguments | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return Arguments(
        tuple(p.name for p in parameters if p.kind in by_position),
        tuple(p.name for p in parameters if p.kind in by_name),
        frozenset(p.name for p in parameters if p.default is p.empty and p.kind in (*by_position, *by_name)),
        any(p.kind is p.VAR_POSITIONAL for p in parameters),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


def _named(inner: Arguments) -> Arguments:
    """With `name`, which every public function takes last."""
    if "name" in inner.keywords:
        return inner
    positional = inner.positional if inner.variadic else (*inner.positional, "name")
    return Arguments(positional, (*inner.keywords, "name"), inner.required, inner.variadic, inner.any_keyword)


def _translated(inner: Arguments, old: Any) -> Arguments:
    """With the names and the order that `legacy` accepts."""
    renamed = {*old.renames, *old.renames.values()}
    positional = inner.positional if old.order is None else old.order
    return Arguments(
        tuple(positional),
        tuple(dict.fromkeys((*inner.keywords, *old.renames, *old.ignored))),
        inner.required - renamed,
        inner.variadic and old.order is None,
        inner.any_keyword,
        frozenset(old.ignored),
    )
