"""`for_scipy` and `for_ode`: tensors of a graph as functions for SciPy's solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.errors import InvalidArgumentError
from engine.core.trace import constant_value
from engine.core.value import dtype_of
from engine.core.variable import tracked_value
from engine.jacobian.execution.compiled import Compiled
from engine.jacobian.late_specialisation import PathCopy, is_known
from engine.jacobian.planning.plan import Options
from engine.jacobian.structure.path import Path
from engine.jacobian.views.for_scipy import Derived, Evaluations, SciPyFunction, SciPyODE
from engine.ops.reduce import reduce_sum
from engine.symbolic import ancestors
from graph_api.convert import placeholder
from graph_api.defaults import session_for
from graph_api.gradients import graph_of
from graph_api.variable import Variable


class Fetched(Evaluations):
    """Tensors of a graph as a function of others, evaluated by a session.

    Beside the results, a session is asked for what the derivatives in use are computed from. So they cost no second
    evaluation.

    Parameters
    ----------
    ys, xs : list of tensor
    arguments : sequence of tensor
        What further arguments are fed to.
    session : Session, optional
    """

    def __init__(self, ys: list[Any], xs: list[Any], arguments: Sequence[Any], session: Any) -> None:
        self._graph = graph_of(ys, "y")
        self._ys, self._xs, self._arguments, self._session = ys, xs, list(arguments), session
        self._wanted: dict[int, Any] = {}
        self._arrays: dict[int, Any] = {}
        self._feed: dict[Any, Any] = {}
        self._made: dict[Any, _Derivative] = {}
        self._weights: list[Any] = []
        self._sums: list[Any] = []

    def evaluate(self, parts: Sequence[np.ndarray], args: Sequence[Any]) -> list[np.ndarray]:
        """Feed a point, fetch the results."""
        if len(args) != len(self._arguments):
            raise InvalidArgumentError(f"for_scipy: expected {len(self._arguments)} further arguments; got {len(args)}")
        self._feed = dict(zip([*self._xs, *self._arguments], [*parts, *args], strict=True))
        self._arrays = {}
        return [np.asarray(a) for a in self._fetched(self._ys, self._wanted.values())]

    def derived(self, make: Callable[..., Compiled], options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative at the point fed last."""
        key = make, options, ends
        if key not in self._made:
            ys, xs = (self._ys, self._xs) if ends is None else ([self._ys[ends[0]]], [self._xs[ends[1]]])
            self._made[key] = _Derivative(_path(ys, xs), make, options, sparsity)
        return self._made[key].at(self._kept(self._made[key].tensors))

    def weighted(self, make: Callable[..., Compiled], options: Options, weights: Sequence[np.ndarray]) -> Derived:
        """The same for the weighted sum, which becomes part of the graph."""
        if not self._sums:
            with self._graph.as_default():
                self._weights = [placeholder(y.dtype, w.shape) for y, w in zip(self._ys, weights, strict=True)]
            self._sums = [reduce_sum(y * w) for y, w in zip(self._ys, self._weights, strict=True)]
        key = make, options, "weighted"
        if key not in self._made:
            self._made[key] = _Derivative(_path(self._sums, self._xs), make, options, None)
        tensors = self._made[key].tensors
        return self._made[key].at(self._run(tensors, dict(zip(self._weights, weights, strict=True))))

    def path(self) -> Path:
        """The way in the graph."""
        path = _path(self._ys, self._xs)
        if is_known(path):
            return path
        copy = PathCopy(path)
        return copy.filled(_avals(self._kept([path.values[k] for k in copy.taken])))[2]

    def _kept(self, tensors: Sequence[Any]) -> list[Any]:
        """Arrays of tensors at this point. What is asked for once is fetched with the results from then on."""
        missing = [t for t in tensors if id(t) not in self._arrays]
        if missing:
            self._wanted.update({id(t): t for t in missing})
            self._fetched([], missing)
        return [self._arrays[id(t)] for t in tensors]

    def _fetched(self, results: Sequence[Any], also: Any) -> list[Any]:
        """Results, and what is kept for derivatives."""
        also = list(also)
        found = self._run([*results, *also], {})
        self._arrays.update(zip(map(id, also), found[len(results) :], strict=True))
        return found[: len(results)]

    def _run(self, tensors: Sequence[Any], feed: dict[Any, Any]) -> list[Any]:
        session = session_for(self._graph, self._session, "evaluate a function for SciPy")
        return session.run(list(tensors), {**self._feed, **feed})


