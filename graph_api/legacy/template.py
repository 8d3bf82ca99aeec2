"""`make_template`: a function whose variables are made by its first call and shared by all others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import VariableScope, variable_scope


class Template:
    """A function with variables of its own.

    Attributes
    ----------
    name : str
    variable_scope : VariableScope, or None before the first call
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        create_scope_now: bool,
        unique_name: str | None,
        custom_getter: Any,
        arguments: dict[str, Any],
    ) -> None:
        self._function, self._arguments, self._called = function, arguments, False
        self.name, self._unique_name, self._custom_getter = name, unique_name, custom_getter
        self.variable_scope: VariableScope | None = None
        if create_scope_now:
            with self._new() as self.variable_scope:
                pass

    def _new(self) -> AbstractContextManager[VariableScope]:
        return variable_scope(self._unique_name, self.name, custom_getter=self._custom_getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in its variable scope."""
        arguments = {**self._arguments, **kwargs}
        if self.variable_scope is None:
            with self._new() as self.variable_scope:
                result = self._function(*args, **arguments)
        elif not self._called:
            with variable_scope(self.variable_scope):
                result = self._function(*args, **arguments)
        else:
            with variable_scope(self.variable_scope, reuse=True):
                before = len(get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES))
                result = self._function(*args, **arguments)
                if len(get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)) != before:
                    raise ValueError(
                        f"Trainable variable created when calling the template {self.name!r} after the first time, "
                        f"perhaps you used tf.Variable when you meant tf.get_variable"
                    )
        self._called = True
        return result

    def _in_scope(self, collection: str) -> list[Any]:
        if self.variable_scope is None:
            return []
        return get_default_graph().get_collection(collection, f"{self.variable_scope.name}/")

    @property
    def variables(self) -> list[Any]:
        """The variables that it has made."""
        return self._in_scope(GraphKeys.GLOBAL_VARIABLES)

    global_variables = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of them that are trained."""
        return self._in_scope(GraphKeys.TRAINABLE_VARIABLES)


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables (those of `get_variable`) in its first call and shares them in all others.

    Parameters
    ----------
    name_ : str
        Of its variable scope, made unique.
    func_ : callable
    create_scope_now_ : bool
        Whether to choose the scope now, and not in the first call.
    unique_name_ : str, optional
        The name of the scope as it is.
    custom_getter_ : callable, optional
        As in `variable_scope`.
    **kwargs
        Arguments of `func_`.

    Raises
    ------
    ValueError
        If a later call makes a variable.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     line = tf.make_template("line", lambda x: x * tf.get_variable("w", []))
    ...     y, z = line(1.0), line(2.0)
    ...     print([v.name for v in tf.trainable_variables()])
    ['line/w:0']
    """
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)
