"""Pygmo."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction


class Problem:
    """A problem for ``pygmo.problem``, with gradients, Hessians and their patterns.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``: it gives the objective, or ``(objective, equations, inequalities)``. Equations are to be 0,
        inequalities at most 0.
    lb, ub : array or number
        Bounds of the point.
    """

    def __init__(self, function: SciPyFunction, lb: Any, ub: Any) -> None:
        self.function = function.like(format="csr", fixed_pattern=True)
        self.function.fun(function.x0)
        n, sizes = function.x0.size, [np.size(p.fun(function.x0)) for p in self.function.parts()]
        if len(sizes) not in (1, 3):
            raise ValueError(
                f"pygmo: the function must give (objective, equations, inequalities), not {len(sizes)} results"
            )
        self._bounds = np.full(n, lb, np.float64), np.full(n, ub, np.float64)
        self._sizes = [*sizes, 0, 0][:3]

    def fitness(self, x: np.ndarray) -> np.ndarray:
        """The objective and the constraints."""
        return np.atleast_1d(self.function.fun(x))

    def get_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of the point."""
        return self._bounds

    def get_nec(self) -> int:
        """The number of equations."""
        return self._sizes[1]

    def get_nic(self) -> int:
        """The number of inequalities."""
        return self._sizes[2]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The entries of the Jacobian, row by row."""
        return self.function.jac(x).data

    def gradient_sparsity(self) -> np.ndarray:
        """Their rows and columns."""
        return np.stack(self.function.jac_sparsity().tocoo().coords, 1)

    def hessians(self, x: np.ndarray) -> list[np.ndarray]:
        """For each row the entries of its Hessian on and below the diagonal."""
        return [self.function.weighted_hess(x, v, triangle="lower").data for v in np.eye(sum(self._sizes))]

    def hessians_sparsity(self) -> list[np.ndarray]:
        """Their rows and columns: those of a sum of all."""
        return [np.stack(self.function.hess_sparsity(triangle="lower").tocoo().coords, 1)] * sum(self._sizes)


def problem(function: SciPyFunction, lb: Any, ub: Any, tol: float = 1e-6) -> Any:
    """The ``pygmo.problem`` of a function and its bounds, see `Problem`; `tol` is by how much constraints may miss.

    With pygmo's own tolerance of 0 a population keeps the start in place of any result that misses by a bit.
    """
    import pygmo

    made = pygmo.problem(Problem(function, lb, ub))
    made.c_tol = tol
    return made
