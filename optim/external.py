"""SciPy's minimizers for variables: `minimize` in both modes, and TensorFlow 1's `ScipyOptimizerInterface`.

SciPy sees functions of one flat vector (`engine.jacobian.views.for_scipy`): the loss with its exact gradient, exact
products with its Hessian where the method takes them, and constraints with their exact Jacobians, sparse ones where the
method takes them. The variables get the result in one step at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from engine.core import nest
from engine.core.aval import Aval, format_shape
from engine.core.dtypes import FLOATING
from engine.core.eager import EagerTensor
from engine.core.trace import Symbol
from engine.core.unconnected import reasons
from engine.core.value import Value, dtype_of, known_shape, shape_of
from engine.core.variable import Variable, tracked_value
from engine.jacobian.fetched import Fetched
from engine.jacobian.planning.plan import Options
from engine.jacobian.views.evaluations import Derived, Evaluations, Make, Recorded
from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown
from engine.transforms.gradient_tape import GradientTape
from engine.transforms.symbolic import gradients
from optim.slots import assign_all, graph_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_WITH_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})
_DEFAULT = "L-BFGS-B"


def minimize(
    loss: Any,
    variables: Any = None,
    method: str | None = None,
    *,
    bounds: Mapping[Any, Any] | None = None,
    equalities: Sequence[Any] = (),
    inequalities: Sequence[Any] = (),
    callback: Callable[..., Any] | None = None,
    session: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    fetches: Any = None,
    loss_callback: Callable[..., Any] | None = None,
    **scipy_arguments: Any,
) -> OptimizeResult:
    """Change variables such that a loss gets as small as one of SciPy's methods can make it.

    Parameters
    ----------
    loss : callable without arguments, or tensor of a graph
        Gives a real scalar.
    variables : variable or structure of variables, optional
        By default the trainable variables of the graph, or those that the callable uses.
    method : str, optional
        One of `scipy.optimize.minimize`'s, by default "L-BFGS-B". It gets exact gradients; "Newton-CG", "trust-ncg",
        "trust-krylov" and "trust-constr" also exact products with the Hessian, "dogleg" and "trust-exact" the Hessian.
    bounds : mapping from variable to (lower, upper), optional
        Numbers, or arrays that broadcast to the variable's shape.
    equalities, inequalities : sequence of callables without arguments, or of tensors
        Each is a real tensor whose elements shall become 0, or not negative. For "SLSQP", "COBYLA", "COBYQA" and
        "trust-constr".
    callback : callable, optional
        SciPy calls it after each iteration.
    session : Session, optional
        Which holds the variables of a graph; by default the default session.
    feed_dict : mapping, optional
        What else is fed to the graph.
    fetches : tensors of a graph, or callable without arguments that gives tensors, optional
        What `loss_callback` gets.
    loss_callback : callable, optional
        ``loss_callback(*fetched)`` after each evaluation of the loss, with arrays.
    **scipy_arguments
        Further arguments of `scipy.optimize.minimize`: `options`, `tol`, `hess`...

    Returns
    -------
    scipy.optimize.OptimizeResult
        `x` is one flat vector; the variables hold its parts.

    Raises
    ------
    ValueError
        If there are no variables, or the loss depends on none of them, or is no scalar. If this or anything else is
        raised on the way, the variables keep their values.

    Examples
    --------
    >>> import tape_api as tf
    >>> from optim import minimize
    >>> x = tf.Variable([-1.2, 1.0], dtype=tf.float64)
    >>> def rosenbrock():
    ...     return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    >>> minimize(rosenbrock, [x], "trust-ncg").success
    True
    >>> x.numpy().round(4)
    array([1., 1.])
    """
    problem = _GraphProblem if isinstance(loss, Value) else _TapeProblem
    made = problem(loss, variables, equalities, inequalities, session, feed_dict)
    try:
        watched = None if loss_callback is None else (fetches, loss_callback)
        result = made.solve(method or _DEFAULT, bounds or {}, callback, watched, scipy_arguments)
        made.store(result.x)
    except BaseException:
        made.restore()
        raise
    return result


class ScipyOptimizerInterface(Shown):
    """TensorFlow 1's ``tf.contrib.opt.ScipyOptimizerInterface``: a SciPy method that minimizes a loss of a graph.

    Parameters
    ----------
    loss : tensor
        A real scalar.
    var_list : list of variable, optional
        By default the trainable variables of the graph.
    equalities, inequalities : list of tensor, optional
        Whose elements shall become 0, or not negative. Vectors have exact Jacobians here, where TensorFlow used the
        gradient of their sum.
    var_to_bounds : dict from variable to (lower, upper), optional
    **optimizer_kwargs
        Arguments of `scipy.optimize.minimize`: `method` (by default "L-BFGS-B"), `options`, `tol`...

    Raises
    ------
    ValueError
        If an argument is one that this class sets itself.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.Variable([7.0, 7.0])
    ...     optimizer = ScipyOptimizerInterface(tf.reduce_sum((x - 1.0) ** 2), var_to_bounds={x: (2.0, 9.0)})
    ...     sess.run(tf.global_variables_initializer())
    ...     optimizer.minimize(sess)
    ...     print(sess.run(x))
    [2. 2.]
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        if "bounds" in optimizer_kwargs:
            raise ValueError("Bounds must be set using the var_to_bounds argument")
        for name in ("jac", "callback", "constraints"):
            if name in optimizer_kwargs:
                raise ValueError(f"Optimizer keyword arg '{name}' is set automatically and cannot be injected manually")
        self.optimizer_kwargs = optimizer_kwargs
        self._problem = _GraphProblem(loss, var_list, equalities or (), inequalities or ())
        self._bounds = dict(var_to_bounds or {})
        _packed_bounds(self._bounds, self._problem.variables)

    @property
    def operation(self) -> Any:
        """The operation of the graph that gives the variables the values found; it stands for the whole."""
        return self._problem.operation

    def session_for(self, session: Any = None) -> Any:
        """The session that is given, or the default one."""
        return self._problem.session_for(session)

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Any = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss, and give the variables the values found.

        Parameters
        ----------
        session : Session, optional
            By default the default session.
        feed_dict : dict, optional
            What is fed in each run of the graph.
        fetches : list of tensors, optional
            What `loss_callback` gets.
        step_callback : callable, optional
            ``step_callback(x)`` after each iteration; `x` is the point as one flat vector.
        loss_callback : callable, optional
            ``loss_callback(*fetched)`` after each evaluation of the loss.
        **run_kwargs
            Further arguments of `Session.run`.
        """
        arguments = dict(self.optimizer_kwargs)
        method = arguments.pop("method", None) or _DEFAULT
        problem = self._problem.within(session, feed_dict, run_kwargs)
        watched = None if loss_callback is None else (fetches or [], loss_callback)
        result = problem.solve(method, self._bounds, step_callback, watched, arguments)
        problem.store(result.x)
        logging.getLogger("tensorflow").info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n  Number of iterations: %s\n"
            "  Number of functions evaluations: %s",
            result.message, result.fun, result.get("nit"), result.get("nfev"),
        )  # fmt: skip


# ---- the problem -----------------------------------------------------------------------------------------------------


class _Problem:
    """A loss and constraints as functions of the values of variables.

    Attributes
    ----------
    variables : list of Variable
    """

    variables: list[Any]

    def __init__(
        self,
        loss: Any,
        variables: Any,
        equalities: Sequence[Any],
        inequalities: Sequence[Any],
        session: Any = None,
        feed: Mapping[Any, Any] | None = None,
    ) -> None:
        self._loss, self._equalities, self._inequalities = loss, list(equalities), list(inequalities)
        self._begin(variables, session, feed)

    def _begin(self, variables: Any, session: Any, feed: Mapping[Any, Any] | None) -> None:
        """Look at what is given, and keep the rest."""
        raise NotImplementedError

    def evaluations(self, function: Any, fetches: Any) -> Evaluations:
        """The loss, or a constraint, at one point after another."""
        raise NotImplementedError

    def values(self) -> list[np.ndarray]:
        """The values of the variables."""
        raise NotImplementedError

    def solve(
        self,
        method: str,
        bounds: Mapping[Any, Any],
        callback: Callable[..., Any] | None,
        watched: tuple[Any, Callable[..., Any]] | None,
        arguments: Mapping[str, Any],
    ) -> OptimizeResult:
        """Minimize by SciPy, starting from the variables' values."""
        name = str(method).lower()
        packed = _packed_bounds(bounds, self.variables)
        start = self.values()
        loss = _function(self.evaluations(self._loss, watched[0] or () if watched else ()), start, "dense")
        self._check(loss)
        call: dict[str, Any] = {"fun": loss.fun, "x0": loss.x0, "method": method, "callback": callback}
        if name not in _WITHOUT_GRADIENT:
            call["fun"], call["jac"] = loss.fun_and_jac, True
        if name in _WITH_PRODUCTS and "hess" not in arguments:
            call["hessp"] = loss.hessp
        if name in _WITH_HESSIAN:
            call["hess"] = loss.hess
        if watched is not None:
            fetched: Callable[[], Any] = lambda: loss.evaluations.fetched  # type: ignore[attr-defined]  # noqa: E731
            call["fun"] = _followed(call["fun"], fetched, watched[1])
        if packed is not None:
            call["bounds"] = packed
        kinds = [("eq", c) for c in self._equalities] + [("ineq", c) for c in self._inequalities]
        if kinds:
            call["constraints"] = [self._constraint(name, kind, c, start) for kind, c in kinds]
        from scipy import optimize

        return optimize.minimize(**{**call, **arguments})

    def _constraint(self, method: str, kind: str, function: Any, start: list[np.ndarray]) -> Any:
        whole = method == "trust-constr"
        made = _function(self.evaluations(function, ()), start, "csr" if whole else "dense")
        fun: Callable[[Any], Any] = lambda x: np.atleast_1d(made.fun(x))  # noqa: E731
        if not whole:
            return {"type": kind, "fun": fun, "jac": lambda x: np.atleast_2d(made.jac(x))}
        from scipy import optimize, sparse

        def jac(x: Any) -> sparse.sparray | LinearOperator:
            matrix = made.jac(x)
            return sparse.csr_array(matrix.reshape(1, -1)) if isinstance(matrix, np.ndarray) else matrix

        upper = 0.0 if kind == "eq" else np.inf
        return optimize.NonlinearConstraint(fun, 0.0, upper, jac=jac, hess=made.weighted_hess)

    def _check(self, loss: SciPyFunction) -> None:
        """Raise unless the loss is a scalar that depends on the variables."""
        value = loss.fun(loss.x0)
        if np.ndim(value):
            raise InvalidArgumentError(
                f"minimize: the loss must be a scalar, got {np.size(value)} numbers (use tf.reduce_sum)"
            )
        path = next(loss.evaluations.paths())
        if path is not None and not path.nodes and not set(path.sources) & set(path.targets):
            names = ", ".join(v.name for v in self.variables)
            why = self._reasons()
            raise InvalidArgumentError(f"minimize: the loss depends on none of the variables: {names}{why}")

    def _reasons(self) -> str:
        """Of each variable why the loss does not depend on it, as far as it is known."""
        raise NotImplementedError


