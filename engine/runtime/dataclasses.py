"""Dataclasses as Python's, made in a fifth of the time: a front end loads sixty, most of them frozen.

Python compiles each method of each class. Here only ``__init__`` is, since objects are made often.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]


def _made(
    cls: type,
    *,
    repr: bool = True,
    eq: bool = True,
    unsafe_hash: bool = False,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> type:
    own = set(vars(cls))
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    fields = dataclasses.fields(made)
    values = _values([f.name for f in fields if f.compare])
    methods: dict[str, Any] = {"__init__": _init(made, fields, frozen)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        same = lambda self, other: values(self) == values(other) if type(self) is type(other) else NotImplemented  # noqa: E731
        methods |= {"__eq__": same, "__hash__": None}
    if unsafe_hash or (eq and frozen):
        methods["__hash__"] = lambda self: hash(values(self))
    if frozen:
        methods |= {"__setattr__": _refusing(made, "__setattr__"), "__delattr__": _refusing(made, "__delattr__")}
        methods["__setstate__"] = _setstate
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """Make a dataclass: with those options of Python's that `_made` has."""
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)


def _init(cls: Any, fields: tuple[dataclasses.Field[Any], ...], frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"__name__": cls.__module__, "_absent": MISSING, "_set": object.__setattr__}
    parameters, named, lines = ["self"], ["*"], []
    for f in fields:
        value, default = f.name, ""
        if f.default is not MISSING:
            known[f"_default_{f.name}"], default = f.default, f"=_default_{f.name}"
        elif f.default_factory is not MISSING:
            known[f"_make_{f.name}"], default = f.default_factory, "=_absent"
            value = f"_make_{f.name}() if {f.name} is _absent else {f.name}" if f.init else f"_make_{f.name}()"
        if f.init:
            (named if f.kw_only else parameters).append(f.name + default)
        if f.init or f.default_factory is not MISSING:
            lines.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    lines.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "pass")
    exec(f"def __init__({', '.join([*parameters, *named[len(named) == 1 :]])}):\n " + "\n ".join(lines), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return made


def _values(names: list[str]) -> Callable[[Any], Any]:
    """A function from an object to a tuple of fields of it."""
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple([getattr(self, name) for name in names])


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refusing(cls: Any, name: str) -> Callable[..., None]:
    """A method that changes no field."""

    def method(self: Any, attribute: str, *value: Any) -> None:
        if type(self) is cls or attribute in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {attribute!r}")
        getattr(super(cls, self), name)(attribute, *value)

    return method


def _setstate(self: Any, state: Any) -> None:
    """Pickles have the fields in a dict; with slots, in the second of a pair."""
    for name, value in (state[1] if isinstance(state, tuple) else state).items():
        object.__setattr__(self, name, value)
