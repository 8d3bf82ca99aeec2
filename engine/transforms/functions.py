"""From functions to functions: derivatives and batches of a Python function of tensors, arrays and structures of them.

The names and the signatures are those of JAX and of HIPS autograd. What a function is differentiated with respect to
may be a structure: numbers, arrays and tensors in dicts, lists, tuples, named tuples and dataclasses; what comes back
has the same structure. Inside the function tensors have the methods and the indexing of NumPy's arrays.

They are made of the reverse and the forward walk, of batches, and of each other; so they nest in any order, and serve
tensors of a graph as well as eager ones.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import engine.numpy_api.operators  # noqa: F401  (functions use Python's operators on values)
from engine.core.batching import Batched, batch_level, levels_of, levels_opened, lowered, open_levels, raised, unbatch
from engine.core.detach import tell_left
from engine.core.eager import EagerTensor
from engine.core.structural import conj
from engine.core.tape import Tape
from engine.core.value import Value, dtype_of, numbers_of, shape_of
from engine.derivatives.forward import forward
from engine.derivatives.linearity import NotSeenLinearError
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import needs_reverse, with_slopes
from engine.jacobian.views.complex_ends import joined
from engine.numpy_api.manners import as_arrays
from engine.ops import complexes
from engine.ops import shape as shapes
from engine.ops.compare import cast
from engine.ops.creation import ones_like, zeros_like
from engine.ops.lift import opened_array
from engine.runtime.errors import DTypeError, ShapeError, UnimplementedError
from engine.transforms import check
from engine.transforms.gradient_tape import GradientTape

Function = Callable[..., Any]

# ---- structures ------------------------------------------------------------------------------------------------------


def opened(tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves of a structure, and what makes the structure of leaves."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type) and not hasattr(tree, "__array__"):
        names = [f.name for f in dataclasses.fields(tree)]
        inner, close = opened([getattr(tree, name) for name in names])
        return inner, lambda leaves: dataclasses.replace(tree, **dict(zip(names, close(leaves), strict=True)))
    if isinstance(tree, dict):
        inner, close = opened(list(tree.values()))
        return inner, lambda leaves: type(tree)(zip(tree, close(leaves), strict=True))
    if not isinstance(tree, (list, tuple)):
        return ([], lambda leaves: None) if tree is None else ([tree], lambda leaves: leaves[0])
    inside = [opened(part) for part in tree]
    ends = np.cumsum([0, *[len(inner) for inner, _ in inside]]).tolist()

    def closed(leaves: Sequence[Any]) -> Any:
        parts = [close(leaves[a:b]) for (_, close), a, b in zip(inside, ends[:-1], ends[1:], strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)

    return [leaf for inner, _ in inside for leaf in inner], closed


def _value(x: Any, name: str) -> Any:
    """A leaf as a value of its own, to be differentiated with respect to."""
    if not isinstance(x, Value):
        x = EagerTensor(np.array(numbers_of(x, name), np.float64 if isinstance(x, float) else None))
    if not dtype_of(x).is_differentiable:
        raise DTypeError(
            f"{name}: what is differentiated must be floating or complex, got {dtype_of(x).name}; choose other "
            f"arguments by `argnums`, or convert it"
        )
    return x


class _Split:
    """The arguments of a function, and which of them it is differentiated with respect to."""

    def __init__(self, fun: Function, name: str, argnums: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._fun, self._args, self._kwargs = fun, list(args), kwargs
        self._alone = not isinstance(argnums, (tuple, list))
        self._chosen = [int(i) for i in np.ravel(argnums)]
        if any(not -len(args) <= i < len(args) for i in self._chosen):
            raise ValueError(f"{name}: argument `argnums` is {argnums}, and the function got {len(args)} arguments")
        leaves, self._close = opened([self._args[i] for i in self._chosen])
        self.leaves = [_value(leaf, name) for leaf in leaves]

    def call(self, leaves: Sequence[Any]) -> Any:
        """Call the function."""
        args = list(self._args)
        for i, arg in zip(self._chosen, self._close(leaves), strict=True):
            args[i] = arg
        with as_arrays():
            return self._fun(*args, **self._kwargs)

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Something for each leaf, in the structure of the arguments."""
        found = self._close(leaves)
        return found[0] if self._alone else tuple(found)