class _GraphProblem(_Problem):
    """Tensors of a graph, evaluated in a session."""

    def _begin(self, variables: Any, session: Any, feed: Mapping[Any, Any] | None) -> None:
        for tensor in (self._loss, *self._equalities, *self._inequalities):
            if not isinstance(tracked_value(tensor), Symbol):
                raise TypeError(f"minimize: loss and constraints must be tensors of a graph, got {tensor!r}")
        self._trace = tracked_value(self._loss).trace
        self.variables = _checked(self._trace.trainable_variables() if variables is None else nest.flatten(variables))
        self._new = [self._trace.placeholder(Aval(shape_of(v), dtype_of(v))) for v in self.variables]
        self.operation = assign_all(list(zip(self.variables, self._new, strict=True)), "minimize")
        self.within(session, feed, {})

    def within(self, session: Any, feed: Mapping[Any, Any] | None, run_kwargs: Mapping[str, Any]) -> _GraphProblem:
        """The same problem in another session."""
        self._session, self._feed, self._run_kwargs = session, dict(feed or {}), dict(run_kwargs)
        return self

    def session_for(self, session: Any = None) -> Any:
        """The session that is given, or the default one."""
        return self._trace.session_for(self._session if session is None else session, "minimize")

    def _run(self, fetches: Any, feed: dict[Any, Any]) -> Any:
        session = self.session_for()
        return session.run(fetches, feed, **self._run_kwargs)

    def evaluations(self, function: Any, fetches: Any) -> Evaluations:
        """Runs of the graph."""
        ys = [function.read_value() if isinstance(function, Variable) else function]
        held: Callable[..., Any] = lambda handles: self.session_for()._held(handles)  # noqa: E731
        return Fetched(ys, self.variables, self._run, feed=self._feed, fetches=fetches, held=held)

    def _reasons(self) -> str:
        gradients(self._loss, self.variables)
        return reasons(self.variables)

    def values(self) -> list[np.ndarray]:
        """As the session holds them."""
        return [np.asarray(x) for x in self._run(self.variables, {})]

    def store(self, x: np.ndarray) -> None:
        """Set the variables to the parts of a point."""
        self._run(self.operation, dict(zip(self._new, _parts(x, self.values()), strict=True)))

    def restore(self) -> None:
        """Nothing has happened to the variables."""


