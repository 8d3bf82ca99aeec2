"""``tf.autograph``: Python functions whose branches and loops over tensors become operations of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.autograph import experimental
from dualgrad.autograph.conversion import code_of, to_function
from dualgrad.autograph.experimental import set_verbosity, trace
from dualgrad.autograph.host import Host, Thunk
from engine.runtime.errors import UnimplementedError
from graph_api.control_flow import control, scans
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Tensor
from graph_api.library import root

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


class GraphHost(Host):
    """Control flow of the default graph (`graph_api.control_flow.control`, `graph_api.control_flow.scans`)."""

    tf = root

    def is_symbolic(self, x: Any) -> bool:
        """Whether `x` is a tensor of a graph."""
        return isinstance(x, Tensor)

    def while_loop(self, test: Any, body: Any, loop_vars: Any, shape_invariants: Any, maximum_iterations: Any) -> Any:
        """``tf.while_loop``."""
        return control.while_loop(
            test, body, loop_vars, shape_invariants, maximum_iterations=maximum_iterations, return_same_structure=True
        )

    def scanned(self, step: Callable[[Any, Any], Any], state: Any, rows: Any) -> Any:
        """The state after all rows."""
        return scans.scanned("for", lambda s, row: (step(s, row), []), state, rows)[0]

    def tried(self, function: Thunk) -> bool:
        """Call a function as if it were a branch, which nothing takes."""
        graph = get_default_graph()
        with graph.within(graph.new_context("a trial", "never")):
            function()
        return True

    def holds(self, condition: Any, message: str) -> None:
        """Refuse: nothing would run an assertion of a graph."""
        raise UnimplementedError(f"assert: {message}: a graph runs what is fetched; use tf.debugging.assert_equal, say")


HOST = GraphHost()


def to_graph(
    entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:  # fmt: skip
    """`entity`, a function, rewritten: its branches and loops over tensors become those of the graph.

    Parameters
    ----------
    entity : callable
    recursive, arg_values, arg_types, experimental_optional_features
        Accepted for compatibility.

    Examples
    --------
    >>> import graph_api as tf
    >>> def positive(x):
    ...     return x if x > 0 else -x
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     print(sess.run(tf.autograph.to_graph(positive)(x), {x: -2.0}))
    2.0
    """
    return to_function(entity, HOST)


def to_code(
    entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None, indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:  # fmt: skip
    """The source of a rewritten function.

    Raises
    ------
    ValueError
        If it cannot be rewritten.
    """
    return code_of(entity)
