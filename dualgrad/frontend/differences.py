"""Where a name of TensorFlow's does here what it does not do there: one sentence each, which docs/differences.md holds.

A key is a name below ``tf.``, or ``Class.method``.
"""

from __future__ import annotations

_NAN = "Where they did not select an element, its derivative is 0, even if the incoming gradient is NaN."
_OVERWRITTEN = "Updates that others overwrite get no gradient; TensorFlow gives them one."
_ROWS = (
    "A gradient of gathered rows stays an `IndexedSlices` through sums, clipping and optimizers, without a warning."
    " Keras's optimizers square rows of equal index one by one, as Keras 3 does; TensorFlow 1's add them up first."
)
_SHAPES = "It accepts some shapes that TensorFlow refuses, where they can mean only one thing"

DIFFERENCES: dict[str, str] = {
    "GradientTape.batch_jacobian": (
        "It refuses targets whose rows depend on each other's sources, and names the op that mixes them, instead of"
        " returning a wrong answer."
    ),
    "bfloat16": "The name is there to compare with; NumPy has no such type.",
    "norm": "Its derivative at 0 is 0.",
    "linalg.norm": "Its derivative at 0 is 0.",
    "cumprod": "Its derivative is right where a factor is 0.",
    "math.cumprod": "Its derivative is right where a factor is 0.",
    "nn.relu": _NAN,
    "reduce_max": _NAN,
    "math.reduce_max": _NAN,
    "math.divide_no_nan": _NAN,
    "div_no_nan": _NAN,
    "tensor_scatter_nd_update": _OVERWRITTEN,
    "dynamic_stitch": _OVERWRITTEN,
    "gather": _ROWS,
    "nn.embedding_lookup": _ROWS,
    "nn.bias_add": _SHAPES,
    "linalg.cross": _SHAPES,
    "searchsorted": _SHAPES,
    "linalg.band_part": _SHAPES,
}


def difference(name: str) -> str | None:
    """The known difference from TensorFlow; None if there is none.

    Parameters
    ----------
    name : str
        Such as ``"linalg.norm"`` or ``"GradientTape.batch_jacobian"``.

    Examples
    --------
    >>> difference("norm")
    'Its derivative at 0 is 0.'
    >>> difference("sin") is None
    True
    """
    return DIFFERENCES.get(name)
