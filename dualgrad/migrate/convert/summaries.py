"""Summaries: what a function of tape code gives for them, and what writes it to event files.

A graph's summary is a serialized message. A function of tape code gives in its place what the message describes, the
tensors by their tags (`Summaries`), and the program's own ``writer.add_summary`` becomes a call that hands them to
``tf.summary.scalar`` and its like.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.files import summary_values
from dualgrad.files.protos import Summary
from dualgrad.migrate.convert import printing
from engine.core.dtypes import uint8
from engine.core.value import boxed
from graph_api.summaries import _histogram, _scalar, _text, merge_op, summary_op

_KINDS: dict[Callable[..., Any], str] = {
    _scalar: "scalar",
    _histogram: "histogram",
    summary_values.images: "image",
    summary_values.sounds: "audio",
    _text: "text",
}
SCALED = "picture"
"""The kind of an image of floating-point numbers, which TensorFlow 1 scales and `tf.summary.image` does not."""
_DESCRIBE: dict[str, Callable[..., Any]] = {
    **{kind: describe for describe, kind in _KINDS.items()}, SCALED: summary_values.images,
}  # fmt: skip
_OPTIONS = {"image": ("max_outputs",), SCALED: ("max_outputs",), "audio": ("sample_rate", "max_outputs")}
NAMES = ("Summaries", "SUMMARIES", "add_summary", "pixels")
"""The summaries of the converted module."""
_WIDEST = 110
_LEFT_OUT = "writes to an event file is left out: tape code has none."
_HEAD = '''

class Summaries(dict):
    """What is to be shown, by tag."""

    def numpy(self):
        """Itself: it stands beside tensors, which are asked for arrays."""
        return self


{table}


def add_summary(writer, summary, step=0):
    """Write a summary to an event file."""
    with writer.as_default(step=step):
{body}
'''
_PIXELS = '''

def pixels(images):
    """Images in 8 bits, as TensorFlow 1 scales each: its largest value is 255; 128 is zero, if some are negative."""
    images = tf.cast(images, tf.float32)
    low, high = [f(images, [1, 2, 3], keepdims=True) for f in (tf.reduce_min, tf.reduce_max)]
    largest = tf.where(low < 0.0, tf.maximum(-low, high), high)
    full, zero = tf.where(low < 0.0, 127.0, 255.0), tf.where(low < 0.0, 128.0, 0.0)
    return tf.cast(images * tf.where(largest < 1e-6, 0.0, full / largest) + zero, tf.uint8)
'''
_WRITE = """
for tag, value in summary.items():
    SUMMARIES[tag](tag, value)
"""
_BY_HAND = """
if isinstance(summary, tf.compat.v1.Summary):
    for value in summary.value:
        tf.summary.scalar(value.tag, value.simple_value)
    return
"""


def is_summary(node: Any) -> bool:
    """Whether a node makes or merges summaries."""
    return node.op in (summary_op, merge_op)


def leaves(node: Any) -> Iterator[Any]:
    """The nodes of the summaries that a node merges, itself if it merges none."""
    if node.op is summary_op:
        yield node
        return
    for x in node.inputs:
        if not is_summary(x.node):
            raise ValueError("a summary is merged that is fed or computed")
        yield from leaves(x.node)


def inputs(node: Any) -> tuple[list[Any], list[Any]]:
    """The tensors that a node's summaries describe, and what must happen before."""
    try:
        values = list(leaves(node))
    except ValueError:
        return list(node.inputs), list(node.control_inputs)
    before = [node, *(n for n in values if n is not node)]
    return [x for n in values for x in n.inputs], [c for n in before for c in n.control_inputs]


def described(node: Any) -> dict[str, tuple[str, tuple[Any, ...]]]:
    """By tag, the kinds and options of a node's summaries, in the order of `inputs`.

    Raises
    ------
    ValueError
        If tape code has nothing for one of them.
    """
    described_tags: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for leaf in leaves(node):
        tag, kind = leaf.params["tag"], _KINDS.get(leaf.params["describe"])
        if kind is None:
            raise ValueError(f"tf.summary has nothing for the summary {tag!r}")
        if kind == "image" and leaf.inputs[0].dtype is not uint8:
            kind = SCALED
        if tag in described_tags:
            raise ValueError(f"two summaries have the tag {tag!r}")
        described_tags[tag] = kind, tuple(leaf.params["options"])
    return described_tags


