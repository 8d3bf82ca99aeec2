"""``tf.compat.v1.train.Saver`` on eager variables: checkpoints by names, as graph programs write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualgrad.files.saver import BaseSaver
from tape_api.in_place import held, put

__all__ = ["Saver"]


class Saver(BaseSaver):
    """Saves variables to checkpoints by their names, and restores them.

    The files are those of `graph_api`'s and TensorFlow's savers. There are no sessions: the argument `sess` is None.

    Parameters
    ----------
    var_list : list of variables, or dict of name to variable
        What is saved. A tape has no list of all variables, so it must be given.
    **options
        As for `graph_api.train.Saver`.

    Raises
    ------
    RuntimeError
        If `var_list` is left out.

    Examples
    --------
    >>> import os, tempfile
    >>> import tape_api as tf
    >>> w = tf.Variable([1.0, 2.0], name="w")
    >>> saver = tf.compat.v1.train.Saver({"w": w})
    >>> path = saver.save(None, os.path.join(tempfile.mkdtemp(), "model.ckpt"), global_step=3)
    >>> _ = w.assign([0.0, 0.0])
    >>> saver.restore(None, path)
    >>> print(os.path.basename(path), w.numpy())
    model.ckpt-3 [1. 2.]
    """

    def __init__(self, var_list: Any = None, **options: Any) -> None:
        if var_list is None and not options.get("defer_build"):
            raise RuntimeError(
                "Saver: argument `var_list` must be given: when eager execution is on, no graph knows all variables"
            )
        super().__init__(var_list, **options)

    def _values(self, sess: Any, variables: Sequence[Any]) -> list[Any]:
        return [held(variable) for variable in variables]

    def _assign(self, sess: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
        put(variables, values)
