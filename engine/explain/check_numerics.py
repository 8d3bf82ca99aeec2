"""`enable_check_numerics`: every op of the thread is looked at, forwards and backwards.

Like the witness of `engine.explain.witness`, a tape that follows nothing is told of every op, as of one "beside" what
it tracks. While it is there, gradients are walked node by node by ops, so that each step of a rule is seen as well.
Without it, nothing is looked at, and nothing costs anything.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from engine.core.detach import user_frame
from engine.core.eager import EagerTensor
from engine.core.op import Node
from engine.core.tape import Tape
from engine.derivatives.reverse import reverse
from engine.explain.evidence import array_of, op_label, site_text
from engine.explain.witness import Site
from engine.ops.checked import non_finite
from engine.runtime.errors import InvalidArgumentError

_MADE_AT = "_made_at"
"""The attribute of a tensor that says where it was made, while ops are looked at."""


class _Checks(dict[int, Any]):
    """Stands in for `Tape.nondifferentiable`, and looks at what each op made."""

    def __bool__(self) -> bool:
        return True

    def __contains__(self, key: object) -> bool:
        return True

    def __setitem__(self, key: int, entry: tuple[int, Node]) -> None:
        node = entry[1]
        frame = user_frame(sys._getframe(1))
        site = Site(frame.f_code.co_filename, frame.f_lineno)
        for out in node.outputs:
            array = array_of(out)
            if not isinstance(out, EagerTensor) or array is None:
                continue
            vars(out)[_MADE_AT] = site
            fault = non_finite(array)
            if fault is not None:
                raise InvalidArgumentError(_message(node, fault, site))


def _message(node: Node, found: str, site: Site) -> str:
    operands = ", ".join(_operand(node, k) for k in range(len(node.inputs)))
    forward = _differentiated(sys._getframe(1))
    if forward is None:
        where = f"{op_label(node)} ({site_text(site)})"
    else:
        made = vars(forward.outputs[0]).get(_MADE_AT) if isinstance(forward.outputs[0], EagerTensor) else None
        at = f", {site_text(made)}" if made is not None else ""
        where = f"{op_label(node)}, in the gradient of {op_label(forward)}{at} (asked for at {site_text(site)})"
    return f"{where} : Tensor had {found}. Operands: {operands}"


def _operand(node: Node, k: int) -> str:
    names = node.op.args
    name = names[k] if k < len(names) and not names[k].startswith("*") else f"operand {k}"
    array = array_of(node.inputs[k])
    if array is None or array.size == 0:
        return f"{name} {'' if array is None else array.shape}".rstrip()
    if array.size <= 8:
        return f"{name} = {array.tolist()}"
    if array.dtype.kind not in "fiu":
        return f"{name} of shape {array.shape}"
    return f"{name} of shape {array.shape}, between {array.min()} and {array.max()}"


def _differentiated(frame: FrameType | None) -> Node | None:
    """The node that a reverse walk is at, if this is one."""
    while frame is not None:
        if frame.f_code is reverse.__code__:
            node = frame.f_locals.get("node")
            return node if isinstance(node, Node) else None
        frame = frame.f_back
    return None


class _State(threading.local):
    tape: Tape | None = None


_state = _State()


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Look at the result of every eager op of this thread, and raise where one holds an infinity or a NaN.

    The error names the op, the line of the program and the operands; of an op in a gradient also the op whose gradient
    it is, and its line. Gradients are computed op by op meanwhile, which is slow. What SciPy's solvers call
    (`for_scipy`), and updates by optimizers, are not looked at. In a graph use `add_check_numerics_ops`.

    Parameters
    ----------
    stack_height_limit, path_length_limit : int
        Accepted for compatibility: the error names one line.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.math.log(tf.constant([1.0, -1.0]))
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(str(error).partition(" : ")[2])
    ... finally:
    ...     tf.debugging.disable_check_numerics()
    Tensor had NaN values, the first NaN at (1,). Operands: x = [1.0, -1.0]
    """
    if _state.tape is None:
        _state.tape = Tape(watch_accessed_variables=False)
        _state.tape.nondifferentiable = _Checks()
        _state.tape.start()


def disable_check_numerics() -> None:
    """Look at nothing any more."""
    if _state.tape is not None:
        _state.tape.stop()
        _state.tape = None