class _Recording:
    """A call of a function, with what is needed to differentiate it.

    The elements of a batch do not depend on one another, so the derivative of all of them together, with respect to all
    elements of the arguments, holds that of each.
    """

    def __init__(self, split: _Split, has_aux: bool = False, name: str = "vjp") -> None:
        self._levels = sorted({**levels_of(split.leaves), **dict(open_levels())}.items())
        self._sources = [shapes.identity(lowered(x, self._levels)) for x in split.leaves]
        self.inputs = [raised(x, self._levels) for x in self._sources]
        tape = Tape()
        for x in self._sources:
            tape.watch(x)
        tape.start()
        self._has_aux, self.aux = has_aux, None
        try:
            out = split.call(self.inputs)
            if has_aux and not (isinstance(out, tuple) and len(out) == 2):
                raise TypeError(f"{name}: with `has_aux` the function must return a pair; got {type(out).__name__}")
            if has_aux:
                out, self.aux = out
            leaves, self.close = opened(out)
            self.outputs = [_boxed(y) for y in leaves]
        finally:
            tape.stop()
        self._nodes = tape.nodes
        tell_left(tape)
        self._targets = [lowered(y, self._levels) for y in self.outputs]
        if any(isinstance(y, Batched) for y in self._targets):
            raise UnimplementedError(
                f"{name}: the function uses a value of a batch that is no argument of it, and its size is not known "
                f"here; hand the value over as an argument, or make the batch by vmap"
            )

    @property
    def out(self) -> Any:
        """Return what the function returned."""
        return self.close(self.outputs)

    def with_aux(self, *found: Any) -> Any:
        """Put what the function returned besides behind what was found, with `has_aux`."""
        found = (*found, self.aux) if self._has_aux else found
        return found if len(found) > 1 else found[0]

    def is_better_reversed(self, name: str) -> bool:
        """Whether reverse mode costs no more, and has derivatives where forward mode has none."""
        given, made = (sum(math.prod(_static(x, name)) for x in xs) for xs in (self.inputs, self.outputs))
        is_real = all(dtype_of(x).is_floating for x in (*self.inputs, *self.outputs))
        return is_real and made <= given and needs_reverse(self._nodes)

    def pulled(self, cts: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs."""
        seeds = [
            (y, lowered(ct, self._levels))
            for y, ct in zip(self._targets, cts, strict=True)
            if dtype_of(y).is_differentiable
        ]
        found = reverse(with_slopes(self._nodes), seeds, self._sources)
        whole = [_boxed(zeros_like(x) if ct is None else ct) for ct, x in zip(found, self._sources, strict=True)]
        return [raised(ct, self._levels) for ct in whole]

    def pushed(self, tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs."""
        pairs = zip(self._sources, tangents, strict=True)
        seeds = [(x, lowered(t, self._levels)) for x, t in pairs if t is not None]
        found = forward(with_slopes(self._nodes), seeds, self._targets)
        whole = [_boxed(zeros_like(y) if t is None else t) for t, y in zip(found, self._targets, strict=True)]
        return [raised(t, self._levels) for t in whole]


def _boxed(x: Any) -> Value:
    x = opened_array(x)
    return x if isinstance(x, Value) else EagerTensor(numbers_of(x))


def _like(given: Any, leaves: Sequence[Any], name: str) -> list[Any]:
    """The leaves of a structure of (co)tangents, of the dtypes of those that they belong to."""
    parts, _ = opened(given)
    if len(parts) != len(leaves):
        raise ValueError(f"{name}: expected {len(leaves)} arrays, one for each part; got {len(parts)}")
    values = []
    for p, x in zip(parts, leaves, strict=True):
        values.append(p if isinstance(p, Value) else EagerTensor(numbers_of(p, name).astype(dtype_of(x).numpy)))
    for p, x in zip(values, leaves, strict=True):
        if shape_of(p) != shape_of(x):
            raise ShapeError(f"{name}: expected the shape {shape_of(x)}, got {shape_of(p)}")
    return values


# ---- gradients -------------------------------------------------------------------------------------------------------


def value_and_grad(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that gives the value of `fun` and its gradient.

    Parameters
    ----------
    fun : callable
        It gives one real number, with `has_aux` a pair of it and anything else.
    argnums : int or sequence of int
        Which positional arguments to differentiate with respect to; with a sequence there is a gradient for each.
    has_aux : bool

    Returns
    -------
    callable
        Of the arguments of `fun`; it gives ``(value, gradient)``, with `has_aux` ``((value, aux), gradient)``.

    Raises
    ------
    ShapeError
        If the value is not one number.
    DTypeError
        If it is not real, or what is to be differentiated is not floating.

    Examples
    --------
    >>> value, gradient = value_and_grad(lambda p, x: (p["a"] * x).sum() + p["b"])({"a": 2.0, "b": 1.0}, np.ones(3))
    >>> float(value), {name: float(g) for name, g in gradient.items()}
    (7.0, {'a': 3.0, 'b': 1.0})
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        split = _Split(fun, "grad", argnums, args, kwargs)
        record = _Recording(split, has_aux, "grad")
        if len(record.outputs) != 1 or shape_of(record.outputs[0]) != ():
            shapes_ = [shape_of(y) for y in record.outputs]
            raise ShapeError(f"grad: the function must give one number; got shapes {shapes_}. See jacobian")
        if not dtype_of(record.outputs[0]).is_floating:
            raise DTypeError(f"grad: the function must give a real number; got {dtype_of(record.outputs[0]).name}")
        gradient = split.packed(record.pulled([ones_like(record.outputs[0])]))
        return ((record.out, record.aux) if has_aux else record.out), gradient

    return call


def grad(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of `fun`, with `has_aux` ``(gradient, aux)`` (see `value_and_grad`).

    Examples
    --------
    >>> grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0])).numpy()
    array([ 3., 12.])
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    """
    both = value_and_grad(fun, argnums, has_aux)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return call


# ---- Jacobians -------------------------------------------------------------------------------------------------------


def _static(x: Any, name: str) -> tuple[int, ...]:
    shape: Any = shape_of(x)
    if shape is None or None in shape:
        raise ShapeError(f"{name}: needs static shapes; got {shape}")
    return shape


def _block(found: Any, y: Any, x: Any, name: str) -> Any:
    return shapes.reshape(found, [*_static(y, name), *_static(x, name)])


def _basis(x: Any, name: str) -> Any:
    """The unit vectors of the shape of a value, one after another."""
    shape = _static(x, name)
    n = math.prod(shape)
    return EagerTensor(np.eye(n, dtype=dtype_of(x).numpy).reshape(n, *shape))


def jacrev(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that gives the Jacobian of `fun` by reverse mode: a block for each result and each argument.

    A block has the shape of the result followed by that of the argument. The blocks are in the structure of the result,
    and inside of it in that of the arguments. Complex results and arguments are taken as by `GradientTape.jacobian`.
    With `has_aux` `fun` gives a pair, the second part of which is not differentiated: ``(Jacobian, aux)`` comes back.

    Raises
    ------
    InvalidArgumentError
        If a complex result is not a holomorphic function of a complex argument.

    Examples
    --------
    >>> jacrev(lambda x: x**2)(np.array([1.0, 2.0])).numpy()
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacrev(fun, argnums, has_aux)


def _jacrev(fun: Function, argnums: int | Sequence[int], has_aux: bool = False, holomorphic: bool = False) -> Function:
    """`jacrev`; if `holomorphic`, of complex arguments the derivative itself, the conjugate of the gradient."""

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        split = _Split(fun, "jacrev", argnums, args, kwargs)
        return _by_rows(split, _Recording(split, has_aux, "jacrev"), "jacrev", holomorphic)

    return call


def _by_rows(split: _Split, record: _Recording, name: str, holomorphic: bool = False) -> Any:
    blocks = []
    for i, y in enumerate(record.outputs):

        def pulled(ct: Any, i: int = i) -> list[Any]:
            return record.pulled([ct if k == i else zeros_like(o) for k, o in enumerate(record.outputs)])

        rows = vmap(pulled)(_basis(y, name))
        if dtype_of(y).is_complex:  # of the real part; now of the imaginary one
            other = vmap(pulled)(_basis(y, name) * 1j)
            rows = [joined(re, im, x) for re, im, x in zip(rows, other, record.inputs, strict=True)]
        whole = [_block(r, y, x, name) for r, x in zip(rows, record.inputs, strict=True)]
        if holomorphic:
            pairs = zip(whole, record.inputs, strict=True)
            whole = [conj(b) if dtype_of(x).is_complex else b for b, x in pairs]
        blocks.append(split.packed(whole))
    return record.with_aux(record.close(blocks))


def jacfwd(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """The same as `jacrev`, by forward mode, which has no real results of complex arguments.

    By reverse mode if a norm or eigenvalues are taken and there are no more results than arguments: then second
    derivatives where the norm is 0 or eigenvalues coincide can be found.

    Raises
    ------
    DTypeError
        If an argument is complex and a result real.
    InvalidArgumentError
        If a complex result is not a holomorphic function of a complex argument.
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        name = "jacfwd"
        split = _Split(fun, name, argnums, args, kwargs)
        record = _Recording(split, has_aux, name)
        if record.is_better_reversed(name):
            return _by_rows(split, record, name)
        columns = []
        for j, x in enumerate(record.inputs):

            def pushed(t: Any, j: int = j) -> list[Any]:
                return record.pushed([t if k == j else None for k in range(len(record.inputs))])

            found = vmap(pushed, out_axes=-1)(_basis(x, name))
            if dtype_of(x).is_complex:
                if any(dtype_of(y).is_floating for y in record.outputs):
                    raise DTypeError(f"{name}: a result is real and an argument complex; take its gradients by jacrev")
                across = vmap(pushed, out_axes=-1)(_basis(x, name) * 1j)
                parts = [
                    [complexes.complex(f(a), f(b)) for f in (complexes.real, complexes.imag)]
                    for a, b in zip(found, across, strict=True)
                ]
                found = [joined(re, im, x) for re, im in parts]
            columns.append(found)
        blocks = []
        for i, y in enumerate(record.outputs):
            whole = [_block(c[i], y, x, name) for c, x in zip(columns, record.inputs, strict=True)]
            blocks.append(split.packed(whole))
        return record.with_aux(record.close(blocks))

    return call


