"""Watch a program on tapes: whoever asks is told of each gradient taken and each step of an optimizer.

As with `dualgrad.migrate.watch`, the methods are replaced while somebody watches. What happens inside graphs is not
told here: there the runs of sessions tell it.

>>> import tape_api as tf
>>> x = tf.Variable(3.0, name="x")
>>> seen = []
>>> with watching_tapes(seen.append):
...     with tf.GradientTape() as tape:
...         y = x * x
...     tf.optimizers.SGD(0.5).apply_gradients([(tape.gradient(y, x), x)])
<tf.Variable ... numpy=1>
>>> seen[0].kind, seen[0].gave, seen[1].kind, seen[1].after["x:0"]
('gradient', {'x:0': array(6., dtype=float32)}, 'apply', array(0., dtype=float32))
"""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgrad.files.events import EventFileWriter
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.watch import Site, user_site
from engine.core import nest
from engine.core.eager import EagerTensor
from engine.core.variable import Variable as AnyVariable
from engine.ops.indexed_slices import IndexedSlices
from engine.transforms.gradient_tape import GradientTape
from optim.optimizer import Optimizer
from tape_api.variable import Variable


@dataclass(eq=False)
class Step:
    """One gradient or one step.

    Attributes
    ----------
    kind : {"gradient", "apply"}
    site : tuple of (str, int)
        File and line of the user's program.
    given : dict
        Of a gradient the targets and sources, of a step the gradients: names to arrays (None: no gradient).
    gave : dict
        The gradients, by the names of their sources; nothing for a step.
    before, after : dict
        Of a step: the variables and slots.
    """

    kind: str
    site: Site
    given: dict[str, Any]
    gave: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


@contextmanager
def watching_tapes(observer: Callable[[Step], Any]) -> Iterator[None]:
    """Tell `observer` of every gradient and every step on eager values inside the ``with`` block."""

    def gradient(usual: Any, self: GradientTape, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        result = usual(self, target, sources, *args, **kwargs)
        targets, flat = nest.flatten(target), nest.flatten(sources)
        if all(isinstance(x, (EagerTensor, AnyVariable)) for x in [*targets, *flat]):
            ends = _named(targets, "target") | _named(flat, "source")
            gradients = nest.flatten(result)
            gave = dict(zip(_named(flat, "source"), map(value, gradients), strict=True))
            observer(Step("gradient", user_site(3), ends, gave, {}, {}))
        return result

    def apply(usual: Any, self: Optimizer, grads_and_vars: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        pairs = list(grads_and_vars)
        variables = [v for _, v in pairs]
        if not all(isinstance(v, AnyVariable) and eager(v) for v in variables):
            return usual(self, pairs, *args, **kwargs)
        before = _named([*variables, *kept_by(self, variables)], "variable")
        result = usual(self, pairs, *args, **kwargs)
        names = _named(variables, "variable")
        gradients = {f"gradient of {n}": value(g) for n, (g, _) in zip(names, pairs, strict=True)}
        after = _named([*variables, *kept_by(self, variables)], "variable")
        observer(Step("apply", user_site(3), gradients, {}, before, after))
        return result

    with replaced((GradientTape, "gradient", gradient), (Optimizer, "apply_gradients", apply)):
        yield


@contextmanager
def noting_initial_values() -> Iterator[dict[int, Any]]:
    """Note the array with which each eager variable is made inside the ``with`` block, by the variable's identity."""
    initial: dict[int, Any] = {}
    alive = []  # so that no other gets its identity

    def make(usual: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        usual(self, *args, **kwargs)
        # no look at it: while a function is traced, that would keep it from being a program
        initial[id(self)] = np.array(self._tensor._array)
        alive.append(self)

    with replaced((Variable, "__init__", make)):
        yield initial


@contextmanager
def noting_events() -> Iterator[list[list[Any]]]:
    """Note the step and the tag of each summary that goes to an event file inside the ``with`` block.

    Pictures and sounds have a tag for each of them in TensorFlow 1, one for all in TensorFlow 2; the first part counts.
    """
    noted = list[list[Any]]()

    def add(usual: Any, self: EventFileWriter, event: Any) -> None:
        usual(self, event)
        roots = [re.split(r"/(?:image|audio)(?:/\d+)?$", v.tag)[0] for v in event.summary.value]
        noted.extend([event.step, root] for root in dict.fromkeys(roots))

    with replaced((EventFileWriter, "add_event", add)):
        yield noted


@contextmanager
def noting_objects(kinds: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Note the object made last of each class of some names that the program itself defines."""
    names, made = set(kinds), dict[str, Any]()

    def build(usual: Any, function: Any, name: str, *bases: Any, **options: Any) -> Any:
        kind = usual(function, name, *bases, **options)
        start = vars(kind).get("__init__")
        if name in names and function.__module__ == "__main__" and start is not None:

            @functools.wraps(start)
            def noted(self: Any, *args: Any, **kwargs: Any) -> None:
                made[name] = self
                start(self, *args, **kwargs)

            kind.__init__ = noted
        return kind

    with replaced((builtins, "__build_class__", build)):
        yield made


def eager(x: Any) -> bool:
    """Whether a variable holds its value itself."""
    return isinstance(x.read_value() if isinstance(x, AnyVariable) else x, EagerTensor)


def kept_by(optimizer: Any, but: Iterable[Any] = ()) -> list[Any]:
    """The variables that an optimizer has made: its slots and counters."""
    variables = optimizer.variables
    known = {id(v) for v in but}
    return [v for v in (variables() if callable(variables) else variables) if id(v) not in known]


def value(x: Any) -> Any:
    """A tensor's or variable's array; None of nothing."""
    if x is None:
        return None
    if isinstance(x, IndexedSlices):
        x = x.as_value()
    array = x.read_value()._array if isinstance(x, AnyVariable) else x._array
    return np.asarray(array)


def _named(values: Iterable[Any], other: str) -> dict[str, Any]:
    """Arrays by the names of the variables; by numbers, where there are no names of their own."""
    by_name: dict[str, Any] = {}
    for i, x in enumerate(values):
        name = x.name if isinstance(x, AnyVariable) else f"{other} {i}"
        by_name[name if name not in by_name else f"{name} ({i})"] = value(x)
    return by_name
