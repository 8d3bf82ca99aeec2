"""Names of operations: which are valid, and what TensorFlow calls an operation that was given none."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def check_name(what: str, name: str, within: str) -> None:
    """Raise unless the name is one that TensorFlow allows: the first character of a whole name is narrower."""
    if not isinstance(name, str):
        raise TypeError(f"argument `name` must be a string, got {name!r}")
    if not _NAME.fullmatch(name.removesuffix("/")) or (not within and name[:1] in "_\\/>-"):
        raise ValueError(
            f"'{name}' is not a valid {what} name: it may consist of letters, digits and the characters _ . \\ / > -, "
            f"and must begin with a letter, a digit or a dot"
        )


# TensorFlow's default names of operations, where these are not their types
PLAIN_NAMES = {
    "AddV2": "Add", "ConcatV2": "concat", "GatherV2": "GatherV2", "Pack": "stack", "SelectV2": "SelectV2",
    "Split": "split", "SplitV": "split", "Unpack": "unstack", "RealDiv": "truediv", "Range": "range",
    "OneHot": "one_hot", "StridedSlice": "strided_slice", "Transpose": "transpose", "ZerosLike": "zeros_like",
    "OnesLike": "ones_like", "LogSumExp": "ReduceLogSumExp", "ClipByValue": "clip_by_value", "PadV2": "Pad",
    "FloorDiv": "floordiv", "BooleanMask": "boolean_mask",
}  # fmt: skip
