"""``tf.contrib.training.HParams``: settings of a program, with types, which may be set from a line of text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_SETTING = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((?P<one>[^,\[]*)|\[(?P<many>[^\]]*)\])(,|$)\s*"
)


def _truth(text: str) -> bool:
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise ValueError(text)


def _reader(kind: type) -> Callable[[str], Any]:
    return _truth if kind is bool else kind


def _cast(name: str, kind: type, value: Any) -> Any:
    """A value as what a setting holds, if that loses nothing."""
    if value is None:
        return None
    if isinstance(value, str) != issubclass(kind, (str, bytes)) or (isinstance(value, bool) != (kind is bool)):
        raise ValueError(f"HParams: {name!r} holds {kind.__name__}, and {value!r} is none")
    if issubclass(kind, int) and not isinstance(value, int) and int(value) != value:
        raise ValueError(f"HParams: {name!r} holds whole numbers, and {value!r} is none")
    return kind(value)


class HParams:
    """Settings that are attributes, with the types of the values that they begin with.

    Parameters
    ----------
    hparam_def, model_structure
        Must be None: messages are not read.
    **kwargs
        The settings: numbers, texts, truth values, None, and lists of one of these.

    Examples
    --------
    >>> settings = HParams(learning_rate=0.1, layers=[4, 4])
    >>> settings.parse("learning_rate=0.5,layers=[8,8,8]").values()
    {'learning_rate': 0.5, 'layers': [8, 8, 8]}
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None or model_structure is not None:
            raise ValueError("HParams: `hparam_def` and `model_structure` must be None: write the settings as keywords")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(vars(self).get("_hparam_types", ())) or "none"
        raise AttributeError(f"HParams: there is no setting {name!r}; there are: {known}", name=name, obj=self)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises
        ------
        ValueError
            If there is one of this name, or a list is empty.
        """
        if hasattr(self, name):
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = type(value[0]), True
        else:
            self._hparam_types[name] = type(value), False
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a setting.

        Raises
        ------
        KeyError
            If there is none of this name.
        ValueError
            If it has another type, or one is a list and the other is not.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list and not (is_list and isinstance(value, tuple)):
            raise ValueError(f"HParams: {name!r} {'is a list' if is_list else 'is no list'}, got {value!r}")
        if kind is type(None):
            setattr(self, name, value)
        else:
            setattr(self, name, [_cast(name, kind, v) for v in value] if is_list else _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Take a setting away, if there is one."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Change settings to what a text says: ``"name=1,other=[2,3],other[0]=5"``.

        Raises
        ------
        ValueError
            If the text is malformed, names no setting, or sets one twice. Then nothing has changed.
        """
        found: dict[str, Any] = {}
        at = 0
        while at < len(values):
            match = _SETTING.match(values, at)
            if match is None:
                raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
            at = match.end()
            self._read(match, found)
        return self.override_from_dict(found)

    def _read(self, match: re.Match[str], found: dict[str, Any]) -> None:
        name, index, many = match["name"], match["index"], match["many"]
        if name not in self._hparam_types:
            raise ValueError(f"Unknown hyperparameter: {name}")
        kind, is_list = self._hparam_types[name]
        read = _reader(str if kind is type(None) else kind)
        try:
            if index is not None:
                found.setdefault(name, list(getattr(self, name)))[int(index)] = read(match["one"].strip())
                return
            if name in found:
                raise ValueError(f"Multiple assignments to variable '{name}'")
            texts = match["one"] if many is None else many
            found[name] = [read(text.strip()) for text in texts.split(",")] if is_list else read(texts.strip())
        except (TypeError, IndexError, ValueError) as error:
            if str(error).startswith("Multiple"):
                raise
            raise ValueError(f"Could not parse hyperparameter '{name}' as {kind.__name__}: {match[0]!r}") from None

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Change settings; gives the object itself."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """`override_from_dict` of what a JSON text holds."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The settings as JSON, those left out whose values are functions."""
        held = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(held, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """A setting; `default` if there is none of this name."""
        return getattr(self, key) if key in self._hparam_types else default

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({self})"
