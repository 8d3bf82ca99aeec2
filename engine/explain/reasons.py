"""The closed list of reasons that `explain` gives: code, one short message, what to write instead.

A code never changes its meaning. Each has a page in ``engine/explain/pages``, which ``dualgrad explain CODE`` prints,
and rows in tests/explain/breakages.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parent / "pages"


@dataclass(frozen=True)
class Reason:
    """One reason."""

    code: str
    """Stable; what ``dualgrad explain`` takes."""
    message: str
    """One sentence, with fields in braces for what is known of the case at hand."""
    instead: str
    """The line to write instead."""

    @property
    def page(self) -> str:
        """The page about it, as Markdown."""
        return (PAGES / f"{self.code}.md").read_text(encoding="utf-8")


_ALL = (
    # ---- a gradient arrives
    Reason("connected", "{target} depends on {source}, and the gradient arrives.", ""),
    Reason(
        "partial",
        "{target} depends on {source} in several ways; the gradient misses what goes this way: {missed}",
        "{missed_instead}",
    ),
    # ---- None: the tape
    Reason(
        "not-watched",
        "The tape does not follow {source}: {detail}.",
        "tape.watch(x) inside the with block, before x is used; or make x a tf.Variable, which is watched when read",
    ),
    Reason(
        "watched-late",
        "{op} used {source} before tape.watch was called for it.",
        "call tape.watch(x) first, before anything is computed from x",
    ),
    Reason(
        "not-recording",
        "{detail}.",
        "move the computation into the `with tf.GradientTape() as tape:` block (and out of tape.stop_recording)",
    ),
    Reason(
        "read-early",
        "{target} was computed from a copy of {source} that was read {detail}.",
        "use the variable itself inside the with block; a value read before is a constant to the tape",
    ),
    # ---- None: the path
    Reason(
        "stopped",
        "{op} passes the value on as a constant.",
        "leave tf.stop_gradient (or stop_gradients=) out where the gradient should pass",
    ),
    Reason(
        "no-derivative",
        "{op} has no derivative{detail}: its result is piecewise constant.",
        "use a function with a slope: tf.reduce_max for tf.argmax, tf.sigmoid(k * x) for x > 0, tf.nn.softmax for a "
        "choice; for a straight-through estimate x + tf.stop_gradient(tf.round(x) - x)",
    ),
    Reason(
        "not-implemented",
        "{op} depends on its operand `{operand}`, and the derivative in it is not implemented (nor in TensorFlow).",
        "keep that operand constant, or give the function a derivative of your own: tf.primitive(fn, vjp) or "
        "tf.custom_gradient",
    ),
    Reason(
        "integer",
        "{detail}: integers and bools have no derivative.",
        "keep float32 or float64 along the whole path (tf.cast(x, tf.float32) for data, 1.0 for 1)",
    ),
    Reason(
        "shape-only",
        "{op} looks at the shape of its operand alone, not at its numbers.",
        "nothing, if that is meant; otherwise compute from the numbers of x",
    ),
    Reason(
        "custom-rule",
        "{op} has a gradient rule of its own, and {detail}.",
        "let the rule return a gradient for each argument, and pass tensors as arguments instead of capturing them",
    ),
    Reason(
        "python-function",
        "{op} calls a Python function, of which nothing is known but its result.",
        "functions of tf, or tf.primitive(fn, vjp), which gives the function a derivative",
    ),
    Reason("left-for-numpy", "{detail}: what is computed from plain numbers is a constant.", "{write}"),
    Reason(
        "assigned",
        "{source} was assigned to variable {variable}, and {target} read it from there: no derivative passes an "
        "assignment.",
        "compute with the tensor itself, and assign it to the variable for later only",
    ),
    # ---- None: no path at all
    Reason(
        "reversed",
        "{source} was computed from {target}: the two are the wrong way round.",
        "swap them: gradient(target, source) differentiates the first with respect to the second",
    ),
    Reason(
        "side-branch",
        "{source} and {target} were both computed from {shared}, but {target} not from {source}.",
        "differentiate with respect to the very tensor that was used; x[0], tf.identity(x) or v.read_value() written "
        "a second time is another tensor",
    ),
    Reason("other-graph", "{detail}.", "build both in one graph, or compute both eagerly on one tape"),
    Reason(
        "constant",
        "{target} is a constant: {detail}.",
        "compute the target from the source by functions of tf (or of NumPy, on the tensor itself)",
    ),
    Reason(
        "no-path",
        "{target} does not depend on {source}{detail}.",
        "look for the source that is meant: another variable or layer, or a branch of an `if` that was not taken; for "
        'zeros in place of None give unconnected_gradients="zero"',
    ),
    # ---- zero
    Reason(
        "zero-branch",
        "{op} took its result from elsewhere: {detail}.",
        "nothing, if that choice is meant; for a slope on both sides use a smooth function (tf.nn.softplus, a weighted "
        "sum)",
    ),
    Reason(
        "zero-mask",
        "{op} multiplies by zero{detail}.",
        "look at the mask, weight or factor that is zero (for a product of two zeros, at the initial values)",
    ),
    Reason("zero-slice", "{op}: {detail}.", "look at the indices, the mask or the length that choose the part"),
    Reason(
        "zero-flat",
        "{op} is flat where it was evaluated{detail}.",
        "keep its operand where there is a slope: normalize it, use tf.nn.leaky_relu or a loss on logits",
    ),
    Reason(
        "zero-cancelled",
        "the contributions to {source} cancel each other: there are {detail}.",
        "look whether something is subtracted from itself, normalized, or at a minimum, where zero is right",
    ),
    # ---- NaN and infinity
    Reason(
        "nan-input",
        "{op} holds {word} already when it is first used, at index {index}.",
        "clean the data, or the value fed, before it is used",
    ),
    Reason("nan-forward", "{op} made {word} at index {index} from {operands}.", "{write}"),
    Reason(
        "nan-backward",
        "all values are finite; the gradient of {op} made {word} at index {index}, where {operands}.",
        "{write}",
    ),
)

REASONS: dict[str, Reason] = {reason.code: reason for reason in _ALL}
