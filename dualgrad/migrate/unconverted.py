"""Constructs that `dualgrad convert` does not keep, with the way out, as it says and as `dualgrad check` foretells."""

from __future__ import annotations

from typing import Any

_QUEUE = "a queue that no runner fills: read with a tf.data.Dataset, and its loop will be kept"
_HOOK = "a hook that a plain loop does not replace: call in the loop what it does"
_GRAPH = (
    "it writes or reads the graph itself, of which there is none on tapes: leave it out, or keep it in the old program"
)
_NAMES = {
    _QUEUE: (
        "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue train.batch_join train.limit_epochs "
        "train.maybe_batch train.maybe_shuffle_batch train.shuffle_batch_join"
    ),
    _HOOK: "train.FinalOpsHook train.FeedFnHook",
    _GRAPH: "import_graph_def train.export_meta_graph train.import_meta_graph train.write_graph",
}
UNCONVERTED = {f"tf.{name}": said for said, names in _NAMES.items() for name in names.split()}
"""By public name: what it is, and what to do."""
_OPS = {
    "close_queue": _QUEUE,
    "put_elements": _QUEUE,
    "queue_is_closed": _QUEUE,
    "queue_size": _QUEUE,
    "take_elements": _QUEUE,
    "python_call": "py_func calls what has no name at the top of the program: write it as a function there",
}
_OPS["stateless_python_call"] = _OPS["python_call"]


def is_known(op: Any) -> bool:
    """Whether there is a way out for an op that cannot be written."""
    return op.name in _OPS


def why(op: Any) -> str:
    """The reason that an op cannot be written in tape code, and what to do.

    Parameters
    ----------
    op : Op
    """
    return _OPS.get(op.name, f"no public function makes {op.name!r}")
