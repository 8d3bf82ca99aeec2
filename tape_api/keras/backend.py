"""What layers and losses share: the default dtype, a small number, names that differ."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.core.dtypes import FLOATING, as_dtype

_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7}
_names: Counter[str] = Counter()


def floatx() -> str:
    """The dtype of new weights, and of floating inputs: ``"float32"`` unless `set_floatx` was called."""
    return str(_settings["floatx"])


def set_floatx(value: Any) -> None:
    """Set the dtype of weights made from now on."""
    dtype = as_dtype(value)
    if dtype not in FLOATING:
        raise ValueError(f"set_floatx: the dtype must be floating, got {dtype.name}")
    _settings["floatx"] = dtype.name


def epsilon() -> float:
    """The small number that keeps logarithms and quotients finite, 1e-7."""
    return float(_settings["epsilon"])


def set_epsilon(value: float) -> None:
    """Set the small number."""
    _settings["epsilon"] = float(value)


def unique_name(prefix: str) -> str:
    """``dense``, ``dense_1``, ``dense_2``, ..."""
    count = _names[prefix]
    _names[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def clear_session() -> None:
    """Start the numbering of layer names again."""
    _names.clear()
