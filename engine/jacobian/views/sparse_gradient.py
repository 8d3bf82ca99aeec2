"""The gradient of one scalar as a sparse row, which NumPy takes as a vector.

SciPy wants the gradient of an objective as a vector of shape (n,), and the Jacobian of a constraint as a matrix, sparse
if that of the other constraints is. The same function may be either. A sparse row whose ``__array__`` is the vector is
right in both places: who asks whether it is sparse is told so, who asks for an array gets the vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class _AsVector:
    toarray: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        dense = np.asarray(self.toarray(), dtype)
        return dense.reshape(-1) if len(dense) == 1 else dense


class CsrGradient(_AsVector, sparse.csr_array):  # type: ignore[misc]
    """A gradient of shape (1, n) in CSR format; an array of shape (n,) where NumPy asks for one."""


class CscGradient(_AsVector, sparse.csc_array):  # type: ignore[misc]
    """The same in CSC format."""


class CooGradient(_AsVector, sparse.coo_array):  # type: ignore[misc]
    """The same in COO format."""


SPARSE_GRADIENTS = {"csr": CsrGradient, "csc": CscGradient, "coo": CooGradient}
"""By the format asked for."""