class _Derivative:
    """A derivative on a path, compiled once; where shapes are not known, once for each combination of shapes.

    Attributes
    ----------
    tensors : list of tensor
        What it takes, or what tells the shapes.
    """

    def __init__(self, path: Path, make: Callable[..., Compiled], options: Options, sparsity: Any) -> None:
        self._make = make, options, sparsity
        self._copy = None if is_known(path) else PathCopy(path)
        self._compiled: dict[Any, tuple[Compiled, list[int], list[Any]]] = {}
        if self._copy is None:
            what = make(path, options, sparsity)
            self.tensors = [path.values[slot] for slot in what.arguments]
            self._compiled[None] = what, list(range(len(self.tensors))), []
        else:
            self.tensors = [path.values[k] for k in self._copy.taken]

    def at(self, arrays: Sequence[Any]) -> Derived:
        """The derivative for arrays of the tensors."""
        key = None if self._copy is None else tuple([np.shape(a) for a in arrays])
        if key not in self._compiled:
            self._compiled[key] = self._for_shapes(arrays)
        what, taken, constants = self._compiled[key]
        pool = [*arrays, *constants]
        return what, [pool[i] for i in taken]

    def _for_shapes(self, arrays: Sequence[Any]) -> tuple[Compiled, list[int], list[Any]]:
        """The derivative, which of the arrays, or of the constants after them, it takes, and these constants."""
        assert self._copy is not None
        make, options, sparsity = self._make
        _, parameters, path = self._copy.filled(_avals(arrays))
        what = make(path, options, sparsity)
        place = {id(p): i for i, p in enumerate(parameters)}
        constants: list[Any] = []
        for x in [path.values[slot] for slot in what.arguments]:
            if id(x) not in place:
                place[id(x)] = len(arrays) + len(constants)
                constants.append(constant_value(x))
        if any(c is None for c in constants):
            raise InvalidArgumentError(
                "for_scipy: `y` is made of a Jacobian of unknown shape; set the shapes with set_shape"
            )
        return what, [place[id(path.values[slot])] for slot in what.arguments], [np.asarray(c) for c in constants]


def _path(ys: Sequence[Any], xs: Sequence[Any]) -> Path:
    return Path(ancestors(ys), [tracked_value(x) for x in xs], ys)


def _avals(arrays: Sequence[Any]) -> list[Aval]:
    return [Aval(np.shape(a), as_dtype(a.dtype)) for a in arrays]


