"""Names of ``tf.autograph`` and ``tf.autograph.experimental`` that are the same in both front ends."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable
from typing import Any

from dualgrad.autograph.conversion import MARK, converting

__all__ = ["Feature", "do_not_convert", "set_loop_options"]


class Feature(enum.Enum):
    """Accepted for compatibility: all that can be rewritten is rewritten."""

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorator for a function that is not rewritten: it runs as Python, and what it calls as well.

    Examples
    --------
    >>> import tape_api as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def plain(x):
    ...     return x if x > 0 else -x
    >>> plain(tf.constant(-1.0)).numpy()
    np.float32(1.0)
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with converting(None):
            return func(*args, **kwargs)

    call.__dict__[MARK] = True
    return call


def set_loop_options(
    parallel_iterations: Any = None, swap_memory: Any = None, maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:  # fmt: skip
    """Say something of the loop in whose body this is the first statement, if it becomes one of a program.

    Parameters
    ----------
    parallel_iterations, swap_memory
        Accepted for compatibility.
    maximum_iterations : int, optional
    shape_invariants : list of (variable, shape), optional
        What is known of the shapes of variables in all iterations.
    """


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted for compatibility: `Function.explain` says why a function is not rewritten."""


def trace(*args: Any) -> None:
    """Print `args` while a function is recorded."""
    sys.stdout.write(" ".join(map(str, args)) + "\n")
