"""Gradients of the user's own for ops made inside ``graph.gradient_override_map``, by registered names."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from engine.core.op import Op
from engine.core.operands import Operand
from engine.derivatives.custom import custom_gradient
from engine.runtime.faces import Shown

Gradient = Callable[..., Any]

_HOMES = ("engine.", "dualgrad.extras.", "graph_api.", "tape_api.")
"""Where operations are made."""
_registered: dict[str, Gradient] = {"Identity": lambda op, *gradients: gradients}


class RegisterGradient(Shown):
    """Decorator that registers a gradient function under a name.

    The function is called with the operation and one gradient per output, and returns one gradient per input (None for
    zero). ``"Identity"`` is registered: it hands the gradients on.

    Parameters
    ----------
    op_type : str

    Raises
    ------
    KeyError
        If the name is taken.

    Examples
    --------
    >>> import graph_api as tf
    >>> @tf.RegisterGradient("Halved")
    ... def _halved(op, gradient):
    ...     return gradient * 0.5
    >>> with tf.Graph().as_default() as graph, tf.Session() as sess:
    ...     x = tf.constant(3.0)
    ...     with graph.gradient_override_map({"Square": "Halved"}):
    ...         y = tf.square(x)
    ...     print(sess.run([y, *tf.gradients(y, x)]))
    [np.float32(9.0), np.float32(0.5)]
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"RegisterGradient: argument `op_type` must be a string, got {op_type!r}")
        self._op_type = op_type

    def __call__(self, f: Gradient) -> Gradient:
        """Register `f`."""
        if self._op_type in _registered:
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        _registered[self._op_type] = f
        return f


def checked_map(op_type_map: Any) -> dict[str, str]:
    """A map from types of ops to registered names.

    Raises
    ------
    TypeError
        If it does not map strings to strings.
    LookupError
        If a name is not registered.
    """
    if not isinstance(op_type_map, dict) or not all(isinstance(x, str) for pair in op_type_map.items() for x in pair):
        raise TypeError(f"gradient_override_map: argument `op_type_map` must map strings to strings, got {op_type_map}")
    for name in op_type_map.values():
        _gradient_of(name)
    known = _known_types()
    for kind in op_type_map:
        if kind not in known and kind not in (known := _known_types(load=True)):
            near = difflib.get_close_matches(kind, known, 3)
            warnings.warn(
                f"gradient_override_map: no operation here has the type {kind!r}, so this changes no gradient"
                + (f"; similar types: {', '.join(near)}" if near else ""),
                stacklevel=4,
            )
    return op_type_map


def _known_types(load: bool = False) -> set[str]:
    """The types that operations can have; with `load`, also those in modules that nothing has needed yet."""
    for home in _HOMES if load else ():
        if home.partition(".")[0] in sys.modules:
            for module in pkgutil.walk_packages(importlib.import_module(home[:-1]).__path__, home):
                importlib.import_module(module.name)
    ours = [module for name, module in list(sys.modules.items()) if name.startswith(_HOMES)]
    return {x.type for module in ours for x in list(vars(module).values()) if isinstance(x, Op)}


def registered(name: str) -> Gradient | None:
    """The gradient function of the user's own that is registered under a name; None if there is none."""
    return _registered.get(name)


def _gradient_of(name: str) -> Gradient:
    if name not in _registered:
        raise LookupError(f"gradient registry has no entry for: {name}; register it with tf.RegisterGradient")
    return _registered[name]


def apply_overridden(
    apply: Callable[..., Any], operands: Sequence[Any], name: str, described: Callable[..., Any] | None = None
) -> Operand:
    """``apply(*operands)``, one operation, with the gradient that is registered under `name` when it is asked for.

    `described` makes what the gradient gets as the operation of the list of results; by default that of the first.
    """

    def applied(*values: Any) -> tuple[Any, Gradient]:
        result = apply(*values)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]

        def pull(*gradients: Any) -> list[Any]:
            cotangents = _gradient_of(name)(described(outputs) if described else outputs[0].op, *gradients)
            return list(cotangents) if isinstance(cotangents, (list, tuple)) else [cotangents]

        return result, pull

    applied.__name__ = name
    return custom_gradient(applied, lambda x: x)(*operands)