def jacobian(fun: Function, argnums: int | Sequence[int] = 0, **options: Any) -> Function:
    """A function that gives the Jacobian of `fun`, its structure looked at first, as `GradientTape.jacobian` does.

    Parameters
    ----------
    fun, argnums
        As in `jacrev`.
    **options
        As in `GradientTape.jacobian`: ``format="csr"`` gives a SciPy array, ``mode``, ``sparsity``, ``max_bytes``.

    Examples
    --------
    >>> jacobian(lambda x: x[1:] * x[:-1], format="csr")(np.arange(100.0)).nnz
    198
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        split = _Split(fun, "jacobian", argnums, args, kwargs)
        if open_levels() or not all(isinstance(x, EagerTensor) for x in split.leaves):
            if options:
                raise ValueError(f"jacobian: the options {list(options)} are for eager tensors; see graph_api.jacobian")
            return jacrev(fun, argnums)(*args, **kwargs)
        inputs = [shapes.identity(x) for x in split.leaves]
        with GradientTape(persistent=True) as tape:
            tape.watch(inputs)
            out = split.call(inputs)
        leaves, close = opened(out)
        zero: Any = {"unconnected_gradients": "zero"}
        return close([split.packed(tape.jacobian(y, inputs, **zero, **options)) for y in leaves])

    return call


def hessian(fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that gives the second derivatives of `fun`, `jacfwd` of `jacrev`; with `has_aux` ``(Hessian, aux)``.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0])).numpy()
    array([[10.,  6.],
           [ 6.,  0.]])
    """
    gradient = _jacrev(fun, argnums, has_aux, holomorphic=True)
    return _or_reverse(jacfwd(gradient, argnums, has_aux), _jacrev(gradient, argnums, has_aux, holomorphic=True))


