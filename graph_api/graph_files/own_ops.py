"""Ops that TensorFlow has not, in files: under types of ours, with their parameters, read again by us alone."""

from __future__ import annotations

import importlib
import json
import pkgutil
from typing import Any

from dualgrad.frontend.namespace import OPS
from engine.core.dtypes import DType, as_dtype
from engine.core.op import Op
from engine.ops.windows import Windows
from engine.runtime.errors import InvalidArgumentError

_PREFIX = "Dualgrad>"
_MODULES = ("engine.core.structural", "engine.core.expand_axes")
_OPS: dict[str, Op] = {}


def type_of(op: Op) -> str:
    """The type that an op has in files."""
    module = op.module.rpartition(".")[2]
    return f"{_PREFIX}{_capital(module)}{_capital(op.name)}"


def _capital(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def op_named(kind: str) -> Op | None:
    """The op that has a type in files; None if there is none. A file names ops, it does not choose what is imported."""
    if not kind.startswith(_PREFIX):
        return None
    if not _OPS:
        paths = {package: importlib.import_module(package.rstrip(".")).__path__ for package in OPS}
        names = [f"{package}{info.name}" for package in OPS for info in pkgutil.iter_modules(paths[package])]
        for module in (*_MODULES, *names):
            for value in vars(importlib.import_module(module)).values():
                if isinstance(value, Op) and value.module == module:
                    _OPS[type_of(value)] = value
    return _OPS.get(kind)


def encoded(op: Op, params: dict[str, Any]) -> str | None:
    """Parameters as text; None if they are not plain data, or the op cannot be found again."""
    if not op.module.startswith(OPS) and op.module not in _MODULES:
        return None
    try:
        return json.dumps({key: _plain(value) for key, value in params.items()}, sort_keys=True)
    except TypeError:
        return None


def _plain(value: Any) -> object:
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Windows):
        return {"windows": [_plain(v) for v in value]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if type(value) in (tuple, list):
        return {"tuple": [_plain(v) for v in value]}
    raise TypeError(f"{value!r} is not plain data")


def decoded(text: str) -> dict[str, Any]:
    """Parameters from text.

    Raises
    ------
    InvalidArgumentError
        If it is not what `encoded` writes.
    """
    try:
        params = json.loads(text)
        return {str(key): _value(value) for key, value in params.items()}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise InvalidArgumentError(f"parameters are damaged: {error}") from None


def _value(held: Any) -> Any:
    if not isinstance(held, dict):
        if held is None or isinstance(held, (bool, str, int)):
            return held
        raise ValueError(f"{held!r} is no parameter")
    ((kind, value),) = held.items()
    if kind == "float":
        return float.fromhex(value)
    if kind == "dtype":
        return as_dtype(value)
    if kind == "windows":
        return Windows(*[_value(v) for v in value])
    if kind == "ellipsis":
        return ...
    if kind == "tuple":
        return tuple([_value(v) for v in value])
    raise ValueError(f"{kind!r} is no kind of parameter")
