"""How our ops are written as TensorFlow's: with which a row says so, kept in `exporting.WAYS`.

A way writes a node. Where TensorFlow's op does not do what ours does with such parameters, it raises `Own`, and an op
of ours is written. Ops on leading axes of a batch, which TensorFlow's do not know, are always written so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.core.dtypes import as_dtype
from engine.core.op import Op
from graph_api.graph_files.exporting import WAYS, Own, Source

Way = Callable[[Source], None]


def way(*ops: Op) -> Callable[[Way], Way]:
    """Decorator: how some ops are written."""

    def register(function: Way) -> Way:
        for op in ops:
            if WAYS.setdefault(id(op), function) is not function:
                raise ValueError(f"there are two ways to write {op}")
        return function

    return register


# ---- one op for one op -----------------------------------------------------------------------------------------------


def same(*ops: Op, by: str = "T=0") -> None:
    """Register ops whose nodes differ in nothing from TensorFlow's, but for the attributes that `by` says.

    ``"Type axis@axis T=0 Tidx=int32 N=N keep_dims=.keepdims Tout=out"``: the op type if it is another one than the
    op's, a parameter as a further operand, the dtype of an operand or of the first result, a dtype, the number of
    operands, a parameter (``?full`` as a bool).
    """
    kind = next((word for word in by.split() if "=" not in word and "@" not in word), "")
    attributes = [word.split("=") for word in by.split() if "=" in word]
    constants = [word.split("@") for word in by.split() if "@" in word]

    def write(s: Source) -> None:
        further = [s.const(name, s.node.params[parameter]) for name, parameter in constants]
        s.main(kind or s.node.op.type, [*s.inputs, *further], **{n: _attribute(s, text) for n, text in attributes})

    way(*ops)(write)


def _attribute(s: Source, text: str) -> Any:
    if text.isdigit():
        return s.dtype(int(text))
    if text[0] in ".?":
        value = s.node.params.get(text[1:])
        return bool(value) if text[0] == "?" else list(value) if isinstance(value, tuple) else value
    known = {"out": s.node.outputs[0].dtype, "N": len(s.inputs), "yes": True, "no": False, "zero": 0}
    return known[text] if text in known else as_dtype(text)


def axes(s: Source) -> tuple[int, ...]:
    """The axes along which an op reduces."""
    axis, dims = s.node.params["axis"], s.shape()
    if axis is None:
        if dims is None:
            raise Own
        return tuple(range(len(dims)))
    return axis if isinstance(axis, tuple) else (axis,)


# ---- one op for several ----------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """An op of TensorFlow's on operands, each the name of an output, a number or another call."""

    type: str
    operands: tuple[Any, ...]


class _Types:
    """TensorFlow's op types as functions that make calls."""

    def __getattr__(self, name: str) -> Callable[..., Call]:
        return lambda *operands: Call(name, operands)


tf: Any = _Types()


def formula(op: Op, made_of: Callable[..., Call]) -> None:
    """Register an op that is a formula of TensorFlow's ops on its operands; all are of the dtype of the first one."""

    def write(s: Source) -> None:
        call = made_of(*s.inputs)
        s.main(call.type, [operand(s, x) for x in call.operands], **_typed(s, call))

    way(op)(write)


def operand(s: Source, x: Any) -> str:
    """Write what a call needs; its name."""
    if isinstance(x, str):
        return x
    if isinstance(x, Call):
        return s.step(x.type.lower(), x.type, [operand(s, y) for y in x.operands], **_typed(s, x))
    return s.const("number", x, s.dtype().numpy)


def _typed(s: Source, call: Call) -> dict[str, Any]:
    return {} if call.type.startswith("Logical") else {"T": s.dtype()}
