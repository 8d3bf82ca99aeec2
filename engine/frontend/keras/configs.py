"""What layers and models are made of, as dicts: `get_config`, `from_config`, and copies made by them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np

from engine.core.dtypes import DType
from engine.core.tensor_shape import TensorShape

_PLAIN = (bool, int, float, str, type(None))


REGISTERED: dict[str, Any] = {}
"""Classes and functions of programs, by the names that configurations have for them."""


class Arguments:
    """The arguments that an object was made with.

    Attributes
    ----------
    args, kwargs
    """

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs


class Configured:
    """Base of what is described by the arguments that it was made with."""

    _arguments: Arguments

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """An object that remembers its arguments."""
        made = super().__new__(cls)
        made._arguments = Arguments(args, kwargs)
        return made

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return arguments_of(self, [vars(kind)["__init__"] for kind in type(self).__mro__ if "__init__" in vars(kind)])

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `get_config` describes."""
        return cls(**deserialized(dict(config)))


def arguments_of(instance: Any, chain: Sequence[Callable[..., Any]], without: Collection[str] = ()) -> dict[str, Any]:
    """The arguments that an object was made with, and the defaults of the others, by their names.

    Parameters
    ----------
    instance : object
        With an attribute `_arguments`.
    chain : sequence of callable
        Its ``__init__``, and what that hands ``**kwargs`` on to, as far as it does.
    without : collection of str
        Names that are left out.
    """
    given: Arguments = instance._arguments
    found: dict[str, Any] = {}
    names: list[str] = []
    for function in chain:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in names:
                continue
            if parameter.kind is not parameter.KEYWORD_ONLY:
                names.append(parameter.name)
            if parameter.default is not parameter.empty:
                found.setdefault(parameter.name, parameter.default)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    found.update(zip(names, given.args, strict=False))
    found.update(given.kwargs)
    return {name: _settled(instance, name, value) for name, value in found.items() if name not in without}


def _settled(instance: Any, name: str, value: Any) -> Any:
    """An argument, as the object keeps it under the argument's name if that is a plain value: ``(2, 2)`` for 2."""
    kept = getattr(instance, name, value) if name in vars(instance) else value
    is_plain = isinstance(kept, _PLAIN) or (isinstance(kept, tuple) and all(isinstance(x, _PLAIN) for x in kept))
    return serialized(kept if is_plain and kept is not None else value)


def serialized(value: Any) -> Any:
    """A value as plain data: what has a `get_config` as its class's name and that, functions by their names."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(map(serialized, value)) if type(value) in (list, tuple) else value
    if isinstance(value, Mapping):
        return {key: serialized(x) for key, x in value.items()}
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return value.as_tuple()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "get_config") and not isinstance(value, type):
        kind = type(value)
        return {
            "module": kind.__module__,
            "class_name": kind.__name__,
            "config": value.get_config(),
            "registered_name": next((name for name, x in REGISTERED.items() if x is kind), None),
        }
    return value


def deserialized(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """What `serialized` was given, made anew.

    Raises
    ------
    ValueError
        If the class is not found: its module cannot be imported, and `custom_objects` does not have it.
    """
    if isinstance(config, (list, tuple)):
        return type(config)(deserialized(x, custom_objects) for x in config)
    if not isinstance(config, Mapping):
        return config
    if not {"class_name", "config"} <= set(config):
        return {key: deserialized(x, custom_objects) for key, x in config.items()}
    name, known = config["class_name"], {**REGISTERED, **(custom_objects or {})}
    kind = known.get(name) or known.get(config.get("registered_name") or "")
    if kind is None:
        try:
            kind = getattr(importlib.import_module(config.get("module") or ""), name)
        except (ImportError, AttributeError, ValueError):
            raise ValueError(f"Could not locate class '{name}': give it in `custom_objects`") from None
    inner = config["config"]
    return kind.from_config(inner) if hasattr(kind, "from_config") else kind(**deserialized(inner, custom_objects))