class _TapeProblem(_Problem):
    """Functions of eager variables, which hold the point while it is evaluated."""

    def _begin(self, variables: Any, session: Any, feed: Mapping[Any, Any] | None) -> None:
        if session is not None or feed:
            raise InvalidArgumentError("minimize: `session` and `feed_dict` are for tensors of a graph")
        for function in (self._loss, *self._equalities, *self._inequalities):
            if not callable(function):
                raise TypeError(f"minimize: loss and constraints must be callables or tensors, got {function!r}")
        if variables is None:
            with GradientTape() as tape:
                self._loss()
            variables = list(tape.watched_variables())
        self.variables = _checked(nest.flatten(variables))
        if graph_of(self.variables) is not None:
            raise TypeError("minimize: with variables of a graph, loss and constraints must be its tensors")
        self._before = [v.read_value() for v in self.variables]

    def _reasons(self) -> str:
        with GradientTape() as tape:
            tape.watch(self.variables)
            loss = self._loss()
        tape.gradient(loss, self.variables)
        return reasons(self.variables)

    def evaluations(self, function: Any, fetches: Any) -> Evaluations:
        """Recordings."""
        return _RecordedVariables(function, self.variables, fetches)

    def values(self) -> list[np.ndarray]:
        """Their arrays."""
        return [np.asarray(v.numpy()) for v in self.variables]

    def store(self, x: np.ndarray) -> None:
        """Set the variables to the parts of a point."""
        _store(self.variables, _parts(x, self.values()))

    def restore(self) -> None:
        """Give the variables back the values they had."""
        assign_all(list(zip(self.variables, self._before, strict=True)), "minimize")


