"""Rows of `engine.ops.einsum`."""

from typing import Any

import numpy as np

from engine.ops import einsum
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")


def _einsum(equation: str, *shapes: tuple[int, ...], label: str = "", reorders: bool = False) -> Row:
    return Row(
        einsum.einsum_op,
        tuple(real(*shape) for shape in shapes),
        dtypes=ALL,
        label=label or equation,
        reorders=reorders,
        call=lambda *x: einsum.einsum(equation, *x),
        oracle=lambda *x: np.einsum(equation, *x),
        # TensorFlow wants the ellipsis of the result written out
        tf=None if "..." in equation and "->" not in equation else lambda tf, *x: tf.einsum(equation, *x),
    )


def _tensordot(a: tuple[int, ...], b: tuple[int, ...], axes: Any) -> Row:
    return Row(
        einsum.einsum_op,
        (real(*a), real(*b)),
        label=f"tensordot {axes}",
        call=einsum.tensordot,
        args=(axes,),
        oracle=lambda x, y: np.tensordot(x, y, axes),
        tf="tensordot",
    )


ROWS = (
    Row(einsum.einsum_op, (real(2, 3), real(3, 4)), {"equation": "ij,jk->ik"}, oracle=np.matmul),
    _einsum("ij,jk->ki", (2, 3), (3, 4)),
    _einsum("ij,jk", (2, 3), (3, 4)),
    _einsum("ba,ac", (2, 3), (3, 4)),
    _einsum("ij,ij->", (2, 3), (2, 3)),
    _einsum("ij,ij->i", (2, 3), (2, 3)),
    _einsum("ij,ij->ji", (2, 3), (2, 3)),
    _einsum("i,j->ji", (2,), (3,)),
    _einsum(",ij->ij", (), (2, 3)),
    _einsum("bik,bkj->bij", (4, 2, 3), (4, 3, 5)),
    _einsum("bik,kjb->jib", (4, 2, 3), (3, 5, 4)),
    _einsum("abcd,cbe->dae", (2, 3, 4, 5), (4, 3, 6)),
    _einsum("ij,kl->jl", (2, 3), (4, 5)),
    _einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    _einsum("i,ij,j->", (2,), (2, 3), (3,), reorders=True),
    _einsum("ij->ji", (2, 3)),
    _einsum("ij->", (2, 3)),
    _einsum("ji", (2, 3)),
    _einsum("ii->i", (3, 3)),
    _einsum("ii->", (3, 3)),
    _einsum("iji->j", (3, 2, 3)),
    _einsum("iij,jk->ik", (3, 3, 2), (2, 4)),
    _einsum("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)),
    _einsum("...ij,...jk->...ik", (6, 1, 2, 3), (5, 3, 4), label="ellipses broadcast"),
    _einsum("i...,i...->...", (3, 2, 1), (3, 4), label="ellipsis behind"),
    _einsum("...i,...j", (3, 2), (4,), label="implicit ellipsis"),
    _einsum("ij,jk->ik", (0, 3), (3, 2), label="size 0"),
    _einsum("ij,jk->ik", (2, 0), (0, 2), label="nothing to sum"),
    _tensordot((2, 3, 4), (3, 4, 5), 2),
    _tensordot((2, 3), (4,), 0),
    _tensordot((2, 3, 4), (4, 5, 3), [[2, 1], [0, 2]]),
)
