"""`solve_ivp` and `odeint`, differentiable in the initial state, the times, and all that the right-hand side uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from dualgrad.solvers.closures import Packed, as_floating, as_value, closure, static_shape
from dualgrad.solvers.flow_op import Stages, flow_op, solved
from dualgrad.solvers.implicit import root
from dualgrad.solvers.trajectories import Limit
from engine.control.checkpoints import limited
from engine.core.aval import Aval
from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.value import shape_of
from engine.ops.joining import concat, stack
from engine.ops.shape import reshape, transpose
from engine.runtime.errors import InvalidArgumentError, UnimplementedError

_OPTIONS = ("rtol", "atol", "first_step", "max_step", "min_step")
_IGNORED = ("vectorized", "jac", "jac_sparsity", "lband", "uband")
"""Arguments of SciPy's that say how to go about it: Jacobians are known here."""


class _Flow:
    """A right-hand side with its initial state: what is solved, for any times."""

    def __init__(
        self, name: str, fun: Callable[..., Any], y0: Any, args: Sequence[Any], options: dict[str, Any]
    ) -> None:
        self.packed = packed = Packed(y0, f"{name}: argument `y0`")

        def slope(t: Any, y: Any) -> Any:
            return packed.flattened(fun(t, packed.unpacked(y), *args), f"{name}: what `fun` returns")

        self._made = closure(slope, [Aval((), packed.dtype), packed.aval], name, packed.dtype)
        self._stages = Stages((1,), (1,), (), tuple(sorted(options.items())))

    def __call__(self, times: Any) -> Any:
        """The states, as vectors, at times of which the first one is that of the initial state; shape (T, n)."""
        bodies = (self._made.closed,)
        (out,) = flow_op(times, self.packed.vector, *self._made.captured, bodies=bodies, stages=self._stages)
        return as_value(out)


def _options(name: str, method: Any, given: dict[str, Any]) -> dict[str, Any]:
    unknown = set(given) - {*_OPTIONS, *_IGNORED, "max_bytes"}
    if unknown:
        raise TypeError(f"{name}: got an unexpected argument {sorted(unknown)[0]!r}; it takes {', '.join(_OPTIONS)}")
    options: dict[str, Any] = {"method": method}
    options |= {key: Limit(n) for key, n in limited(name, given.get("max_bytes")).items()}
    if method == "LSODA" and "max_bytes" in options:
        raise InvalidArgumentError(
            f"{name}: LSODA takes no `max_bytes`, for SciPy does not show its state; take solve_ivp with method='BDF'"
        )
    for key in _OPTIONS:
        if given.get(key) is None:
            continue
        value = _array_of(as_value(given[key]), name, f"`{key}`")
        options[key] = float(value) if value.ndim == 0 else tuple(value.tolist())
    return options


