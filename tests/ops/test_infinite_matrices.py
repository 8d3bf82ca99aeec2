"""Decompositions of matrices with infinite elements: LAPACK's would not come back from some of them."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api

A = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 2.0], [-np.inf, -np.inf, -1.0], [3.0, -np.inf, 2.0]])
CALLS: dict[str, Any] = {
    "svd": lambda tf, x: tf.linalg.svd(x),
    "singular values": lambda tf, x: tf.linalg.svd(x, compute_uv=False),
    "pinv": lambda tf, x: tf.linalg.pinv(x),
    "rank": lambda tf, x: tf.linalg.matrix_rank(x),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_infinite_elements_are_refused(name: str, dtype: Any) -> None:
    with pytest.raises(Exception, match="infinite elements"):
        CALLS[name](tape_api, tape_api.constant(A.astype(dtype)))
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(dtype, [4, 3])
        y = CALLS[name](graph_api, x)
        with pytest.raises(Exception, match="infinite elements"):
            session.run(y, {x: A.astype(dtype)})
