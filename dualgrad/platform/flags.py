"""``tf.flags``: arguments of the command line, defined where they are used.

They are parsed when one of them is first read, or by ``tf.app.run``: ``--name=value``, ``--name value``, ``--name`` and
``--noname`` for truth values. ``--`` ends them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


class Error(Exception):
    """Base of the errors that concern flags."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """A flag has a value that it may not have."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of that name."""


class UnparsedFlagAccessError(Error):
    """Flags are read before the command line is."""


@dataclass
class Flag:
    """One flag.

    Attributes
    ----------
    name, help : str
    default, value
    parse : callable
        What the text on the command line stands for.
    boolean : bool
        Whether it may stand alone.
    multiple : bool
        Whether it may be given several times: its value is a list.
    present : int
        How often it was given.
    """

    name: str
    default: Any
    help: str
    parse: Callable[[str], Any]
    boolean: bool = False
    multiple: bool = False
    short_name: str | None = None
    required: bool = False
    value: Any = None
    present: int = 0

    def __post_init__(self) -> None:
        self.value = self.default

    def take(self, text: str) -> None:
        """Set it to what stands on the command line."""
        try:
            value = self.parse(text)
        except ValueError as error:
            raise IllegalFlagValueError(f"flag --{self.name}={text}: {error}") from None
        if self.multiple:
            self.value = [*(self.value if self.present else []), value]
        else:
            self.value = value
        self.present += 1


class FlagValues:
    """All flags: their values as attributes."""

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_validators"] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name not in self._flags:
            there = ", ".join(sorted(self._flags)) or "none"
            raise UnrecognizedFlagError(f"there is no flag {name!r}; there are {there}")
        if not self._parsed:
            self(sys.argv, known_only=True)
        return self._flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags:
            raise UnrecognizedFlagError(f"there is no flag {name!r}: define it before it is set")
        self._flags[name].value = value

    def __getitem__(self, name: str) -> Flag:
        flag: Flag = self._flags[name]
        return flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted([*self._flags, *object.__dir__(self)])

    def __repr__(self) -> str:
        return f"<flags {', '.join(f'{n}={f.value!r}' for n, f in self._flags.items())}>"

    def is_parsed(self) -> bool:
        """Whether the command line has been read."""
        return bool(self._parsed)

    def mark_as_parsed(self) -> None:
        """Take the values as they are, without reading the command line."""
        self.__dict__["_parsed"] = True

    def flag_values_dict(self) -> dict[str, Any]:
        """All values by name."""
        return {name: getattr(self, name) for name in self._flags}

    def add(self, flag: Flag) -> None:
        """Define a flag.

        Raises
        ------
        DuplicateFlagError
            If there is one of that name.
        """
        for name in filter(None, (flag.name, flag.short_name)):
            if name in self._flags:
                raise DuplicateFlagError(f"the flag {name!r} is defined twice")
            self._flags[name] = flag

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Read a command line (whose first item is the program); return what is left of it.

        Raises
        ------
        UnrecognizedFlagError
            If something looks like a flag and is none, unless `known_only`: then it stays.
        IllegalFlagValueError
            If a value does not fit, or a required one is missing.
        """
        left, rest = [argv[0]], list(argv[1:])
        while rest:
            item = rest.pop(0)
            if item == "--":
                left += rest
                break
            if not item.startswith("-") or item == "-":
                left.append(item)
                continue
            name, equals, text = item.lstrip("-").partition("=")
            name = name.replace("-", "_") if name not in self._flags else name
            flag, off = self._flags.get(name), False
            if flag is None and name.startswith("no") and getattr(self._flags.get(name[2:]), "boolean", False):
                flag, off = self._flags[name[2:]], True
            if flag is None:
                if not known_only:
                    raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
                left.append(item)
            elif flag.boolean and not equals:
                flag.take("false" if off else "true")
            elif equals or rest:
                flag.take(text if equals else rest.pop(0))
            else:
                raise IllegalFlagValueError(f"flag --{name}: a value is needed")
        self.mark_as_parsed()
        self._check()
        return left

    def _check(self) -> None:
        for flag in self._flags.values():
            if flag.required and flag.value is None:
                raise IllegalFlagValueError(f"flag --{flag.name}: a value is required")
        for name, check, message in self._validators:
            if not check(self._flags[name].value):
                raise IllegalFlagValueError(f"flag --{name}={self._flags[name].value}: {message}")

    def get_help(self) -> str:
        """A text that lists the flags a user may write."""
        return "\n".join(
            f"  --{'[no]' if f.boolean else ''}{name}: {f.help} (default: {f.default!r})"
            for name, f in sorted(self._flags.items())
            if name == f.name
        )


FLAGS = FlagValues()


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "y", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "n", "no"):
        return False
    raise ValueError(f"{text!r} is no truth value; write true or false")


def _list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text else []


def _integer(text: str) -> int:
    return int(text, 0)


def _definer(
    parse: Callable[[str], Any], kind: str, boolean: bool = False, multiple: bool = False
) -> Callable[..., Any]:
    def define(
        name: str, default: Any, help: str | None = None, flag_values: FlagValues = FLAGS,
        short_name: str | None = None, required: bool = False, **_: Any,
    ) -> None:  # fmt: skip
        value = parse(default) if isinstance(default, str) and not multiple else default
        if multiple and value is not None and not isinstance(value, (list, tuple)):
            value = [parse(value) if isinstance(value, str) else value]
        if parse is float and value is not None and not multiple:
            value = float(value)
        flag_values.add(Flag(name, value, help or "", parse, boolean, multiple, short_name, required))

    define.__name__ = define.__qualname__ = f"DEFINE_{kind}"
    define.__doc__ = f"Define a flag whose value is {kind.replace('_', ' ')}, with a default and a line of help."
    return define


DEFINE_string = _definer(str, "string")
DEFINE_integer = _definer(_integer, "integer")
DEFINE_float = _definer(float, "float")
DEFINE_boolean = DEFINE_bool = _definer(_truth, "bool", boolean=True)
DEFINE_list = _definer(_list, "list")
DEFINE_multi_string = _definer(str, "multi_string", multiple=True)
DEFINE_multi_integer = _definer(_integer, "multi_integer", multiple=True)
DEFINE_multi_float = _definer(float, "multi_float", multiple=True)


def DEFINE_enum(
    name: str, default: str | None, enum_values: Sequence[str], help: str | None = None,
    flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Define a flag whose value is one of several strings."""

    def parse(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"the value must be one of {', '.join(enum_values)}")
        return text

    flag_values.add(Flag(name, default, help or "", parse))


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Make it an error not to give a flag."""
    flag_values[flag_name].required = True


def register_validator(
    flag_name: str, checker: Callable[[Any], bool], message: str = "the value is not allowed",
    flag_values: FlagValues = FLAGS,
) -> None:  # fmt: skip
    """Check the value of a flag whenever the command line is read."""
    flag_values._validators.append((flag_name, checker, message))


__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "Flag",
    "FlagValues",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "mark_flag_as_required",
    "register_validator",
]  # fmt: skip
