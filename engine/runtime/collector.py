"""Python's cyclic garbage collector, while objects are made by the million that stay."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")
_PYTHONS = 1000
"""More objects than Python 3.12 itself puts aside as it starts; a program that does so puts aside all it has loaded."""
_may_freeze = [True]


def uncollected(function: Callable[..., R], *arguments: Any, **options: Any) -> R:
    """The result of a function while no cycles are looked for; whatever interrupts it, they are looked for afterwards.

    Building a graph or a program of many nodes makes objects that all stay. Each time their number has grown by a
    quarter, the collector looks at all of them: in large graphs that is half of the time, and finds nothing.
    """
    if not gc.isenabled():
        return function(*arguments, **options)
    # twice: an interrupt may come within `finally` (`engine.runtime.commit`)
    try:
        try:
            gc.disable()
            return function(*arguments, **options)
        finally:
            gc.enable()
    finally:
        gc.enable()


def settled(function: Callable[..., R], *arguments: Any) -> R:
    """The result of a function that loads modules: what they hold joins the oldest objects without being looked at.

    Only what is loaded once may do so, since its cycles are not counted, and so looked for later than others.
    """
    try:
        return uncollected(function, *arguments)
    finally:
        # counting takes long where there is much to count
        if _may_freeze[0]:
            _may_freeze[0] = gc.get_freeze_count() < _PYTHONS
        if _may_freeze[0]:
            gc.freeze()
            gc.unfreeze()
