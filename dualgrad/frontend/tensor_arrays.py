"""Checks that the TensorArrays of both front ends share."""

from __future__ import annotations

from typing import Any

from engine.runtime.errors import InvalidArgumentError


def require_size(count: int, size: Any, dynamic_size: bool) -> None:
    """Raise InvalidArgumentError unless `split` gives as many elements as the array has places, where it cannot grow.

    `size` is None where it is not known.
    """
    if size is not None and int(size) != count and not dynamic_size:
        raise InvalidArgumentError(
            f"TensorArray.split: argument `lengths` has {count} numbers, but the array has size {int(size)}; make it "
            f"with that size, or with dynamic_size=True"
        )
