"""The global step of TensorFlow 1's ``tf.train``, for programs of the time when eager execution was new."""

from __future__ import annotations

import numpy as np

from tape_api.variable import Variable

_global_step: dict[str, Variable] = {}
"""Empty, or the one there is: threads that make it at once share it, for `dict.setdefault` is one step."""


def create_global_step() -> Variable:
    """Make the variable that counts steps.

    Raises
    ------
    ValueError
        If there is one.
    """
    if _global_step:
        raise ValueError('"global_step" already exists.')
    return get_or_create_global_step()


def get_global_step() -> Variable | None:
    """The variable that counts steps, None if there is none."""
    return _global_step.get("global_step")


def get_or_create_global_step() -> Variable:
    """The variable that counts steps, made if there is none."""
    step = _global_step.get("global_step")
    if step is None:
        made = Variable(np.int64(0), trainable=False, name="global_step")
        step = _global_step.setdefault("global_step", made)
    return step


__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step"]
