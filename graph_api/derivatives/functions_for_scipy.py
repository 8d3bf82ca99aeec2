"""`for_scipy` and `for_ode`: tensors of a graph as functions for SciPy's solvers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.frontend.flow.loops import up_to
from engine.core import nest
from engine.core.value import dtype_of
from engine.jacobian.fetched import Fetched
from engine.jacobian.views.evaluations import as_pairs
from engine.jacobian.views.for_scipy import SciPyFunction, SciPyODE
from engine.jacobian.views.results import Format, Mode
from engine.runtime.errors import InvalidArgumentError
from graph_api.convert import placeholder
from graph_api.derivatives.gradients import graph_of
from graph_api.graphs.variable import Variable


def for_scipy(
    y: Any,
    x: Any,
    x0: Any = None,
    *,
    args: Sequence[Any] = (),
    session: Any = None,
    format: Format = "dense",
    mode: Mode = "auto",
    sparsity: Any = None,
    max_bytes: int | None = None,
    executor: Any = None,
    fixed_pattern: bool = False,
    index_dtype: Any = np.int32,
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
        Placeholders to feed the further arguments of SciPy's solvers to: in this order, or by their names.
    session : Session, optional
        By default the default session of the time of each evaluation.
    format, mode, sparsity, max_bytes, executor, fixed_pattern, index_dtype
        As in `tape_api.for_scipy`.

    Returns
    -------
    SciPyFunction
        With the methods of that of `tape_api.for_scipy`, and the flat vector ``x0``.

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
    graph = graph_of(targets, "y")
    pairs = [dtype_of(t).is_complex for t in targets]
    with graph.as_default():
        targets = [as_pairs(t) for t in targets]
    if any(dtype_of(s).is_complex for s in sources):
        raise InvalidArgumentError(
            "for_scipy: `x` must be real, and SciPy's vectors are; got a complex tensor. Feed its real and imaginary "
            "parts, and make it of them by tf.complex"
        )

    def run(fetches: Any, feed: dict[Any, Any]) -> list[Any]:
        return graph.session_for(session, "evaluate a function for SciPy").run(fetches, feed)

    def held(handles: Sequence[Any]) -> list[Any]:
        within = graph.session_for(session, "evaluate a function for SciPy")
        return within._held(handles)

    evaluations = Fetched(targets, sources, run, args, held=held)
    evaluations.pairs = pairs
    if x0 is None:
        if not all(isinstance(s, Variable) for s in sources):
            raise InvalidArgumentError("for_scipy: argument `x0` is needed: not all of `x` are variables")
        x0 = graph.session_for(session, "read the initial point").run(x)
    try:
        arrays = [np.asarray(a, dtype_of(s).numpy) for a, s in zip(up_to(x, x0), sources, strict=True)]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidArgumentError(f"for_scipy: `x0` must have the structure of `x`; got {x0!r}: {error}") from error
    options: dict[str, Any] = {"format": format, "mode": mode, "max_bytes": max_bytes, "executor": executor}
    options |= {"fixed_pattern": fixed_pattern, "index_dtype": index_dtype}
    pack = functools.partial(nest.pack_sequence_as, nest.map_structure(lambda _: 0, x))
    return SciPyFunction(evaluations, arrays, pack, sparsity=sparsity, **options)


def for_ode(
    dydt: Any,
    y: Any,
    y0: Any = None,
    *,
    t: Any = None,
    args: Sequence[Any] = (),
    banded: bool | tuple[int, int] = False,
    **options: Any,
) -> SciPyODE:
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
    banded : bool or pair of int
        As in `tape_api.for_ode`.
    **options
        As in `for_scipy`.

    Returns
    -------
    SciPyODE
        With the methods ``fun(t, y)``, ``jac(t, y)``, ``jac_sparsity()`` and ``unpacked``, and the flat vector ``y0``.
    """
    if t is None:
        source = nest.flatten(y)[0]
        with graph_of([source], "y").as_default():
            t = placeholder(dtype_of(source), [])
    return SciPyODE(for_scipy(dydt, y, y0, args=[t, *args], **options), banded)
