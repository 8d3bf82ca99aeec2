"""Classes of a program's own that become tensors, are fetched, and are fed: as Edward and ZhuSuan register theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.core.composite import Composite
from graph_api.graphs.defaults import fetched_as

_conversions: dict[type, list[tuple[int, Callable[..., Any]]]] = {}


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Say how objects of a class become tensors, wherever a function takes one.

    Parameters
    ----------
    base_type : class or tuple of classes
        Of the program's own.
    conversion_func : callable
        ``conversion_func(value, dtype=None, name=None, as_ref=False)`` gives a tensor, or NotImplemented to leave it to
        the next one.
    priority : int
        Functions of lower numbers are asked first, those of one number in the order in which they were registered.

    Raises
    ------
    TypeError
        If a class is one of Python's or NumPy's, whose conversion is fixed, or the function cannot be called.

    Examples
    --------
    >>> import graph_api as tf
    >>> class Degrees:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> tf.register_tensor_conversion_function(
    ...     Degrees, lambda d, dtype=None, name=None, as_ref=False: tf.constant(d.value * 3.0))
    >>> tf.Session().run(tf.square(Degrees(2.0)))
    np.float32(36.0)
    """
    if not callable(conversion_func):
        raise TypeError(f"register_tensor_conversion_function: `conversion_func` must be callable: {conversion_func!r}")
    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        if not isinstance(kind, type):
            raise TypeError(f"register_tensor_conversion_function: `base_type` must be a class or tuple: {kind!r}")
        known = _conversions.setdefault(kind, [])
        try:
            if not known:
                kind.as_value = _as_value(kind)  # type: ignore[attr-defined]
        except TypeError:
            del _conversions[kind]
            raise TypeError(
                f"register_tensor_conversion_function: how objects of {kind.__name__} become tensors is fixed; "
                f"register a class of your own"
            ) from None
        known.append((priority, conversion_func))
        known.sort(key=lambda pair: pair[0])


def _as_value(kind: type) -> Callable[[Any], Any]:
    def as_value(self: Any) -> Any:
        for _, convert in _conversions[kind]:
            value = convert(self, dtype=None, name=None, as_ref=False)
            if value is not NotImplemented:
                return value
        raise TypeError(f"no conversion function that is registered for {kind.__name__} converts {self!r}")

    return as_value


class _Fetched(Composite):
    """An object of a registered class, in a session's eyes."""

    def __init__(self, whole: Any, fetch: Callable[..., Any], feed: Callable[..., Any] | None) -> None:
        self._whole, self._feed = whole, feed
        self._parts, self._contract = fetch(whole)

    def components(self) -> list[Any]:
        """The tensors that are fetched."""
        return list(self._parts)

    def rebuilt(self, components: Sequence[Any]) -> Any:
        """Make of their arrays what the program does."""
        return self._contract(list(components))

    def fed(self, value: Any) -> list[tuple[Any, Any]]:
        """The tensors that are fed, with their arrays."""
        if self._feed is None:
            raise TypeError(f"Cannot feed {self._whole!r}: its class was registered without a `feed_function`")
        return list(self._feed(self._whole, value))


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[..., Any],
    feed_function: Callable[..., Any] | None = None,
    feed_function_for_partial_run: Callable[..., Any] | None = None,
) -> None:
    """Say how sessions fetch and feed objects of a class of the program's own.

    Parameters
    ----------
    tensor_type : class
    fetch_function : callable
        ``fetch_function(value)`` gives a list of tensors, and a function that makes a result of the list of arrays.
    feed_function : callable, optional
        ``feed_function(value, fed)`` gives pairs of a tensor and what is fed for it.
    feed_function_for_partial_run : callable, optional
        Not used: a run has one set of feeds.

    Raises
    ------
    ValueError
        If the class, or one that it is derived from, is registered already.
    """
    for kind in fetched_as:
        if issubclass(tensor_type, kind):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    fetched_as[tensor_type] = lambda whole: _Fetched(whole, fetch_function, feed_function)
