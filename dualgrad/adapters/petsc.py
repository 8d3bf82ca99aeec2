"""PETSc, by petsc4py: SNES, TS and TAO for functions that each rank gives of its own cells.

Rows and columns find their places by the local-to-global map once; from then on the entries of a Jacobian go into
PETSc's matrix in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.errors import InvalidArgumentError


class Rows:
    """A rank's rows of a system of equations, or of the Hessian of its part of an objective, as PETSc calls them.

    It is also the context of a matrix (``Mat().createPython``): the Jacobian where the solver is, without its entries.

    Parameters
    ----------
    function : SciPyFunction
        Of the local vector; with `copies`, of so many of them, one behind the other.
    layout, args, matrix_free
        See `snes`.
    copies : int
    derivative : "jac" or "hess"
        With ``"hess"`` there is a row for each element of the local vector, and what the ranks have is added up.
    """

    def __init__(
        self, function: SciPyFunction, layout: Any, args: Any, matrix_free: bool, copies: int, derivative: str
    ) -> None:
        from petsc4py import PETSc

        if PETSc.ScalarType is not np.float64 or not layout.getLGMap():
            raise InvalidArgumentError(
                f"petsc: needs a PETSc of float64, got {PETSc.ScalarType.__name__}, and a DM, or a vector with ghosts "
                f"(Vec().createGhost), got {type(layout).__name__}"
            )
        self.function = function.like(format="operator" if matrix_free else "csr", fixed_pattern=not matrix_free)
        self.petsc, self.layout, self._derivative = PETSc, layout, derivative
        self.vector = layout.createGlobalVec() if isinstance(layout, PETSc.DM) else layout.duplicate()
        self._own = np.arange(*self.vector.getOwnershipRange(), dtype=PETSc.IntType)
        self._places = layout.getLGMap().getIndices()
        found = function.x0.size, np.size(self.function.fun(function.x0, *args))
        expected = copies * self._places.size, self._own.size if derivative == "jac" else 1
        self._shares = PETSc.Vec().createMPI((1, None), comm=self.vector.comm)
        self._shares.setArray([found != expected])
        # on all ranks, or the others would wait
        if wrong := int(self._shares.sum()):
            raise InvalidArgumentError(
                f"petsc: the function does not fit on {wrong} of the ranks. On rank {self.vector.comm.rank} it must "
                f"take {expected[0]} numbers ({copies} local vector(s), with ghosts) and give {expected[1]}; it takes "
                f"{found[0]} and gives {found[1]}"
            )
        # what is no unknown, such as boundary values, stays as it is in the example point
        self._point, self._local = function.x0.copy(), np.zeros(self._places.size)
        inside = np.flatnonzero(self._places >= 0).astype(PETSc.IntType)
        ends = [PETSc.IS().createGeneral(i, PETSc.COMM_SELF) for i in (self._places[inside], inside)]
        self._parts = [
            PETSc.Vec().createWithArray(part, comm=PETSc.COMM_SELF)
            for part in (self._local, *np.split(self._point, copies))
        ]
        self._scatter = PETSc.Scatter().create(self.vector, ends[0], self._parts[0], ends[1])
        self.matrix = PETSc.Mat().create(self.vector.comm)
        self.matrix.setSizes((self.vector.getSizes(),) * 2, self.vector.getBlockSize())
        if matrix_free:
            self.matrix.setType("python")
            self.matrix.setPythonContext(self)
            self.matrix.setUp()
        else:
            self.matrix.setFromOptions()
            self._preallocate()

    def _preallocate(self) -> None:
        pattern = self.function.jac_sparsity() if self._derivative == "jac" else self.function.hess_sparsity()
        rows, columns = pattern.tocoo().coords
        self._copy, at = np.divmod(columns, max(self._places.size, 1))
        i, j = (self._own if self._derivative == "jac" else self._places)[rows], self._places[at]
        # factorizations want the whole diagonal
        lacks, own = np.ones(self._own.size, bool), i[i == j] - self._own[:1].sum()
        lacks[own[(own >= 0) & (own < lacks.size)]] = False
        rest = self._own[lacks]
        self._entries = np.zeros(i.size + rest.size)
        self.matrix.setPreallocationCOO(np.concatenate([i, rest]), np.concatenate([j, rest]))

    def solver(self, kind: str) -> Any:
        """A solver on these ranks; with a DM it can have multigrid."""
        made = getattr(self.petsc, kind)().create(self.vector.comm)
        if kind != "TAO" and isinstance(self.layout, self.petsc.DM):
            made.setDM(self.layout)
        return made

    # ---- what the solvers call ---------------------------------------------------------------------------------------

    def residual(self, snes: Any, x: Any, f: Any, *args: Any) -> None:
        """``f = F(x)``."""
        f.setArray(self.function.fun(self._at(x), *args))

    def i_function(self, ts: Any, t: float, u: Any, slope: Any, f: Any, *args: Any) -> None:
        """``f = F(t, u, du/dt)``."""
        f.setArray(self.function.fun(self._at(u, slope), t, *args))

    def objective_gradient(self, tao: Any, x: Any, g: Any, *args: Any) -> float:
        """The sum over the ranks, and its gradient in `g`."""
        value, gradient = self.function.fun(self._at(x), *args), self.function.grad(self._point, *args)
        self._add(gradient, g)
        self._shares.setArray([value])
        return self._shares.sum()

    def derivative(self, solver: Any, x: Any, J: Any, P: Any, *args: Any) -> None:
        """The Jacobian, or the Hessian."""
        self._give(J, P, self._at(x), args, (1.0,))

    def i_jacobian(self, ts: Any, t: float, u: Any, slope: Any, shift: float, J: Any, P: Any, *args: Any) -> None:
        """``dF/du + shift dF/d(du/dt)``."""
        self._give(J, P, self._at(u, slope), (t, *args), (1.0, shift))

    def mult(self, matrix: Any, x: Any, y: Any) -> None:
        """The product with a vector."""
        self._local.fill(0.0)
        self._scatter.scatter(x, self._parts[0])
        product = self._operator @ np.concatenate([w * self._local for w in self._weights])
        if self._derivative == "jac":
            y.setArray(product)
        else:
            self._add(product, y)

    def multTranspose(self, matrix: Any, x: Any, y: Any) -> None:
        """The product of the transpose with a vector."""
        if self._derivative == "hess":
            return self.mult(matrix, x, y)
        parts = (self._operator.T @ x.getArray(readonly=True)).reshape(len(self._weights), -1)
        return self._add(self._weights @ parts, y)

    # ---- between local and global ------------------------------------------------------------------------------------

    def _at(self, *vectors: Any) -> np.ndarray:
        for vector, part in zip(vectors, self._parts[1:], strict=True):
            self._scatter.scatter(vector, part)
        return self._point

    def _add(self, local: np.ndarray, y: Any) -> None:
        """Add up what the ranks have for each unknown."""
        self._local[:] = local
        y.zeroEntries()
        self._scatter.scatter(self._parts[0], y, self.petsc.InsertMode.ADD, self.petsc.ScatterMode.REVERSE)

    def _give(self, J: Any, P: Any, point: np.ndarray, args: Sequence[Any], weights: Sequence[float]) -> None:
        found = getattr(self.function, self._derivative)(point, *args)
        self._operator, self._weights = found, np.array(weights)
        if P.getType() != "python":
            self._entries[: found.nnz] = found.data if len(weights) == 1 else found.data * self._weights[self._copy]
            P.setValuesCOO(self._entries)
        if J.getType() == "mffd":
            J.assemble()


def snes(function: SciPyFunction, layout: Any, args: Sequence[Any] = (), matrix_free: bool = False) -> Any:
    """A solver of equations, with the exact Jacobian of each rank's rows: ``solve(None, x)``.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``, of a rank's local vector, ghosts included: the residual of the rank's own cells.
    layout : petsc4py.PETSc.DM or Vec
        Where local elements are in global vectors: a DMDA, a DMPlex with a section, any DM with a local-to-global map;
        or of a plain split of the rows a vector with ghosts, ``Vec().createGhost(ghosts, (own, None))``. Local elements
        that are no unknowns (beyond the edges of a DMDA, constrained in a section) stay as they are in the example
        point.
    args : sequence
        Further arguments of the function.
    matrix_free : bool
        Whether the solver gets products with the Jacobian and with its transpose in place of a matrix.

    Returns
    -------
    petsc4py.PETSc.SNES

    Examples
    --------
    Bratu's problem on a grid that is 0 at its edges, on any number of ranks::

        grid = PETSc.DMDA().create([200, 200], stencil_width=1, boundary_type=("ghosted", "ghosted"))
        shape = [end - start for start, end in reversed(grid.getGhostRanges())]

        def residual(u):
            inner, around = u[1:-1, 1:-1], u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return 4.0 * inner - around - 6.0 / 201**2 * tf.exp(inner)

        solver = petsc.snes(tf.for_scipy(residual, np.zeros(shape)), grid)
        solver.solve(None, x := grid.createGlobalVec())
    """
    rows = Rows(function, layout, args, matrix_free, 1, "jac")
    solver = rows.solver("SNES")
    solver.setFunction(rows.residual, rows.vector, args)
    solver.setJacobian(rows.derivative, rows.matrix, rows.matrix, args)
    return solver


def ts(function: SciPyFunction, layout: Any, args: Sequence[Any] = (), matrix_free: bool = False) -> Any:
    """An implicit solver of ``F(t, u, du/dt) = 0``, of ordinary or differential-algebraic equations: ``solve(u)``.

    Parameters
    ----------
    function : SciPyFunction
        ``for_scipy(lambda state, t: F(t, *state), (u, slope))`` of two local vectors.
    layout, args, matrix_free
        See `snes`.
    """
    rows = Rows(function, layout, (0.0, *args), matrix_free, 2, "jac")
    solver = rows.solver("TS")
    solver.setIFunction(rows.i_function, rows.vector, args)
    solver.setIJacobian(rows.i_jacobian, rows.matrix, rows.matrix, args)
    return solver


def tao(function: SciPyFunction, layout: Any, args: Sequence[Any] = (), matrix_free: bool = False) -> Any:
    """An optimizer of a sum over the ranks, with its gradient and Hessian: ``solve(x)``.

    Parameters
    ----------
    function : SciPyFunction
        Of ``for_scipy``, of a rank's local vector: the rank's part of the objective, a number.
    layout, args, matrix_free
        See `snes`.
    """
    rows = Rows(function, layout, args, matrix_free, 1, "hess")
    solver = rows.solver("TAO")
    solver.setObjectiveGradient(rows.objective_gradient, rows.vector, args)
    solver.setHessian(rows.derivative, rows.matrix, rows.matrix, args)
    return solver
