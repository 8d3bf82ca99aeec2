"""Complex numbers: parts, modulus, angle, conjugate.

Gradients follow TensorFlow: the gradient of a real function is the conjugate of its derivative, so that descent goes
against it (see `engine.core.kinds`). In other words every reverse rule here is the adjoint of its forward rule for the
real inner product ``Re(conj(a) * b)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import elementwise_rule
from engine.core.dtypes import COMPLEX, NUMERIC, complex64, complex128, float32, float64
from engine.core.kinds import check_dtype, elementwise_abstract, general, linear, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import ELEMENTWISE
from engine.core.structural import conj as _conj
from engine.core.structural import scale, sum_to_like
from engine.core.value import aval_of, dtype_of
from engine.ops import arithmetic
from engine.ops.arithmetic import over_length, real_abs
from engine.ops.compare import equal, less, where
from engine.ops.creation import ones_like, zeros_like
from engine.runtime import elementary

# ---- complex from parts, and parts from complex ----------------------------------------------------------------------


def _parts_abstract(real: Aval, imag: Aval) -> Aval:
    check_dtype("complex", "real", real, (float32, float64))
    dtype = same_dtype("complex", ("real", "imag"), (real, imag))
    return Aval(broadcast_shapes("complex", real.shape, imag.shape), complex128 if dtype is float64 else complex64)


def _complex_kernel(real: Any, imag: Any) -> np.ndarray:
    out = np.empty(np.broadcast(real, imag).shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    out.real, out.imag = real, imag
    return out


def _to_complex(x: Any) -> Operand:
    return complex_op(x, zeros_like(x))


def _times_i(x: Any) -> Operand:
    return complex_op(zeros_like(x), x)


complex_op = general(
    "complex_op",
    _complex_kernel,
    _parts_abstract,
    vjp=(lambda ct, out, x, y: sum_to_like(real_op(ct), x), lambda ct, out, x, y: sum_to_like(imag_op(ct), y)),
    jvp=(lambda t, out, x, y: complex_op(t, zeros_like(y)), lambda t, out, x, y: complex_op(zeros_like(x), t)),
    batch=elementwise_rule,
    type="Complex",
    args=("real", "imag"),
    sparsity=ELEMENTWISE,
    doc="``real + 1j * imag``.",
)


def _real_abstract(name: str) -> Callable[[Aval], Aval]:
    """Abstract evaluation of a real-valued function of a complex value."""

    def abstract(x: Aval) -> Aval:
        check_dtype(name, "input", x, COMPLEX)
        return Aval(x.shape, x.dtype.real_dtype)

    return abstract


def _part(name: str, kernel: Callable[..., Any], back: Callable[[Any], Operand], word: str) -> Op:
    return linear(
        f"{name}_op",
        kernel,
        lambda ct, x: back(ct),
        _real_abstract(name),
        elementwise_rule,
        type=name.capitalize(),
        args=("input",),
        sparsity=ELEMENTWISE,
        layout=Layout.PART,
        doc=f"{word} part of a complex value.",
    )


real_op = _part("real", np.real, _to_complex, "Real")
imag_op = _part("imag", np.imag, _times_i, "Imaginary")


@operands("real", "imag")
def complex(real: Any, imag: Any) -> Operand:
    """``real + 1j * imag`` of two float32 or two float64 values, broadcast together.

    Examples
    --------
    >>> complex(np.array([1.0]), np.array([2.0]))
    array([1.+2.j])
    """
    return complex_op(real, imag)


@operands("input")
def real(input: Any) -> Operand:
    """Real part; a real value is returned as it is."""
    check_dtype("real", "input", aval_of(input), NUMERIC)
    return real_op(input) if dtype_of(input).is_complex else input


@operands("input")
def imag(input: Any) -> Operand:
    """Imaginary part; zeros for a real value."""
    check_dtype("imag", "input", aval_of(input), NUMERIC)
    return imag_op(input) if dtype_of(input).is_complex else zeros_like(input)


@operands("x")
def conj(x: Any) -> Operand:
    """Complex conjugate; a real value is returned as it is."""
    check_dtype("conj", "x", aval_of(x), NUMERIC)
    return _conj(x)


# ---- modulus, sign, angle --------------------------------------------------------------------------------------------


def _abs_vjp(ct: Any, out: Any, x: Any) -> Operand:
    return scale(_to_complex(ct), complex_sign(x))


# the derivative of a zero that was computed, times one that there is not, is not known
_abs_vjp.product = lambda ct, out, x: _to_complex(ct) * complex_sign(x)  # type: ignore[attr-defined]
_abs_vjp.reach = lambda mask, out, x: _to_complex(mask)  # type: ignore[attr-defined]

complex_abs = general(
    "complex_abs",
    lambda x: elementary.hypot(x.real, x.imag),
    _real_abstract("abs"),
    vjp=(_abs_vjp,),
    jvp=(lambda t, out, x: real_op(scale(t, _conj(complex_sign(x)))),),
    batch=elementwise_rule,
    type="ComplexAbs",
    sparsity=ELEMENTWISE,
    doc="Modulus of a complex value, real. Its derivative at 0 is 0.",
)


def _tangential(d: Any, out: Any, x: Any) -> Operand:
    """`d` without its component along x, over ``|x|``: the derivative of ``x / |x|``, which is its own adjoint."""
    return _across(d, out) / _to_complex(complex_abs(x))


def _across(d: Any, sign: Any) -> Operand:
    """`d` without its component along a unit vector: nothing is subtracted."""
    return sign * _times_i(imag_op(d * _conj(sign)))


complex_sign = general(
    "complex_sign",
    np.sign,
    elementwise_abstract("sign", ("x",), COMPLEX, None),
    vjp=(_tangential,),
    jvp=(_tangential,),
    batch=elementwise_rule,
    type="Sign",
    sparsity=ELEMENTWISE,
    doc="``x / abs(x)`` of a complex value, 0 at 0.",
)


def _modulus_change(d: Any, out: Any, ct: Any, x: Any, slope: Any) -> Operand:
    r = complex_abs(x)
    across = where(equal(r, zeros_like(r)), d, _across(d, complex_sign(x)))
    return _to_complex(over_length(real_op(ct), r, real_op(slope))) * across


modulus_sloped = general(
    "modulus_sloped",
    lambda ct, x, slope: np.multiply(np.broadcast_arrays(ct, slope)[0], np.sign(x)),
    elementwise_abstract("modulus_sloped", ("ct", "x", "slope"), COMPLEX, None),
    vjp=(
        lambda d, out, ct, x, slope: sum_to_like(d * _conj(complex_sign(x)), ct),
        lambda d, out, ct, x, slope: sum_to_like(_modulus_change(d, out, ct, x, slope), x),
        None,
    ),
    jvp=(lambda t, out, ct, x, slope: t * complex_sign(x), _modulus_change, None),
    batch=elementwise_rule,
    args=("ct", "x", "slope"),
    sparsity=ELEMENTWISE,
    doc="``ct * complex_sign(x)``, the gradient of a function of a modulus, if real `ct` change by `slope` with it.",
)
angle_op = general(
    "angle_op",
    lambda x: elementary.arctan2(x.imag, x.real),
    _real_abstract("angle"),
    vjp=(lambda ct, out, x: scale(_times_i(ct), arithmetic.reciprocal(_conj(x))),),
    jvp=(lambda t, out, x: imag_op(scale(t, arithmetic.reciprocal(x))),),
    batch=elementwise_rule,
    type="Angle",
    sparsity=ELEMENTWISE,
    doc="Argument of a complex value, radians in [-pi, pi].",
)


@operands("x")
def abs(x: Any) -> Operand:
    """Absolute value; of a complex value the modulus, which is real. Its derivative at 0 is 0.

    Examples
    --------
    >>> abs(np.array([-1.0])), abs(np.array([3 + 4j]))
    (array([1.]), array([5.]))
    """
    return complex_abs(x) if dtype_of(x).is_complex else real_abs(x)


@operands("x")
def sign(x: Any) -> Operand:
    """-1, 0 or 1; of a complex value ``x / abs(x)``, 0 at 0.

    The derivative is 0 for real values. For complex ones it is the true derivative (TensorFlow returns zeros there).
    """
    return complex_sign(x) if dtype_of(x).is_complex else arithmetic.sign(x)


@operands("input")
def angle(input: Any) -> Operand:
    """Argument of a complex value in radians; of a real value 0, or pi where it is negative."""
    if dtype_of(input).is_complex:
        return angle_op(input)
    zero = zeros_like(input)
    return where(less(input, zero), np.pi * ones_like(input), zero)
