"""Tools of TensorFlow's own modules for Python code, which other libraries use: decorators, signatures, laziness."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable
from contextlib import contextmanager as contextmanager  # noqa: PLC0414 - tf_contextlib has it
from importlib import import_module
from inspect import getcallargs as getcallargs  # noqa: PLC0414 - tf_inspect has these
from inspect import getdoc as getdoc  # noqa: PLC0414
from inspect import getfile as getfile  # noqa: PLC0414
from inspect import getmembers as getmembers  # noqa: PLC0414
from inspect import getmodule as getmodule  # noqa: PLC0414
from inspect import getmro as getmro  # noqa: PLC0414
from inspect import getsource as getsource  # noqa: PLC0414
from inspect import isclass as isclass  # noqa: PLC0414
from inspect import isfunction as isfunction  # noqa: PLC0414
from inspect import ismethod as ismethod  # noqa: PLC0414
from inspect import ismodule as ismodule  # noqa: PLC0414
from inspect import signature as signature  # noqa: PLC0414
from types import ModuleType
from typing import Any, NamedTuple

_Function = Callable[..., Any]


class ArgSpec(NamedTuple):
    """Arguments of a function, as `inspect.getargspec` gave them until Python 3.11."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(object: _Function) -> ArgSpec:
    """The arguments of a function, as `inspect.getargspec` told them until Python 3.11.

    Examples
    --------
    >>> getargspec(lambda a, b=1, **c: a)
    ArgSpec(args=['a', 'b'], varargs=None, keywords='c', defaults=(1,))
    """
    return ArgSpec(*getfullargspec(object)[:4])


def getfullargspec(obj: _Function) -> inspect.FullArgSpec:
    """`inspect.getfullargspec` of what a decorator wraps, and of objects that can be called."""
    target = inspect.unwrap(obj)
    if not inspect.isroutine(target) and not inspect.isclass(target) and not isinstance(target, functools.partial):
        target = getattr(target, "__call__", target)  # noqa: B004
    return inspect.getfullargspec(target)


def fn_args(fn: _Function) -> tuple[str, ...]:
    """The names of the arguments that a function, a method or a ``partial`` can be given, without ``self``."""
    if isinstance(fn, functools.partial):
        names = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in names if name not in fn.keywords)
    called = fn if inspect.isroutine(fn) else getattr(fn, "__call__", fn)  # noqa: B004
    spec = getfullargspec(called)
    names = (*spec.args, *spec.kwonlyargs)
    return names[1:] if inspect.ismethod(called) else names


def has_kwargs(fn: _Function) -> bool:
    """Whether a function takes any keyword."""
    return getfullargspec(fn.func if isinstance(fn, functools.partial) else fn).varkw is not None


# ---- decorators ------------------------------------------------------------------------------------------------------


def make_decorator(target: _Function, decorator_func: _Function, *names: Any, **facts: Any) -> _Function:
    """`decorator_func` with the name, documentation and signature of what it wraps."""
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_tf_decorator: _Function) -> tuple[list[_Function], _Function]:
    """The decorators around a function, and the function."""
    around: list[_Function] = []
    target = maybe_tf_decorator
    while hasattr(target, "__wrapped__"):
        around.append(target)
        target = target.__wrapped__
    return around, target


def _as_it_is(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return lambda decorated: decorated


deprecated = deprecated_alias = deprecated_args = deprecated_arg_values = deprecated_endpoints = _as_it_is
tf_export = keras_export = estimator_export = _as_it_is


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has an old name besides.

    Raises
    ------
    ValueError
        If both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def remove_undocumented(module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None) -> None:
    """Nothing: all names of a module stay."""


# ---- modules, profiles, versions -------------------------------------------------------------------------------------


def enabled() -> bool:
    """Whether the program is one of TensorFlow 2."""
    return os.environ.get("DUALGRAD_API") == "2"


class LazyLoader(ModuleType):
    """A module that is imported when it is first used."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: Any = None) -> None:
        super().__init__(name)
        self._local_name, self._globals = local_name, parent_module_globals

    def __getattr__(self, item: str) -> Any:
        module = import_module(self.__name__)
        self._globals[self._local_name] = module
        return getattr(module, item)

    def __dir__(self) -> list[str]:
        return dir(import_module(self.__name__))


class Timeline:
    """The times of a run, as a trace for Chrome. Runs are not traced here, so that it is empty.

    Parameters
    ----------
    step_stats
        That of a `RunMetadata`.
    graph
        Not needed.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self.step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON."""
        return json.dumps({"traceEvents": []})