def _array_of(x: Any, name: str, what: str) -> np.ndarray:
    """The contents of an eager value."""
    if not isinstance(x, EagerTensor):
        raise InvalidArgumentError(
            f"{name}: {what} must be known when it is called; in a graph, and inside a function that a solver or vmap "
            f"calls, give arrays (with solve_ivp, give `t_eval` and leave out `events`)"
        )
    looked_at(x)
    return np.asarray(x._array)


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """Solve ``dy/dt = fun(t, y, *args)`` as `scipy.integrate.solve_ivp` does, so that it can be differentiated.

    Gradients pass to `y0`, `t_span`, `t_eval`, `args`, and to every tensor that `fun` uses otherwise: in reverse mode
    by the adjoint equation along the trajectory's dense output, in forward mode by sensitivities, to all orders. Errors
    of derivatives are about those of the solution: choose `rtol` and `atol` accordingly.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)``, of tensors, gives a structure like `y0`. It is traced once, so it cannot branch by ``if``
        on its arguments (see tf.where).
    t_span : pair
    y0 : vector (a list of scalars, too), array, tensor or structure of these
        If it is a vector the solution's `y` has shape (n, T), as in SciPy, else it is a structure with the times as the
        *first* axis of each part.
    method : "RK45", "RK23", "DOP853", "Radau", "BDF" or "LSODA"
        Implicit ones get exact Jacobians.
    t_eval : vector, optional
        Where to give the solution; by default at the solver's own steps, which only eager code can know.
    dense_output : bool
        Whether `sol` is to be a function of a vector of times, or of one time. It solves anew.
    events : callable or list of callable, optional
        ``event(t, y, *args)``, with SciPy's attributes `terminal` and `direction`. The times at which they are zero,
        and the states then, are differentiable, as implicit functions. For eager code.
    vectorized, options
        As in SciPy; ``jac``, ``jac_sparsity``, ``lband`` and ``uband`` are not needed and not looked at. With
        ``max_bytes`` the adjoint keeps few states of the trajectory and makes its steps again, with the same bits.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With tensors `t`, `y`, `t_events`, `y_events`, and `sol`, `status`, `message`, `success`.

    Raises
    ------
    ConvergenceError
        If the solver gives up.
    InvalidArgumentError
        If `t_eval` is not sorted or not within `t_span`.

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.ode import solve_ivp
    >>> def last(rate):
    ...     return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), [1.0], t_eval=[2.0], rtol=1e-8, atol=1e-8).y[0, -1]
    >>> print(np.round(tf.transforms.grad(last)(0.5), 6), np.round(-2 * np.exp(-1.0), 6))
    -0.735759 -0.735759
    """
    name = "solve_ivp"
    args = () if args is None else args if isinstance(args, (tuple, list)) else (args,)
    flow = _Flow(name, fun, y0, args, _options(name, method, options))
    dtype = flow.packed.dtype
    start, end = (as_value(t, dtype) for t in (t_span if isinstance(t_span, (tuple, list)) else (t_span[0], t_span[1])))
    found = scipy.optimize.OptimizeResult(t_events=None, y_events=None, sol=None, status=0, success=True)
    found.message = "The solver successfully reached the end of the integration interval."
    plain: Any = None
    if t_eval is None or events is not None:
        plain = _in_numpy(flow, (start, end), t_eval, events, args, {"method": method, **options}, name)
        if events is not None:
            _events(found, plain, flow, start, events, args)
    if t_eval is None:
        times = concat([reshape(start, [1]), EagerTensor(np.asarray(plain.t[1:-1], dtype.numpy)), reshape(end, [1])], 0)
        if found.status == 1:
            times = concat([times[:-1], reshape(_last_event(found, start), [1])], 0)
    else:
        times = as_floating(t_eval, f"{name}: argument `t_eval`")
        _check_inside(times, start, end)
        if found.status == 1:
            times = times[: len(plain.t)]
    # the times count from the initial one on, which the solution is not asked for
    states = flow(concat([reshape(start, [1]), as_value(times, dtype)], 0))[1:]
    found.t = times
    found.y = _shown(flow.packed, states)
    if dense_output:
        found.sol = _Dense(flow, start)
    return found


def _shown(packed: Packed, states: Any) -> Any:
    """States by time as the solution has them."""
    if packed.is_array and len(packed.shapes[0]) == 1:
        return transpose(states)
    return packed.unpacked(states, [static_shape(states, "solve_ivp")[0]])


class _Dense:
    """The solution as a function of time."""

    def __init__(self, flow: _Flow, start: Any) -> None:
        self._flow, self._start = flow, start

    def __call__(self, t: Any) -> Any:
        """The state at one time, or the states at times that rise or fall away from the initial one."""
        t = as_value(t, self._flow.packed.dtype)
        states = self._flow(concat([reshape(self._start, [1]), reshape(t, [-1])], 0))[1:]
        return self._flow.packed.unpacked(states[0]) if shape_of(t) == () else _shown(self._flow.packed, states)


def _check_inside(times: Any, start: Any, end: Any) -> None:
    if not all(isinstance(x, EagerTensor) for x in (times, start, end)):
        return
    low, high = sorted((float(start._array), float(end._array)))
    array = times._array
    if array.ndim != 1 or not np.all((low <= array) & (array <= high)):
        raise InvalidArgumentError(
            f"solve_ivp: `t_eval` must be a vector of times within `t_span`, from {low} to {high}"
        )
    if np.any(np.sign(np.diff(array)) == np.sign(float(start._array) - float(end._array))):
        raise InvalidArgumentError("solve_ivp: `t_eval` must be sorted from the start of `t_span` on")


# ---- events ----------------------------------------------------------------------------------------------------------


