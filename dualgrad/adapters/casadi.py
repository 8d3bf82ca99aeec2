"""CasADi: a function of tensors in its expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction


def callback(function: SciPyFunction, name: str = "f", **options: Any) -> Any:
    """A ``casadi.Callback`` of a column, with its Jacobian in CasADi's sparse columns.

    CasADi holds no reference to callbacks: keep what is returned as long as something uses it.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``.
    name : str
        CasADi's name for it.
    **options
        As of ``casadi.Callback.construct``.
    """
    import casadi

    columns = function.like(format="csc", fixed_pattern=True)
    rows, n = np.size(columns.fun(columns.x0)), columns.x0.size
    pattern = columns.jac_sparsity()
    layout = casadi.Sparsity(rows, n, pattern.indptr.tolist(), pattern.indices.tolist())

    class Jacobian(casadi.Callback):  # type: ignore[misc]
        def get_n_in(self) -> int:
            return 2

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(rows if i else n, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return layout

        def eval(self, given: Any) -> list[Any]:
            return [casadi.DM(layout, columns.jac(given[0].full().ravel()).data)]

    class Function(Jacobian):
        def get_n_in(self) -> int:
            return 1

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(rows, 1)

        def eval(self, given: Any) -> list[Any]:
            return [columns.fun(given[0].full().ravel())]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, names_in: Any, names_out: Any, options: Any) -> Any:
            self.derivative = Jacobian()
            self.derivative.construct(name, options)
            return self.derivative

    made = Function()
    made.construct(name, options)
    return made
