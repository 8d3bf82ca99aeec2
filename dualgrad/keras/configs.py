"""Configurations of layers and models, as dicts: `get_config`, `from_config`, and copies made by them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any, Self

import numpy as np

from engine.core.dtypes import DType
from engine.core.tensor_shape import TensorShape
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown

_PLAIN = (bool, int, float, str, type(None))


REGISTERED: dict[str, Any] = {}
"""Classes and functions of programs, by the names that configurations have for them."""
OURS: dict[tuple[Any, Any], type] = {}
"""Our own classes, by module and name. With `REGISTERED` this is all that a configuration can name."""


class Described(dict[str, Any]):
    """The description of an object by `serialized`, with its class: a copy made in this process needs no name.

    Attributes
    ----------
    kind : type
    """

    __slots__ = ("kind",)

    def __init__(self, kind: Any, held: Mapping[str, Any]) -> None:
        super().__init__(held)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))


def ours(*kinds: type) -> None:
    """Let configurations name classes of ours, if they have configurations themselves."""
    OURS.update({(kind.__module__, kind.__name__): kind for kind in kinds if hasattr(kind, "get_config")})


class Arguments:
    """The arguments that an object was made with.

    Attributes
    ----------
    args, kwargs
    """

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs


class Configured(Shown):
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
        """Make the object that `get_config` describes."""
        return cls(**deserialized(dict(config)))


class OfFunction:
    """Base of classes for functions, before a base that is made of a function and of arguments by their names.

    ``class Huber(OfFunction, Base, function=huber, order="delta name")`` takes two arguments, the function's `delta`
    and the base's `name`, with their defaults unless ``name="huber_loss"`` says another one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no function: name one, ``class Name(Base, function=f)``")

    def __init_subclass__(cls, function: Callable[..., Any] | None = None, order: str = "", **defaults: Any) -> None:
        super().__init_subclass__()
        if function is not None:
            cls.__init__ = _initializer(cls, function, order, defaults)  # type: ignore[method-assign]


def _initializer(cls: type, function: Callable[..., Any], order: str, defaults: Mapping[str, Any]) -> Any:
    """The ``__init__`` of a class for a function."""
    base = next(kind for kind in cls.__mro__ if "__init__" in vars(kind) and not issubclass(kind, OfFunction))
    own, common = (inspect.signature(f).parameters for f in (function, vars(base)["__init__"]))
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", either)]
    for name in order.split():
        default = defaults[name] if name in defaults else (own.get(name) or common[name]).default
        parameters.append(inspect.Parameter(name, either, default=default))
    signature = inspect.Signature(parameters)

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None
        bound.apply_defaults()
        arguments = {name: x for name, x in bound.arguments.items() if name != "self"}
        super(OfFunction, self).__init__(function, **arguments)

    initialize.__signature__ = signature  # type: ignore[attr-defined]
    return initialize


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
    call: Arguments = instance._arguments
    arguments: dict[str, Any] = {}
    names: list[str] = []
    for function in chain:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in names:
                continue
            if parameter.kind is not parameter.KEYWORD_ONLY:
                names.append(parameter.name)
            if parameter.default is not parameter.empty:
                arguments.setdefault(parameter.name, parameter.default)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    arguments.update(zip(names, call.args, strict=False))
    arguments.update(call.kwargs)
    return {name: _settled(instance, name, value) for name, value in arguments.items() if name not in without}


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
        config = {
            "module": kind.__module__,
            "class_name": kind.__name__,
            "config": value.get_config(),
            "registered_name": next((name for name, x in REGISTERED.items() if x is kind), None),
        }
        return Described(kind, config)
    if isinstance(value, FunctionType):
        known = next((name for name, x in REGISTERED.items() if x is value), None)
        if known is not None:
            return {"module": "builtins", "class_name": "function", "config": value.__name__, "registered_name": known}
    return value


def deserialized(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make the object anew that `serialized` was given.

    A configuration may come from a file, which nobody has to trust. So what it names is looked up among our own
    classes, what the program has registered, and `custom_objects`; nothing is imported, and no function is called.

    Raises
    ------
    ValueError
        If a class or function is not found there.
    """
    if isinstance(config, (list, tuple)):
        return type(config)(deserialized(x, custom_objects) for x in config)
    if not isinstance(config, Mapping):
        return config
    if not {"class_name", "config"} <= set(config):
        return {key: deserialized(x, custom_objects) for key, x in config.items()}
    kind, inner = named(config, custom_objects), config["config"]
    if not isinstance(kind, type):
        return kind
    if not isinstance(inner, Mapping):
        raise ValueError(f"the configuration of class '{kind.__name__}' must be a dict, got {inner!r}")
    return kind.from_config(inner) if hasattr(kind, "from_config") else kind(**deserialized(inner, custom_objects))


def named(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The class or function that a configuration names.

    Raises
    ------
    ValueError
        If it is not found.
    """
    if isinstance(config, Described):
        return config.kind
    name, module, registered = (config.get(key) for key in ("class_name", "module", "registered_name"))
    what = "function" if name == "function" else "class"
    name = config["config"] if name == "function" else name
    if name == "__lambda__":
        raise ValueError(
            "Requested the deserialization of a Python lambda, which a file has as bytecode. Bytecode of a file is not "
            "run here, nor with `safe_mode=False`: write a function with a name, and give it in `custom_objects`"
        )
    known = {**REGISTERED, **(custom_objects or {})}
    names = [x for x in (registered, name) if isinstance(x, str)]
    kind = next((known[x] for x in names if x in known), None)
    if kind is None and what == "class" and isinstance(name, str) and isinstance(module, str):
        # what does not depend on the front end is offered by both and defined in the engine
        kind = OURS.get((module, name)) or OURS.get((f"dualgrad.frontend.{module.partition('.')[2]}", name))
    if kind is None:
        raise InvalidArgumentError(
            f"Could not locate {what} {name!r} (of module {module!r}): what a configuration names must be one of ours, "
            f"registered (keras.utils.register_keras_serializable), or given in `custom_objects`. Nothing is imported"
        )
    return kind
