"""Why variables have no gradient, noted for whoever is given the None."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

from engine.core.tape import Tape
from engine.core.unconnected import is_noted, note_missing
from engine.core.variable import Variable
from engine.explain import explain
from engine.explain.explanation import Explanation
from engine.runtime.errors import UnconnectedWarning

_MOST = 8
"""Variables for which a tape looks for a reason at once; an error names no more."""


def note(tape: Tape, targets: Sequence[Any], sources: Sequence[Any]) -> None:
    """Note why some sources have no gradient on a tape, and warn if the tape is there to explain.

    Of variables this is done once for recordings of one length, so that a training loop with a variable that is not
    used does not pay for it in each step.
    """
    length = len(tape.nodes)
    new = [x for x in sources if isinstance(x, Variable) and not is_noted(x, length)]
    for x in sources if tape.explains else new[:_MOST]:
        if not targets:
            return
        text = sentence(explain(targets[0], x, tape=tape))
        if isinstance(x, Variable):
            note_missing(x, length, partial(str, text))
        if tape.explains:
            warnings.warn(f"the gradient is None. {text}", UnconnectedWarning, stacklevel=4)


def note_in_graph(targets: Sequence[Any], variables: Sequence[Any], stop: Sequence[Any]) -> None:
    """Note of variables of a graph that they have no gradient; why is looked for when somebody asks."""
    if not targets:
        return
    target, stops = weakref.ref(targets[0]), [weakref.ref(s) for s in stop]
    for variable in variables:
        own = weakref.ref(variable)

        def reason(own: Any = own) -> str:
            ends = target(), own()
            if ends[0] is None or ends[1] is None:
                return "its graph is gone"
            held = [s for s in [ref() for ref in stops] if s is not None]
            return sentence(explain(*ends, stop_gradients=held or None))

        note_missing(variable, id(targets[0]), reason)


def sentence(why: Explanation) -> str:
    """A reason in one line, for an error."""
    return f"{why.findings[0]} [{why.code}]"