def write(body: Any, item: Any) -> None:
    """Write what a function gives for a summary.

    Parameters
    ----------
    body : Body
        Of the function.
    item : OpItem
    """
    size = 1 + body.take(item.inputs)
    (made,) = item.node.outputs
    known = body.module.summaries
    try:
        tags = described(item.node)
        for tag, how in tags.items():
            if known.setdefault(tag, how) != how:
                raise ValueError(f"summaries of different kinds have the tag {tag!r}")
    except ValueError as error:
        value = body.module.not_converted(item, str(error))
    else:
        values = [body.returned(x) for x in item.inputs]
        value = ast.Call(ast.Name("Summaries"), [ast.Dict([ast.Constant(t) for t in tags], values)], [])
    if not body.waits(made, value, item, size):
        body.flush()
        body.let(made, value, item)


def head(known: Mapping[str, tuple[str, tuple[Any, ...]]], adding: Mapping[int, set[str]]) -> str:
    """The lines that a module needs for its summaries.

    Parameters
    ----------
    known : mapping
        By tag, kind and options.
    adding : mapping
        The lines of the program that add something to event files, and what.
    """
    graphs = sorted(line for line, forms in adding.items() if "graph" in forms)
    said = "".join(f"\n# The graph that line {n} {_LEFT_OUT}" for n in graphs)
    if not known and all(forms == {"graph"} for forms in adding.values()):
        return said
    rows = [f"{printing.double_quoted(tag)}: {_function(*description)}" for tag, description in known.items()]
    table = "SUMMARIES = {" + ", ".join(rows) + "}"
    if len(table) > _WIDEST:
        table = "\n".join(["SUMMARIES = {", *[f"    {row}," for row in rows], "}"])
    by_hand = any("scalars" in forms for forms in adding.values())
    body = "\n".join(f"        {line}" for line in (_BY_HAND * by_hand + _WRITE).splitlines() if line)
    scales = any(kind == SCALED for kind, _ in known.values())
    return said + "\n" * bool(said) + _PIXELS * scales + _HEAD.format(table=table, body=body)


def _function(kind: str, options: tuple[Any, ...]) -> str:
    if not options:
        return f"tf.summary.{kind}"
    shown = "pixels(value)" if kind == SCALED else "value"
    options_text = ", ".join(f"{name}={value!r}" for name, value in zip(_OPTIONS[kind], options, strict=True))
    return f"lambda tag, value: tf.summary.{'image' if kind == SCALED else kind}(tag, {shown}, {options_text})"


def serialized(known: Mapping[str, Sequence[Any]], found: Mapping[str, Any]) -> Any:
    """The message that a graph makes of what a function gave for a summary.

    Parameters
    ----------
    known : mapping
        By tag, kind and options.
    found : mapping
        By tag, the tensors.
    """
    whole = Summary()
    for tag, (kind, options) in known.items():
        whole.value.extend(_DESCRIBE[kind](tag, np.asarray(found[tag]), *options))
    return boxed(whole.SerializeToString())


def is_adding(call: ast.Call, lines: Mapping[int, Any]) -> bool:
    """Whether it is ``writer.add_summary(...)``, in a line that was seen to do that."""
    attribute = isinstance(call.func, ast.Attribute) and call.func.attr == "add_summary"
    return attribute and bool(call.args) and any(n in lines for n in range(call.lineno, call.end_lineno + 1))  # type: ignore[operator]


def kept_arguments(call: ast.Call) -> list[ast.expr]:
    """Of the arguments of a FileWriter those that tape code's writers take too: the folder, the end of the name."""
    arguments: dict[str | None, ast.expr] = {k.arg: k.value for k in call.keywords}
    if call.args:
        arguments["logdir"] = call.args[0]
    return [arguments[name] for name in ("logdir", "filename_suffix") if name in arguments]


def is_name(text: str) -> bool:
    """Whether it is the name of one of the classes that write event files."""
    return re.search(r"(^|\.)(FileWriter|SummaryWriter)$", text) is not None
