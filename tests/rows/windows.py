"""Rows of `engine.ops.windows`."""

import numpy as np

from engine.ops import windows
from engine.ops.windows import Windows
from tests.row import Row, fixed, offered, real

DILATED = [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "VALID"
SIZE = {"size": (2, 3), "windows": Windows((2, 1), "SAME", (1, 1))}

ROWS = (
    Row(
        windows.extract_patches_op,
        (real(2, 3, 4, 2),),
        SIZE,
        tf=lambda tf, x: tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1], "SAME"),
    ),
    offered(
        windows.extract_patches_op, windows.extract_patches, (real(2, 5, 4, 2),), *DILATED, tf="image.extract_patches"
    ),
    Row(windows.extract_patches_op, (real(0, 3, 4, 2),), SIZE, label="no images"),
    Row(windows.overlay_patches_op, (real(2, 2, 4, 12), fixed([2, 3, 4, 2], np.int32)), SIZE),
)
