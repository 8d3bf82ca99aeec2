"""``tf.sparse`` of eager tensors: `dualgrad.sparse`."""

from __future__ import annotations

import tape_api
from dualgrad.frontend.bound import bound
from dualgrad.sparse import functions
from dualgrad.sparse.functions import *  # noqa: F403 - all that it has
from dualgrad.sparse.sparse_tensor import SparseTensor as AnySparseTensor


class SparseTensor(AnySparseTensor):
    """A tensor that is zero but for some elements (`dualgrad.sparse.sparse_tensor.SparseTensor`), of eager tensors."""

    tf = tape_api


from_dense = bound(functions.from_dense, tape_api)
eye = bound(functions.eye, tape_api)


__all__ = ["SparseTensor", "eye", "from_dense"]
__all__ += functions.__all__