class _RecordedVariables(Recorded):
    """A function that reads variables, as one of their values. They hold the point while it is used."""

    def __init__(self, function: Callable[[], Any], variables: Sequence[Any], fetches: Any = ()) -> None:
        super().__init__(lambda _: function(), lambda _: None, variables[0].dtype.numpy)
        self._variables, self._fetches = list(variables), fetches
        self._held: Sequence[np.ndarray] = ()

    def _placed(self, parts: Sequence[np.ndarray]) -> list[Any]:
        self._held = parts
        _store(self._variables, parts)
        return self._variables

    def state(self, given: Sequence[Any]) -> Any:
        """All that the function sees, but for the point."""
        states, own = super().state(given), set(map(id, self._variables))
        return [(seen.does, {k: v for k, v in seen.values.items() if k not in own}) for seen in states]

    @property
    def fetched(self) -> list[Any]:
        """Values fetched besides, at the last point."""
        _store(self._variables, self._held)
        fetches = nest.flatten(self._fetches() if callable(self._fetches) else self._fetches)
        return [x.numpy() if hasattr(x, "numpy") else x for x in fetches]

    def derived(self, make: Make, options: Options, sparsity: Any, ends: Any = None) -> Derived:
        """The derivative of the recording; the variables may hold another function's point by now."""
        _store(self._variables, self._held)
        return super().derived(make, options, sparsity, ends)

    def weighted(self, make: Make, options: Options, weights: Sequence[np.ndarray]) -> Derived:
        """The same for the weighted sum."""
        _store(self._variables, self._held)
        return super().weighted(make, options, weights)


