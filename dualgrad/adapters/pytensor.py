"""PyTensor, and so PyMC and nutpie: a function of tensors as an op with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction


def op(function: SciPyFunction) -> Any:
    """An ``Op`` of a vector: one number of a scalar function, else a vector. Its gradient is an `Op`, too.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``.
    """
    from pytensor.gradient import grad_not_implemented
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op
    from pytensor.tensor import as_tensor_variable, dscalar, dvector

    products = function.like(format="operator", fixed_pattern=False)
    is_scalar = np.ndim(products.fun(products.x0)) == 0

    class Of(Op):  # type: ignore[misc]
        def __init__(self, compute: Callable[..., Any], kind: Any, pulled: Callable[..., Any]) -> None:
            self._compute, self._kind, self._pulled = compute, kind, pulled

        def make_node(self, *given: Any) -> Any:
            return Apply(self, [as_tensor_variable(x).astype("float64") for x in given], [self._kind()])

        def perform(self, node: Any, given: Any, outputs: Any) -> None:
            outputs[0][0] = np.asarray(self._compute(*given))

        def pullback(self, given: Any, outputs: Any, gradients: Any) -> list[Any]:
            return self._pulled(given, outputs, gradients)

        L_op = pullback  # before version 3

    def pulled(given: Any, outputs: Any, gradients: Any) -> list[Any]:
        return [backward(*given, *gradients)]

    def again(given: Any, outputs: Any, gradients: Any) -> list[Any]:
        return [grad_not_implemented(backward, i, x) for i, x in enumerate(given)]

    def pull(x: np.ndarray, ct: np.ndarray) -> np.ndarray:
        return ct * products.grad(x) if is_scalar else products.jac(x).rmatvec(ct)

    backward = Of(pull, dvector, again)
    return Of(products.fun, dscalar if is_scalar else dvector, pulled)
