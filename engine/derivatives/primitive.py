"""`primitive`: a function of NumPy's, SciPy's or the user's own as an op, with derivative rules.

What it computes is hidden from tapes and graphs, so it says its rules itself: how a cotangent is pulled back, how
tangents are pushed forward; of the two, one is enough, since each is the transpose of the other. As everywhere here
these are made of ops, or of other primitives, and so serve both modes, batches and higher orders. `custom` is for
functions made of ops whose derivative is to be another.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from engine.core.dtypes import as_dtype
from engine.core.operands import Operand
from engine.core.python_state import State, Unknown, state_of
from engine.core.tape import Tape
from engine.core.value import Value, dtype_of
from engine.derivatives.linearity import is_linear_map, of_one
from engine.derivatives.primitive_op import as_value, primitive_op
from engine.derivatives.reverse import reverse
from engine.ops.creation import ones_like, zeros_like
from engine.ops.lift import as_operand
from engine.runtime.errors import UnimplementedError
from engine.runtime.public_names import named


def primitive(
    fn: Callable[..., Any],
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    *,
    shape: Callable[..., Any] | None = None,
    dtype: Any = None,
) -> Callable[..., Any]:
    """A function of arrays as a function of tensors with a derivative, for tapes and graphs alike.

    Parameters
    ----------
    fn : callable
        ``fn(*arrays) -> array``, of NumPy's, SciPy's or your own. It must depend on its arguments only, and must not
        change them. It is called with one element of a batch after another.
    vjp : callable, optional
        ``vjp(ct, out, *args)``: the cotangent of each argument (None where there is no derivative) from that of the
        result. Made of functions of tensors or of other primitives, so that it can be differentiated again. By default
        the transpose of `jvp`, which must be seen to be linear in the tangents. Without either, asking for a derivative
        is an error.
    jvp : callable, optional
        ``jvp(tangents, out, *args)``: the tangent of the result from those of the arguments. By default the transpose
        of `vjp`. Both may be given where a transpose costs more than a rule of its own.
    shape : callable, optional
        ``shape(*shapes)``: the shape of the result from those of the arguments, tuples in which a dimension that is
        not known is None. By default they are broadcast, as by a function of elements.
    dtype : DType, optional
        Of the result; by default that of the first floating argument.

    Returns
    -------
    callable
        Takes tensors, variables, arrays and numbers.

    Examples
    --------
    A function of elements:

    >>> import numpy as np, scipy.special
    >>> import tape_api as tf
    >>> gamma = tf.primitive(scipy.special.gamma, lambda ct, out, x: ct * out * tf.math.digamma(x))
    >>> x = tf.constant([1.0, 3.0], tf.float64)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = gamma(x)
    >>> tape.gradient(y, x).numpy().round(6)
    array([-0.577216,  1.845569])

    A rule for tangents serves gradients as well:

    >>> cbrt = tf.primitive(np.cbrt, jvp=lambda tangents, out, x: tangents[0] / (3 * out**2))
    >>> tf.for_scipy(lambda x: tf.reduce_sum(cbrt(x)), x).jac([1.0, 8.0])
    array([0.33333333, 0.08333333])

    A linear solver, and that of the transposed matrix; each has the other for its rule:

    >>> from scipy.linalg import lu_factor, lu_solve
    >>> lu = lu_factor(np.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> solve = tf.primitive(lambda b: lu_solve(lu, b), lambda ct, out, b: transposed(ct))
    >>> transposed = tf.primitive(lambda b: lu_solve(lu, b, trans=1), lambda ct, out, b: solve(ct))
    >>> tf.for_scipy(lambda b: solve(b) ** 2, x).jac([3.0, 4.0])
    array([[ 1.  , -0.25],
           [ 0.  ,  0.5 ]])
    """
    given = getattr(fn, "__name__", type(fn).__name__)
    name = "primitive" if given == "<lambda>" else given
    rules = vjp, jvp
    if vjp is None and jvp is not None:
        vjp = _transposed(name, jvp)
    op = primitive_op(name, fn, vjp, jvp, shape, None if dtype is None else as_dtype(dtype))

    version = _Version(rules)

    def applied(*args: Any) -> Operand:
        if not args:
            raise TypeError(f"{name}: a primitive takes at least one argument")
        beside = next((a.dtype for a in args if isinstance(a, Value)), None)
        # a number takes the dtype of the tensor beside it; an array keeps its own
        values = [as_operand(a, beside if isinstance(a, (int, float, complex)) else None, name) for a in args]
        return op(*map(as_value, values), version=version())

    return named(applied, name, fn.__doc__)


class _Version:
    """Gives a number as long as all that rules look at is the same, then another one.

    Where that cannot be told it gives something that no cache takes for a key.
    """

    def __init__(self, rules: Any) -> None:
        self._rules, self._numbers = rules, itertools.count()
        self._known: tuple[State, int] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Version, (self._rules,)

    def __call__(self) -> Any:
        """The number."""
        try:
            now = state_of(*self._rules, last=None if self._known is None else self._known[0])
        except Unknown:
            return object()
        known = self._known
        if known is None or known[0] != now:
            known = self._known = now, next(self._numbers)
        return known[1]


class _Busy(threading.local):
    """Whether a thread is looking at a rule."""

    looking = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _Busy, ()


def _transposed(name: str, jvp: Callable[..., Any]) -> Callable[..., Any]:
    """The reverse rule that is the transpose of a forward rule: the rule is recorded, and its recording pulled back.

    It is the counterpart of what `engine.derivatives.forward` does for ops with a reverse rule only.
    """
    busy = _Busy()

    def vjp(ct: Any, out: Any, *args: Any) -> list[Any]:
        if busy.looking:
            # a linear solver, say: the transpose of the rule would be made of itself
            raise UnimplementedError(
                f"{name}: its jvp applies it to a tangent, so that the transpose of the jvp is not known without its "
                f"own; give it a rule for cotangents: tf.primitive(fn, vjp, jvp)"
            )
        busy.looking = True
        try:
            return transpose(ct, out, *args)
        finally:
            busy.looking = False

    def transpose(ct: Any, out: Any, *args: Any) -> list[Any]:
        carries = [dtype_of(x).is_differentiable for x in args]
        fixed = [as_value(zeros_like(of_one(x))) for x in args]

        def pushed(tangents: list[Any], *operands: Any) -> Any:
            given = iter(tangents)
            return jvp(tuple([next(given) if c else z for c, z in zip(carries, fixed, strict=True)]), *operands)

        points = [x for x, c in zip(args, carries, strict=True) if c]
        if not is_linear_map(lambda tangents: pushed(tangents, *map(of_one, (out, *args))), [*map(of_one, points)]):
            raise UnimplementedError(
                f"{name}: reverse mode needs the transpose of its jvp, and the jvp is not seen to be linear in the "
                f"tangents (it clips, squares or reads them, say), so it has none. Use forward mode (jvp, "
                f"ForwardAccumulator), or give the function a rule for cotangents: tf.primitive(fn, vjp, jvp)"
            )
        tape = Tape()
        tangents = [as_value(ones_like(x)) for x in points]
        for t in tangents:
            tape.watch(t)
        tape.start()
        try:
            result = pushed(tangents, out, *args)
        finally:
            tape.stop()
        found = iter(reverse(tape.nodes, [(result, ct)], tangents) if isinstance(result, Value) else [])
        return [next(found, None) if c else None for c in carries]

    return vjp