# ---- the parts -------------------------------------------------------------------------------------------------------


def _checked(variables: Sequence[Any]) -> list[Any]:
    if not variables:
        raise ValueError("minimize: no variables to optimize")
    for v in variables:
        if not isinstance(v, Variable):
            raise TypeError(f"minimize: `variables` must be variables, got {v!r}")
        if v.dtype not in FLOATING:
            raise TypeError(f"minimize: variables must be real and floating, {v.name!r} is {v.dtype.name}")
    return list(variables)


def _function(evaluations: Evaluations, start: Sequence[np.ndarray], format: Any) -> SciPyFunction:
    return SciPyFunction(evaluations, start, lambda parts: parts, format=format)


def _store(variables: Sequence[Any], parts: Sequence[np.ndarray]) -> None:
    assign_all([(v, EagerTensor(part)) for v, part in zip(variables, parts, strict=True)], "minimize")


def _parts(x: np.ndarray, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A flat vector as arrays of the shapes and dtypes of others."""
    ends = np.cumsum([0, *[a.size for a in like]])
    return [x[i:j].reshape(a.shape).astype(a.dtype) for a, i, j in zip(like, ends[:-1], ends[1:], strict=True)]


def _packed_bounds(bounds: Mapping[Any, Any], variables: Sequence[Any]) -> list[tuple[float, float]] | None:
    """Bounds of variables as SciPy wants them, a pair for each number."""
    by_handle = {id(tracked_value(v)): (v, pair) for v, pair in _items(bounds)}
    packed: list[tuple[float, float]] = []
    for variable in variables:
        shape = shape_of(variable)
        _, pair = by_handle.pop(id(tracked_value(variable)), (None, (-np.inf, np.inf)))
        try:
            whole = known_shape(variable, "minimize: a bound")
            lower, upper = [np.broadcast_to(np.asarray(x, np.float64), whole).ravel().tolist() for x in pair]
        except (TypeError, ValueError) as error:
            if not bounds:
                return None
            raise ValueError(
                f"minimize: the bounds of variable {variable.name!r} must be a pair (lower, upper) that broadcasts to "
                f"its shape {format_shape(shape)}, got {pair!r}: {error}"
            ) from error
        packed += zip(lower, upper, strict=True)
    if by_handle:
        names = ", ".join(repr(v.name) for v, _ in by_handle.values())
        raise ValueError(f"minimize: there are bounds for {names}, which is not among the variables to optimize")
    return packed if bounds else None


def _items(bounds: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Variables and their bounds; eager variables cannot be keys, their references stand for them."""
    return [(v.deref() if hasattr(v, "deref") else v, pair) for v, pair in bounds.items()]


def _followed(fun: Callable[..., Any], fetched: Callable[[], Any], callback: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which tells somebody of each evaluation."""

    def followed(x: Any) -> float | tuple[float, np.ndarray]:
        value = fun(x)
        callback(*fetched())
        return value

    return followed
