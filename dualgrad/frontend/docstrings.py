"""The Parameters section of docstrings that have none: from the signature, and one table of what parameters mean."""

from __future__ import annotations

import re
from types import FunctionType
from typing import Any

CO_VARARGS, CO_VARKEYWORDS = 4, 8  # as `inspect` has them

MEANINGS: dict[str, tuple[str, str]] = {
    name: (kind.strip(), meaning.strip())
    for line in """
activation          | str or callable     | Applied to the result: a name of `keras.activations`, or a function.
activity_regularizer | str or callable    | A penalty on the result, which is added to the losses.
axis                | int, or several     | The dimensions that this goes along; negative ones count from the end.
bias_initializer    | str or callable     | Makes the initial bias.
config              | dict                | What `get_config` gave.
data                | list                | Tensors that the error shows, in a graph.
data_format         | str                 | Whether channels are last (``"NHWC"``, ``"channels_last"``) or second.
dilation_rate       | int, or several     | The distance of neighboring elements of a window, per dimension.
dilations           | int, or several     | The distance of neighboring elements of a window, per dimension.
dtype               | DType               | The dtype of the result, or of what is made.
filters             | int, or value       | The number of channels of the result, or the filters themselves.
from_logits         | bool                | Whether predictions are logits; otherwise they are probabilities.
global_step         | value               | The number of steps so far.
indices             | value, integers     | Which rows, or elements.
initializer         | str or callable     | Makes the initial value.
keepdims            | bool                | Whether the dimensions that are reduced stay, with size 1.
kernel_size         | int, or several     | The size of a window, per dimension.
ksize               | int, or several     | The size of a window, per dimension.
label_smoothing     | float               | From 0 to 1: how much of each label is spread evenly over all classes.
learning_rate       | float, or schedule  | The factor of a step.
message             | str                 | Stands before the text of the error.
metrics_collections | list of str         | Names of the graph's collections that the value is added to.
msg                 | str                 | Stands before the text of the error.
name                | str                 | Of the operations in a graph; has no effect on values.
padding             | str, or pairs       | ``"VALID"``: windows inside alone; ``"SAME"``: zeros are put around.
pool_size           | int, or several     | The size of a window, per dimension.
reduction           | str                 | How the losses of the examples become one: their sum, mean, or not at all.
regularizer         | str or callable     | A penalty, which is added to the losses.
scope               | str                 | The name scope.
seed                | int, or two         | Where the random numbers start: the same seed gives the same numbers.
shape               | ints, or value      | The shape of the result, or of what is made.
strides             | int, or several     | The distance of neighboring windows, per dimension.
summarize           | int                 | How many elements of each tensor an error shows.
trainable           | bool                | Whether optimizers change its variables.
updates_collections | list of str         | Names of the graph's collections that the update is added to.
use_bias            | bool                | Whether a bias is added.
use_locking         | bool                | Has no effect: updates are never torn.
validate_args       | bool                | Whether arguments are checked where that costs time.
weights             | value, or list      | Factors of the losses, or the values of variables.
""".strip().splitlines()
    for name, kind, meaning in [line.split("|")]
    for name in [name.strip()]
}  # fmt: skip
"""By parameter: its type, and what it means wherever it stands."""


_REQUIRED: Any = object()


def describe(thing: Any) -> None:
    """Give a function or class a section of its parameters, unless its docstring has one or there are none."""
    function: Any = getattr(thing, "__init__", None) if isinstance(thing, type) else thing
    doc = thing.__doc__ if isinstance(thing, (type, FunctionType)) else None
    sections = list(re.finditer(r"\n *\n *(\w+)\n *-{3,}\n", doc or ""))
    if not doc or not isinstance(function, FunctionType) or any(section[1] == "Parameters" for section in sections):
        return
    while not hasattr(function, "__signature__") and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    rows = [row for name, default in _parameters(function).items() for row in _lines(function, name, default)]
    if rows:
        end = sections[0].start() if sections else len(doc.rstrip())
        margin = re.search(r"\n( *)\S", doc)
        indented = [f"{margin[1] if margin else ''}{row}" for row in ("Parameters", "----------", *rows)]
        thing.__doc__ = "\n".join([doc[:end], "", *indented]) + doc[end:]


def _parameters(function: Any) -> dict[str, Any]:
    """The parameters that users give, and their defaults; `inspect` would take longer than all else does here."""
    if shown := getattr(function, "__signature__", None):
        given = shown.parameters.values()
        return {
            str(p).partition(":")[0].partition("=")[0].strip(): _REQUIRED if p.default is p.empty else p.default
            for p in given
        }
    code = function.__code__
    count, total = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names, more = code.co_varnames[:total], iter(code.co_varnames[total:])
    positional = dict(
        zip(names[count - len(function.__defaults__ or ()) : count], function.__defaults__ or (), strict=True)
    )
    defaults = {**positional, **(function.__kwdefaults__ or {})}
    stars = [f"{'*' * n}{next(more)}" for n, flag in ((1, CO_VARARGS), (2, CO_VARKEYWORDS)) if code.co_flags & flag]
    return {name: defaults.get(name, _REQUIRED) for name in (*names, *stars) if name not in ("self", "host")}


def _lines(function: Any, name: str, default: Any) -> list[str]:
    """The lines about a parameter."""
    same, alone = getattr(function, "__operands__", (getattr(getattr(function, "__engine__", None), "args", ()), ()))
    kind, meaning = MEANINGS.get(name, ("", ""))
    annotation = getattr(function, "__annotations__", {}).get(name.strip("*"), "Any")
    if name in same or name in alone:
        others = [other for other in same if other != name]
        kind = "value" + (f", of one dtype with {', '.join(others)}" if name in same and others else "")
    elif not kind and isinstance(annotation, str) and annotation != "Any":
        kind = annotation
    if default is not _REQUIRED:
        said = "optional" if default is None else f"default {getattr(default, '__name__', None) or repr(default)}"
        kind = f"{kind}, {said}" if kind else said
    return [f"{name} : {kind}" if kind else name, *([f"    {meaning}"] if meaning else [])]