def _or_reverse(forward_: Function, reverse_: Function) -> Function:
    """Second derivatives by reverse over reverse mode where a rule that applies a primitive has no forward mode."""

    @functools.wraps(forward_)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return forward_(*args, **kwargs)
        except NotSeenLinearError as error:
            if not error.is_possible:
                raise
            return reverse_(*args, **kwargs)

    return call


# ---- products --------------------------------------------------------------------------------------------------------


def vjp(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun`, and the function that pulls a cotangent of it back to a tuple of one for each argument.

    Examples
    --------
    >>> out, pull = vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> float(out), [float(ct) for ct in pull(1.0)]
    (10.0, [5.0, 2.0])
    """
    split = _Split(fun, "vjp", tuple(range(len(primals))), primals, {})
    record = _Recording(split, has_aux)

    def pull(ct: Any) -> Any:
        return split.packed(record.pulled(_like(ct, record.outputs, "vjp")))

    return record.with_aux(record.out, pull)


def linearize(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun`, and the function that pushes tangents of the arguments forward to that of the value.

    With `has_aux` `fun` gives a pair, the second part of which is not differentiated and comes back behind the others.

    Examples
    --------
    >>> out, push = linearize(np.sin, 0.0)
    >>> float(push(3.0))
    3.0
    """
    split = _Split(fun, "linearize", tuple(range(len(primals))), primals, {})
    record = _Recording(split, has_aux, "linearize")

    def push(*tangents: Any) -> Any:
        return record.close(record.pushed(_like(list(tangents), record.inputs, "linearize")))

    return record.with_aux(record.out, push)


def jvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun`, and its derivative along `tangents`; behind them `aux`, as by `linearize`.

    Examples
    --------
    >>> [float(y) for y in jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))]
    [10.0, 5.0]
    """
    out, push, *aux = linearize(fun, *primals, has_aux=has_aux)
    return out, push(*tangents), *aux


def hvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of `fun` times vectors, in the structure of the arguments; without the matrix.

    Examples
    --------
    >>> hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))[0].numpy()
    array([6., 0.])
    """
    gradient = grad(fun, tuple(range(len(primals))))
    forward_: Function = lambda p, t: jvp(gradient, p, t)[1]  # noqa: E731
    # it is symmetric
    return _or_reverse(forward_, lambda p, t: vjp(gradient, *p)[1](t))(primals, tangents)


# ---- higher orders, checks -------------------------------------------------------------------------------------------


def _slope(fun: Function) -> Function:
    return lambda t: jvp(fun, (t,), (1.0,))[1]


def jet(fun: Function, primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> tuple[Any, list[Any]]:
    """Derivatives of ``fun(x(t))`` with respect to t, up to the order for which those of ``x(t)`` are given.

    It is forward mode inside forward mode, so its cost doubles with each order.

    Parameters
    ----------
    fun : callable
        ``fun(*primals)``.
    primals : sequence
        ``x(0)``, one for each argument.
    series : sequence of sequence
        For each argument the derivatives of ``x(t)`` at 0: the first, the second, and so on.

    Returns
    -------
    value : structure
        ``fun(x(0))``.
    derivatives : list of structure
        The first derivative of ``fun(x(t))`` at 0, the second, and so on.

    Examples
    --------
    >>> value, derivatives = jet(np.exp, (0.5,), ([1.0, 0.0, 0.0],))
    >>> [round(float(d), 6) for d in derivatives]
    [1.648721, 1.648721, 1.648721]
    """
    order = len(series[0]) if series else 0
    if len(series) != len(primals) or any(len(terms) != order for terms in series):
        raise ValueError(f"jet: `series` needs one sequence for each of {len(primals)} arguments, of one length")

    def at(t: Any) -> Any:
        points = []
        for x, terms in zip(primals, series, strict=True):
            leaves, close = opened(x)
            moved = [_value(leaf, "jet") for leaf in leaves]
            power, factorial = t, 1.0
            for k, term in enumerate(terms, 1):
                factorial *= k
                parts = _like(term, moved, "jet")
                moved = [m + cast(power, dtype_of(m)) * p / factorial for m, p in zip(moved, parts, strict=True)]
                power = power * t
            points.append(close(moved))
        with as_arrays():
            return fun(*points)

    derived = [at]
    for _ in range(order):
        derived.append(_slope(derived[-1]))
    zero = EagerTensor(np.float64(0.0))
    return at(zero), [d(zero) for d in derived[1:]]


def check_grads(
    fun: Function, args: Sequence[Any], order: int = 2, modes: Sequence[str] = ("forward", "reverse"),
    rtol: float | None = None, atol: float | None = None, eps: float | None = None,
) -> None:  # fmt: skip
    """Raise unless the derivatives of `fun` at `args` agree with central differences.

    In each mode the derivative along a random direction is seen by a random cotangent; then the same is done to the
    derivative, up to `order`.

    Parameters
    ----------
    fun : callable
        ``fun(*args)`` gives a number, an array, or a structure of them.
    args : sequence
        Structures. Whole numbers and flags in them are left alone.
    order : int
    modes : sequence of "forward", "reverse"
        JAX's "fwd" and "rev" are the same.
    rtol, atol : float, optional
        By default 1e-6 in double, 1e-2 in single precision.
    eps : float, optional
        Half the distance of the points of a difference.

    Raises
    ------
    AssertionError
        If numbers, shapes or dtypes differ. It says in which mode and order.
    ValueError
        If there is nothing to differentiate.

    Examples
    --------
    >>> check_grads(lambda p: np.sin(p["a"]) * p["b"], [{"a": np.ones(2), "b": 2.0}], order=2)
    """
    names = {"fwd": "forward", "rev": "reverse"}
    leaves, close = opened(list(args))
    flags = [isinstance(leaf, Value) or np.asarray(leaf).dtype.kind in "fc" for leaf in leaves]
    varied = [_boxed(leaf) for leaf, flag in zip(leaves, flags, strict=True) if flag]

    def called(*values: Any) -> list[Any]:
        given = iter(values)
        with as_arrays():
            found, _ = opened(fun(*close([next(given) if f else x for x, f in zip(leaves, flags, strict=True)])))
        return [_boxed(y) for y in found]

    chosen = [names.get(m, m) for m in ([modes] if isinstance(modes, str) else modes)]
    check.check_grads(called, varied, order, chosen, rtol, atol, eps)


# ---- batches ---------------------------------------------------------------------------------------------------------


def _axes(axis: Any, arg: Any, count: int) -> list[Any]:
    """The axis of each leaf of an argument."""
    if axis is None or isinstance(axis, int):
        return [axis] * count
    inside = (arg.values(), [axis[key] for key in arg]) if isinstance(arg, dict) else (arg, axis)
    return [a for part, chosen in zip(*inside, strict=True) for a in _axes(chosen, part, len(opened(part)[0]))]


def vmap(fun: Function, in_axes: Any = 0, out_axes: int = 0) -> Function:
    """A function that does what `fun` does for each of many elements at once.

    Parameters
    ----------
    fun : callable
    in_axes : int, None, or sequence of these
        Along which axis the elements of an argument lie, one for all or one for each; None: it is the same for all. In
        place of one for an argument that is a structure there may be a structure of them.
    out_axes : int
        Along which axis those of the results are to lie.

    Raises
    ------
    ShapeError
        If the arguments do not have equally many elements.

    Examples
    --------
    >>> vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0])).numpy()
    array([3., 4.])
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: `in_axes` has {len(axes)} entries, and the function got {len(args)} arguments")
        sizes: set[Any] = set()
        with batch_level() as level:

            def batched(x: Any, axis: int) -> Any:
                x = _boxed(x)
                if shape_of(x) == ():
                    raise ShapeError(
                        "vmap: each argument, and each part of one that is a structure (a list, say), needs the axis "
                        "of `in_axes`; got a number. Give np.array(numbers), or None in `in_axes`"
                    )
                moved = np.moveaxis(x, axis, 0) if axis else x
                shape = shape_of(moved)
                sizes.add(None if shape is None else shape[0])
                return Batched(moved, level)

            given = []
            for arg, axis in zip(args, axes, strict=True):
                leaves, close = opened(arg)
                each = _axes(axis, arg, len(leaves))
                given.append(close([x if a is None else batched(x, a) for x, a in zip(leaves, each, strict=True)]))
            if len(sizes) != 1 or None in sizes:
                got = ", ".join(sorted(map(str, sizes))) or "none"
                raise ShapeError(f"vmap: the arguments must have one static number of elements; got {got}")
            (size,) = sizes
            with as_arrays(), levels_opened([(level, size)]):
                leaves, close = opened(fun(*given, **kwargs))
            found: list[Any] = [_boxed(unbatch(y if isinstance(y, Value) else _boxed(y), level, size)) for y in leaves]
        return close([np.moveaxis(y, 0, out_axes) if out_axes else y for y in found])

    return call


__all__ = [
    "check_grads",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
