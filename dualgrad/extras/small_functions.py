"""Short functions beside tensors that programs for TensorFlow call, made of a front end's own functions."""

from __future__ import annotations

import enum
import logging
import time
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.core.value import Value
from engine.runtime.errors import InvalidArgumentError, ShapeError


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several devices are brought together: there is one device."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable on several devices are brought together: there is one device."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def get_logger() -> logging.Logger:
    """The logger that is called ``tensorflow``."""
    return logging.getLogger("tensorflow")


def timestamp(tf: Any, name: str | None = None) -> Operand:
    """Seconds since 1970, as a float64 tensor of the time when this is called."""
    stamp: Operand = tf.constant(time.time(), tf.float64)
    return stamp


def type_spec_from_value(tf: Any, value: Any) -> Any:
    """The `TensorSpec` of a tensor, or of what becomes one."""
    tensor = value if isinstance(value, Value) else tf.convert_to_tensor(value)
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def non_max_suppression(
    tf: Any, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"), name: str | None = None,
) -> Operand:  # fmt: skip
    """Which boxes to keep: those of the highest scores that overlap none that is kept by more than a share.

    Parameters
    ----------
    boxes : tensor, shape (n, 4)
        ``y1, x1, y2, x2`` of two opposite corners.
    scores : tensor, shape (n,)
    max_output_size : int
    iou_threshold : float
        Boxes whose intersection is larger than this share of their union overlap too much.
    score_threshold : float
        Boxes of a lower score, or of this one, are left out.

    Returns
    -------
    int32 tensor
        Indices, in the order of the scores. Nothing is differentiated through them.

    Examples
    --------
    >>> import tape_api as tf
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [2.0, 2.0, 3.0, 3.0]]
    >>> tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7], 3).numpy().tolist()
    [0, 2]
    """
    if not 0 <= iou_threshold <= 1:
        raise InvalidArgumentError(
            f"non_max_suppression: argument `iou_threshold` must be in [0, 1], got {iou_threshold}"
        )

    def kept(boxes: np.ndarray, scores: np.ndarray, most: np.ndarray) -> np.ndarray:
        return _kept(boxes, scores, int(most), iou_threshold, score_threshold)

    boxes, scores = tf.convert_to_tensor(boxes), tf.convert_to_tensor(scores)
    most = tf.convert_to_tensor(max_output_size)
    chosen: Operand = tf.numpy_function(kept, [tf.stop_gradient(boxes), tf.stop_gradient(scores), most], tf.int32)
    return chosen


def _kept(boxes: np.ndarray, scores: np.ndarray, most: int, share: float, least: float) -> np.ndarray:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise ShapeError(
            f"non_max_suppression: `boxes` must have shape (n, 4) and `scores` (n,), got {boxes.shape} and "
            f"{scores.shape}"
        )
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = np.prod(high - low, 1)
    found: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(found) >= most or not scores[i] > least:
            break
        sides = np.minimum(high[i], high[found]) - np.maximum(low[i], low[found])
        common = np.prod(np.maximum(sides, 0), 1)
        union = areas[i] + areas[found] - common
        whole = (areas[i] > 0) & (areas[found] > 0)
        if not np.any(whole & (common > share * union)):
            found.append(int(i))
    return np.array(found, np.int32)
