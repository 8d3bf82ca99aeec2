"""Other functions in the place of those of a library, for as long as somebody watches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(*changes: tuple[Any, str, Callable[..., Any]]) -> Iterator[None]:
    """Put other functions in the place of some inside of the ``with`` block.

    Parameters
    ----------
    *changes : (object, str, callable)
        A class or module, the name of a function in it, and what is called in its place: with the usual function
        first, and then with what that would be given.
    """
    usual = [(owner, name, vars(owner).get(name)) for owner, name, _ in changes]
    for owner, name, instead in changes:
        setattr(owner, name, _calling(instead, getattr(owner, name)))
    try:
        yield
    finally:
        for owner, name, function in reversed(usual):
            if function is None:  # it was inherited
                delattr(owner, name)
            else:
                setattr(owner, name, function)


def _calling(instead: Callable[..., Any], usual: Any) -> Callable[..., Any]:
    @functools.wraps(usual)
    def called(*args: Any, **kwargs: Any) -> Any:
        return instead(usual, *args, **kwargs)

    return called
