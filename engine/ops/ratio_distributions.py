"""The distributions of Student's t and of F, the ratio of two means of squares, and their degrees of freedom.

The slopes in these are integrals of the derivative of the density, by `engine.ops.tail_kernels`, of the tail that is
nearer.
"""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import FLOATING
from engine.core.kinds import elementwise, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.structural import scale
from engine.ops import tail_kernels
from engine.ops.arithmetic import square
from engine.ops.creation import ones_like
from engine.ops.scipy_special import share
from engine.ops.special import in_double, no_second_derivative, scipy_kernel, typed_kernel

_F: dict[str, Any] = {"args": ("dfn", "dfd", "x"), "accepts": FLOATING, "module": __name__}
_no_more = no_second_derivative("fdtr, fdtrc", "`dfn` or `dfd`", "`x`")


def _score_dx(out: Any, dfn: Any, dfd: Any, x: Any) -> Operand:
    ratio = dfn / dfd
    return square(ratio / (1 + ratio * x)) * (1 - x)


ratio_score = elementwise(
    "ratio_score",
    typed_kernel(tail_kernels.ratio_score),
    (_no_more, _no_more, _score_dx),
    doc="Derivative of the logarithm of `f_density` in ``dfd / 2``.",
    **_F,
)


def _scores(second: bool, dfn: Any, dfd: Any, x: Any) -> Operand:
    return 0.5 * (ratio_score(dfn, dfd, x) if second else ratio_score(dfd, dfn, 1 / x))


f_density = elementwise(
    "f_density",
    typed_kernel(tail_kernels.f_density),
    (
        lambda out, *args: scale(out, _scores(False, *args)),
        lambda out, *args: scale(out, _scores(True, *args)),
        lambda out, dfn, dfd, x: out * (share(0.5 * dfn - 1, x) - 0.5 * dfn - dfn / dfd) / (1 + dfn / dfd * x),
    ),
    doc="Density of the F distribution.",
    **_F,
)
fdtr_by_df = elementwise(
    "fdtr_by_df",
    typed_kernel(tail_kernels.fdtr_by_df),
    (_no_more, _no_more, lambda out, *args, second: scale(f_density(*args), _scores(second, *args))),
    doc="Derivative of `fdtr` in `dfn`, or `dfd` if `second`.",
    **_F,
)


def _f_tail(name: str, upper: bool) -> Op:
    sign = -1 if upper else 1
    return elementwise(
        name,
        typed_kernel(lambda dfn, dfd, x: tail_kernels.fdtr(dfn, dfd, x, upper)),
        (
            lambda out, *args: sign * fdtr_by_df(*args, second=False),
            lambda out, *args: sign * fdtr_by_df(*args, second=True),
            lambda out, *args: sign * f_density(*args),
        ),
        doc=f"{'Upper' if upper else 'Lower'} tail of the F distribution.",
        **_F,
    )


fdtr, fdtrc = _f_tail("fdtr", False), _f_tail("fdtrc", True)


def _t_density_ddf(out: Any, df: Any, t: Any) -> Operand:
    return scale(out, 0.5 * ratio_score(ones_like(df), df, square(t)))


t_density = real_elementwise(
    "t_density",
    typed_kernel(tail_kernels.t_density),
    (in_double(lambda: t_density, _t_density_ddf), lambda out, df, t: -out * (df + 1) / (df / t + t)),
    args=("df", "t"),
    doc="Density of Student's t.",
)
stdtr_by_df = real_elementwise(
    "stdtr_by_df",
    typed_kernel(tail_kernels.stdtr_by_df),
    (
        no_second_derivative("stdtr, stdtrit", "`df`", "`t` or `p`"),
        in_double(lambda: stdtr_by_df, lambda out, df, t: _t_density_ddf(t_density(df, t), df, t), False),
    ),
    args=("df", "t"),
    doc="Derivative of `stdtr` in `df`.",
)
stdtr = real_elementwise(
    "stdtr",
    scipy_kernel("stdtr"),
    (lambda out, df, t: stdtr_by_df(df, t), lambda out, df, t: t_density(df, t)),
    args=("df", "t"),
    doc="Distribution function of Student's t.",
)
stdtrit = real_elementwise(
    "stdtrit",
    scipy_kernel("stdtrit"),
    (
        in_double(lambda: stdtrit, lambda out, df, p: -stdtr_by_df(df, out) / t_density(df, out)),
        in_double(lambda: stdtrit, lambda out, df, p: 1 / t_density(df, out)),
    ),
    args=("df", "p"),
    doc="Inverse of `stdtr` in its second argument.",
)