def for_scipy(
    y: Any,
    x: Any,
    x0: Any = None,
    *,
    args: Sequence[Any] = (),
    session: Any = None,
    format: str = "dense",
    mode: str = "auto",
    sparsity: Any = None,
    max_bytes: int | None = None,
    executor: Any = None,
) -> SciPyFunction:
    """`y` as a function of `x` as `scipy.optimize` wants it: NumPy in, NumPy out, with all derivatives.

    Parameters
    ----------
    y : tensor, or structure of tensors
        A scalar (to minimize), or residuals or constraints.
    x : tensor, variable, or structure of these
        SciPy's flat vectors are unpacked and fed for them; variables keep their values.
    x0 : structure like `x`, optional
        The initial point. By default the variables' values in the session.
    args : sequence of tensor
        Placeholders to feed the further arguments of SciPy's solvers to.
    session : Session, optional
        By default the default session of the time of each evaluation.
    format : "dense", "csr", "csc", "coo" or "operator"
        Of Jacobians and Hessians. SciPy takes sparse ones in `least_squares`, in `solve_ivp` by BDF and Radau, and in
        `minimize` by Newton-CG and trust-constr (with trust-ncg and trust-krylov use `hessp` or ``"dense"``); operators
        in `least_squares` and in `minimize` by trust-constr; in `root` dense ones only.
    mode, sparsity, max_bytes, executor
        As in `jacobian`.

    Returns
    -------
    SciPyFunction
        With the methods ``fun``, ``jac`` (the gradient of a scalar), ``fun_and_jac``, ``grad``, ``hess``, ``hessp``,
        ``weighted_hess`` (of constraints), ``jac_sparsity`` and ``unpacked``, and the flat vector ``x0``.

    Examples
    --------
    >>> import numpy as np
    >>> import graph_api as tf
    >>> from scipy.optimize import root
    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.placeholder(tf.float64, [2])
    ...     y = tf.stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] - x[1]])
    ...     p = tf.for_scipy(y, x, [1.0, 2.0])
    ...     root(p.fun, p.x0, jac=p.jac).x.round(6)
    array([1.414214, 1.414214])
    """
    targets = [t.read_value() if isinstance(t, Variable) else t for t in nest.flatten(y)]
    sources = nest.flatten(x)
    graph_of(sources, "x")
    evaluations = Fetched(targets, sources, args, session)
    if x0 is None:
        if not all(isinstance(s, Variable) for s in sources):
            raise InvalidArgumentError("for_scipy: argument `x0` is needed: not all of `x` are variables")
        x0 = session_for(graph_of(sources, "x"), session, "read the initial point").run(x)
    try:
        arrays = [np.asarray(a, dtype_of(s).numpy) for a, s in zip(_parts(x, x0), sources, strict=True)]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidArgumentError(f"for_scipy: `x0` must have the structure of `x`; got {x0!r}: {error}") from error
    options: dict[str, Any] = {"format": format, "mode": mode, "max_bytes": max_bytes, "executor": executor}
    pack: Callable[[list[Any]], Any] = lambda parts: nest.pack_sequence_as(x, parts)  # noqa: E731
    return SciPyFunction(evaluations, arrays, pack, sparsity=sparsity, **options)


def for_ode(dydt: Any, y: Any, y0: Any = None, *, t: Any = None, args: Sequence[Any] = (), **options: Any) -> SciPyODE:
    """The right-hand side of an ordinary differential equation for `scipy.integrate.solve_ivp`, with its Jacobian.

    Parameters
    ----------
    dydt : tensor, or structure of tensors
        Of the shapes of `y`.
    y : tensor, variable, or structure of these
    y0 : structure like `y`, optional
        The initial point.
    t : tensor, optional
        What the time is fed to.
    args : sequence of tensor
        Placeholders to feed further arguments to.
    **options
        As in `for_scipy`. BDF, Radau and LSODA take Jacobians, the former two sparse ones as well.

    Returns
    -------
    SciPyODE
        With the methods ``fun(t, y)``, ``jac(t, y)``, ``jac_sparsity()`` and ``unpacked``, and the flat vector ``y0``.
    """
    if t is None:
        source = nest.flatten(y)[0]
        with graph_of([source], "y").as_default():
            t = placeholder(dtype_of(source), [])
    return SciPyODE(for_scipy(dydt, y, y0, args=[t, *args], **options))


def _parts(x: Any, x0: Any) -> list[Any]:
    """What `x0` gives for each leaf of the structure `x`."""
    if isinstance(x, Mapping):
        return [part for key in sorted(x) for part in _parts(x[key], x0[key])]
    if isinstance(x, (list, tuple)):
        return [part for one, given in zip(x, x0, strict=True) for part in _parts(one, given)]
    return [x0]