def _in_numpy(
    flow: _Flow, span: Sequence[Any], t_eval: Any, events: Any, args: Sequence[Any], options: dict[str, Any], name: str
) -> Any:
    """SciPy's own solution, whose steps and events tell where to solve."""
    captured = [_array_of(x, name, "what `fun` uses") for x in flow._made.captured]
    run, dtype = flow._made.closed.run, flow.packed.dtype.numpy

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(run(np.asarray(t, dtype), np.asarray(y, dtype), *captured)[0], np.float64)

    def asked(event: Any) -> Any:
        made = closure(
            lambda t, y: event(t, flow.packed.unpacked(y), *args), flow._made.closed.avals[:2], name, flow.packed.dtype
        )
        more = [_array_of(x, name, "what an event uses") for x in made.captured]

        def value(t: float, y: np.ndarray) -> float:
            return float(made.closed.run(np.asarray(t, dtype), np.asarray(y, dtype), *more)[0])

        for attribute in ("terminal", "direction"):
            if hasattr(event, attribute):
                setattr(value, attribute, getattr(event, attribute))
        return value

    times = [float(_array_of(t, name, "`t_span`")) for t in span]
    y0 = np.asarray(_array_of(flow.packed.vector, name, "`y0`"), np.float64)
    listed = None if events is None else [asked(e) for e in ([events] if callable(events) else events)]
    at = None if t_eval is None else _array_of(as_value(t_eval), name, "`t_eval`")
    known = _options(name, options["method"], {k: v for k, v in options.items() if k not in ("method", "max_bytes")})
    return solved(slope, times, y0, t_eval=at, events=listed, **known)


def _events(found: Any, plain: Any, flow: _Flow, start: Any, events: Any, args: Sequence[Any]) -> None:
    """Put the times of events, and the states then, into the result: implicit functions of all that counts."""
    found.t_events, found.y_events = [], []
    for event, at in zip([events] if callable(events) else events, plain.t_events, strict=True):
        times, states = [], []
        for t in at:

            def state(t: Any) -> Any:
                return flow(stack([start, t], 0))[1]

            guess = np.asarray(t, flow.packed.dtype.numpy)
            exact = root(
                lambda t, event=event: event(t, flow.packed.unpacked(state(t)), *args), guess, method="known"
            ).x
            times.append(exact)
            states.append(state(exact))
        n = flow.packed.size
        zero = np.zeros(0, flow.packed.dtype.numpy)
        found.t_events.append(stack(times, 0) if times else EagerTensor(zero))
        found.y_events.append(stack(states, 0) if states else EagerTensor(zero.reshape(0, n)))
    found.status, found.message = plain.status, plain.message


def _last_event(found: Any, start: Any) -> Any:
    """The time of the terminal event: of all that farthest from the start."""
    last = [t[-1] for t in found.t_events if shape_of(t) != (0,)]
    return max(last, key=lambda t: abs(float(t._array - start._array)))


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Sequence[Any] = (),
    *,
    tfirst: bool = False,
    full_output: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    hmax: float = 0.0,
    h0: float = 0.0,
    **ignored: Any,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` as `scipy.integrate.odeint` does, by LSODA; see `solve_ivp` for derivatives.

    Parameters
    ----------
    func : callable
        ``func(y, t, *args)``, with `tfirst` ``func(t, y, *args)``.
    y0 : vector, or structure
    t : vector, shape (T,)
        Times; the first one is that of `y0`.
    args : tuple
    tfirst : bool
    full_output : bool
        Must be False.
    rtol, atol, hmax, h0 : float
        By default 1.49e-8 for both tolerances.

    Returns
    -------
    tensor, shape (T, n), or structure with the times as first axes

    Examples
    --------
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad.solvers.ode import odeint
    >>> states = lambda y0: odeint(lambda y, t: -y, y0, [0.0, 1.0, 2.0])
    >>> tf.transforms.jacrev(states)(np.ones(1)).numpy().ravel().round(5)
    array([1.     , 0.36788, 0.13534])
    """
    if full_output:
        raise UnimplementedError("odeint: `full_output` is not given; see solve_ivp")
    args = args if isinstance(args, (tuple, list)) else (args,)
    options: dict[str, Any] = {"rtol": 1.49012e-8, "atol": 1.49012e-8}
    options |= {k: v for k, v in (("rtol", rtol), ("atol", atol)) if v is not None}
    options |= {"max_step": hmax or None, "first_step": h0 or None, "max_bytes": ignored.pop("max_bytes", None)}
    unknown = set(ignored) - {"Dfun", "col_deriv", "ml", "mu", "mxstep", "mxhnil", "mxordn", "mxords", "printmessg"}
    if unknown:
        raise TypeError(f"odeint: got an unexpected argument {sorted(unknown)[0]!r}")
    fun = func if tfirst else lambda t, y, *args: func(y, t, *args)
    flow = _Flow("odeint", fun, y0, args, _options("odeint", "LSODA", options))
    states = flow(as_value(t, flow.packed.dtype))
    if flow.packed.is_array and len(flow.packed.shapes[0]) <= 1:
        return states
    return flow.packed.unpacked(states, [static_shape(states, "odeint")[0]])
