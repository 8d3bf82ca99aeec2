"""Structs: classes whose fields are the names annotated in their text, as `dataclasses.dataclass` makes them.

That one writes and compiles a text for each method of each class: a millisecond a class, a third of loading the engine.
Structs share their methods, but for ``__init__``, which is compiled when the first one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

S = TypeVar("S")
_NONE: Any = object()
_LATER: Any = object()


class _Made(partial[Any]):
    """In a class, it stands in the place of a default that each struct makes for itself."""


def field(*, default_factory: Callable[[], Any] | None = None, init: bool = True) -> Any:
    """A default that each struct makes for itself; without `init` a place that ``__post_init__`` fills."""
    return _LATER if default_factory is None or not init else _Made(default_factory)


@dataclass_transform(field_specifiers=(field,))
def struct(
    *, frozen: bool = False, eq: bool = True, slots: bool = False, kw_only: bool = False
) -> Callable[[type[S]], type[S]]:
    """A decorator that makes a class one of structs; the options are those of `dataclasses.dataclass`.

    Examples
    --------
    >>> @struct(frozen=True)
    ... class Point:
    ...     x: "int"
    ...     tags: "list[str]" = field(default_factory=list)
    >>> Point(1), replace(Point(1), x=2) == Point(2), {Point(1).tags is Point(1).tags}
    (Point(x=1, tags=[]), True, {False})
    >>> Point(1).x = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot change the field 'x' of a Point
    """

    def decorated(cls: Any) -> Any:
        own = {name: vars(cls).get(name, _NONE) for name in cls.__annotations__}
        if slots:
            content = {n: x for n, x in vars(cls).items() if n not in (*own, "__dict__", "__weakref__")}
            content["__slots__"] = tuple([n for n in own if n not in getattr(cls, "__fields__", ())])
            name, cls = cls.__qualname__, type(cls)(cls.__name__, cls.__bases__, content)
            cls.__qualname__ = name
        for name, default in own.items():
            if (default is _LATER or isinstance(default, _Made)) and not slots:
                delattr(cls, name)
        given = {name: default for name, default in own.items() if default is not _LATER}
        fields = cls.__fields__ = getattr(cls, "__fields__", {}) | given
        values: Callable[[Any], Any] = attrgetter(*fields, "__class__")

        def first(self: Any, *given: Any, **named: Any) -> None:
            cls.__init__ = init = _init_of(cls, frozen, kw_only)
            init(self, *given, **named)

        def equal(self: Any, other: Any) -> Any:
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        members: dict[str, Any] = {"__match_args__": tuple(fields), "__init__": first, "__repr__": _repr}
        if eq:
            members |= {"__eq__": equal, "__hash__": (lambda self: hash(values(self))) if frozen else None}
        if frozen:
            members |= {"__setattr__": _refuse, "__delattr__": _refuse}
        for name, member in members.items():
            if vars(cls).get(name) is None:
                setattr(cls, name, member)
        return cls

    return decorated


def _init_of(cls: Any, frozen: bool, kw_only: bool) -> Any:
    """The method ``__init__`` of a class."""
    scope: dict[str, Any] = {"_set": object.__setattr__}
    given, lines = ["self", *["*"] * kw_only], []
    for name, default in cls.__fields__.items():
        scope[f"_{name}"], value = default, name
        if isinstance(default, _Made):
            value = f"_{name}() if {name} is _{name} else {name}"
        given.append(name if default is _NONE else f"{name}=_{name}")
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    exec(f"def __init__({', '.join(given)}):\n " + "\n ".join(lines), scope)
    return scope["__init__"]


def replace(of: S, **changes: Any) -> S:
    """A struct with other values in some fields."""
    return type(of)(**{name: getattr(of, name) for name in of.__match_args__} | changes)  # type: ignore[attr-defined]


@recursive_repr()
def _repr(self: Any) -> str:
    values = [f"{name}={getattr(self, name)!r}" for name in self.__match_args__]
    return f"{type(self).__qualname__}({', '.join(values)})"


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change the field {name!r} of a {type(self).__name__}")
