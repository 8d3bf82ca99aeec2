"""``tf.autograph``: what is rewritten in functions, and how to keep it from being rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dualgrad.autograph import experimental
from dualgrad.autograph.conversion import code_of, to_function
from dualgrad.autograph.experimental import set_verbosity, trace
from dualgrad.autograph.host import Host, Thunk
from engine.core.detach import effect
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.value import Value
from engine.runtime.errors import InvalidArgumentError
from tape_api.control_flow import loops
from tape_api.data import Dataset, DatasetIterator
from tape_api.functions import tracing
from tape_api.functions.tracing import has_shape_only
from tape_api.library import root
from tape_api.random import counted_apart, position

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


class TapeHost(Host):
    """Control flow of functions that are recorded (`tape_api.functions.tracing`)."""

    tf = root
    rolled = staticmethod(loops.rolled)

    def is_symbolic(self, x: Any) -> bool:
        """Whether `x` differs from call to call."""
        if active.function is None or active.function.refusal or has_shape_only(x):
            return False
        return tracing.is_symbolic(x)

    @contextmanager
    def apart(self, decides: Any, *functions: Callable[..., Any]) -> Iterator[Sequence[Callable[..., Any]]]:
        """They count their random numbers by themselves where a tensor or a data set decides."""
        if not isinstance(decides, (Value, Dataset, DatasetIterator)):
            yield functions
            return
        made = counted_apart(*functions, anew=isinstance(decides, Dataset))
        before = position()
        yield made
        position(before)

    def truth(self, x: Any, loop: bool = False) -> bool:
        """True, and a loop has no iteration, where a model is built: only shapes are asked then."""
        return not loop if has_shape_only(x) else bool(x)

    def is_recorded(self, x: Any) -> bool:
        """Whether `x` is a tensor of a function that is recorded."""
        if active.function is None or not isinstance(x, Value) or active.function.refusal:
            return False
        return not has_shape_only(x)

    def while_loop(self, test: Any, body: Any, loop_vars: Any, shape_invariants: Any, maximum_iterations: Any) -> Any:
        """``tf.while_loop``."""
        return loops.while_loop(test, body, loop_vars, shape_invariants, maximum_iterations=maximum_iterations)

    def scanned(self, step: Callable[[Any, Any], Any], state: Any, rows: Any) -> Any:
        """The state after all rows."""
        return loops.scanned(lambda s, row: (step(s, row), []), state, rows)[0]

    def recorded(self) -> int:
        """How many operations there are on what differs from call to call."""
        return 0 if active.function is None else len(active.function.nodes.log) // 4

    def tried(self, function: Thunk) -> bool:
        """Call a function with a trace that is forgotten."""
        region = active.region
        before = position()
        try:
            if region is None:
                with tracing.FlowTrace(active.function).capturing():
                    function()
            else:
                with region.within(region.new_context("a trial", "never")):
                    function()
        except Exception:
            if region is not None:
                raise
            # whatever it is, Python raises what it has to
            return False
        finally:
            position(before)
        return True

    def holds(self, condition: Any, message: str) -> None:
        """Python raises the error of an assertion: a program has none."""
        if isinstance(condition, Symbol):
            effect("an assertion in a branch or a loop")
        elif not condition:
            raise InvalidArgumentError(message)

    def refuse(self, why: str) -> None:
        """Note that the function runs as Python."""
        effect(why)


HOST = TapeHost()


def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """`entity`, a function, rewritten: its branches and loops over tensors become those of a program.

    Parameters
    ----------
    entity : callable
    recursive, experimental_optional_features
        Accepted for compatibility.

    Examples
    --------
    >>> import tape_api as tf
    >>> def positive(x):
    ...     return x if x > 0 else -x
    >>> tf.autograph.to_graph(positive)(tf.constant(-2.0)).numpy()
    np.float32(2.0)
    """
    return to_function(getattr(entity, "python_function", entity), HOST)


def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The source of a rewritten function.

    Raises
    ------
    ValueError
        If it cannot be rewritten.
    """
    return code_of(entity)
