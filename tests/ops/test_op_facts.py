"""What ops say of themselves for the compiler, tried on their kernels."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from engine.compiler.ir.kernels import diagonal_product, identity_product, number_like
from engine.compiler.passes.inplace_concat import alloc, write_rows
from engine.compiler.passes.inplace_scatter import write_entries
from engine.compiler.passes.outer_sum import outer_sum
from engine.compiler.passes.slice_sum import slice_sum
from engine.core.eager import EagerTensor
from engine.core.op import Layout, Op
from engine.core.value import aval_of
from tests.op_table import OPS, ROWS
from tests.support import assert_same_bits

SKIPPED = ("custom_call", "closed_call")


@dataclass(frozen=True)
class Call:
    """One call of an op's kernel."""

    op: Op
    operands: Sequence[Any]
    params: dict[str, Any]

    def __call__(self, *operands: Any) -> list[Any]:
        found = self.op.kernel(*(operands or self.operands), **self.params)
        return list(found) if self.op.multi else [found]

    def with_operand(self, i: int, x: Any) -> list[Any]:
        return self(*[x if j == i else other for j, other in enumerate(self.operands)])

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(str(np.shape(x)) for x in self.operands)}, {self.params})"


def _program_calls() -> Iterator[Call]:
    a, row = np.arange(1.0, 13.0).reshape(3, 4), np.arange(1.0, 5.0)
    yield Call(identity_product, [a], {"transpose": False})
    yield Call(identity_product, [a], {"transpose": True})
    yield Call(diagonal_product, [a, row[None]], {"transpose": False})
    yield Call(number_like, [a], {"number": 2.5})
    yield Call(alloc, [], {"shape": (3,), "dtype": np.dtype(float)})
    yield Call(write_rows, [np.zeros((5, 4)), a], {"start": 1})
    yield Call(write_entries, [np.zeros((5, 4)), np.array([[3]]), row[None]], {})
    column = row[:, None]
    for start in ([], [np.eye(4)]):
        factors = [*start, column, row[None], row[None], column]
        yield Call(outer_sum, factors, {"aval": aval_of(np.eye(4)), "turned": ((False, False), (True, True))})
    yield Call(
        slice_sum, [a, row], {"aval": aval_of(np.eye(4)), "keys": ((slice(1, 4),), (slice(None), 2)), "hows": "+-"}
    )


@cache
def calls() -> tuple[Call, ...]:
    """The calls of kernels that the rows make, with operands in C order and in another, and those of programs."""
    seen: list[Call] = []
    for row in ROWS:
        op, kernel = row.op, row.op.kernel
        if op.stateful or op.name in SKIPPED:
            continue
        noted: list[Call] = []

        def spy(*operands: Any, op: Op = op, kernel: Any = kernel, to: list[Call] = noted, **params: Any) -> Any:
            to.append(Call(op, operands, params))
            return kernel(*operands, **params)

        object.__setattr__(op, "kernel", spy)
        try:
            row.apply(*[EagerTensor(a) for a in row.arrays(row.dtypes[-1])])
        finally:
            object.__setattr__(op, "kernel", kernel)
        seen += noted[:4]
    turned = [Call(c.op, [_turned(x) for x in c.operands], c.params) for c in seen]
    return (*seen, *turned, *_program_calls())


def _turned(x: Any) -> Any:
    return np.asfortranarray(x) if isinstance(x, np.ndarray) and x.ndim else x


def of_ops(wanted: Callable[[Op], bool], least: int) -> list[Call]:
    """The calls of ops that say something, of which there must be so many."""
    found = [call for call in calls() if wanted(call.op)]
    assert len({call.op for call in found}) >= least
    return found


def test_results_share_memory_only_with_the_operands_that_an_op_names() -> None:
    sharing = set()
    for call in of_ops(lambda op: op.shares is not None, 130):
        for i, x in enumerate(call.operands):
            shared = any(isinstance(x, np.ndarray) and np.may_share_memory(x, out) for out in call())
            assert i in (call.op.shares or ()) or not shared, call
            sharing |= {call.op} if shared else set()
    # nor does an op name an operand for nothing
    said = {call.op for call in calls() if call.op.shares}
    assert said == sharing


def test_a_nan_is_kept_where_an_op_says_so() -> None:
    for call in of_ops(lambda op: op.keeps_nan != (), 20):
        for i in call.op.nan_keepers(call.params, len(call.operands)):
            x = call.operands[i]
            for k in range(min(np.size(x), 12)) if x.dtype.kind in "fc" and all(o.size for o in call()) else ():
                broken = np.array(x)
                broken.flat[k] = np.nan
                # a zero beside it may choose
                zeros = [np.zeros_like(o) if np.asarray(o).dtype.kind in "fc" else o for o in call.operands]
                for one in (call, Call(call.op, zeros, call.params)):
                    assert all(np.isnan(out).any() for out in one.with_operand(i, broken)), one


def test_operands_change_places_where_an_op_says_so() -> None:
    special = [0.0, -0.0, 1.5, -1e-320, 1e308, np.inf, -np.inf, np.nan]
    a, b = np.array(list(itertools.product(special, special)))[: -len(special)].T.copy()
    ops = {call.op for call in of_ops(lambda op: op.commutes, 2)}
    with np.errstate(all="ignore"):
        for op, dtype in itertools.product(ops, (np.float32, np.float64)):
            x, y = a.astype(dtype), b.astype(dtype)
            assert_same_bits([op.kernel(x, y)], [op.kernel(y, x)])
        whole = np.array([-(2**31), -1, 0, 3, 2**31 - 1], np.int32)
        for op in ops:
            assert_same_bits([op.kernel(whole, whole[:, None])], [op.kernel(whole[:, None], whole)])


def test_elementwise_kernels_may_be_run_on_a_part() -> None:
    tried = 0
    for call in of_ops(lambda op: op.elementwise, 100):
        (out,) = call()
        operands = np.broadcast_arrays(*call.operands)
        assert out.shape == operands[0].shape, call
        flat = [x.ravel() for x in operands]
        for part in (slice(0, 1), slice(1, None), slice(None, None, 2)) if out.size > 1 else ():
            np.testing.assert_allclose(
                call(*[x[part] for x in flat])[0], out.ravel()[part], rtol=1e-6, err_msg=str(call)
            )
            tried += 1
    assert tried > 300


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_correctly_rounded_results_are_the_same_wherever_in_an_array_an_element_lies() -> None:
    ops = [op for op in OPS.values() if op.rounds_correctly]
    assert len(ops) >= 8
    rng = np.random.default_rng(0)
    for op in ops:
        for dtype in (np.float32, np.float64):
            for size in (1, 2, 3, 5, 8, 15, 31, 64, 100):
                operands = [rng.standard_normal(size + 3).astype(dtype)[3:] for _ in op.args]
                whole = op.kernel(*operands)
                alone = np.array([op.kernel(*[x[k : k + 1] for x in operands])[0] for k in range(size)])
                scalars = np.array([op.kernel(*[x[k] for x in operands]) for k in range(size)])
                assert whole.tobytes() == alone.tobytes() == scalars.tobytes(), (op, dtype, size)


def test_calls_that_take_out_write_there() -> None:
    tried = set()
    for call in of_ops(lambda op: op.takes_out, 40):
        (want,) = call()
        out = np.zeros_like(want, order="C") if isinstance(want, np.ndarray) and want.ndim else None
        if out is None:
            continue
        if call.op.inline is None:
            got = call.op.kernel(*call.operands, **call.params, out=out)
        else:
            text = call.op.inline([aval_of(x) for x in call.operands], call.params)
            if text is None:
                continue
            names = [f"x{i}" for i in range(len(call.operands))]
            code = f"{text.format(*names).removesuffix(')')}, out=out)"
            got = eval(code, {"np": np, "out": out, **dict(zip(names, call.operands, strict=True))})
        assert got is out, call
        assert out.tobytes() == np.ascontiguousarray(want).tobytes(), call
        tried.add(call.op.name)
    assert {"matmul_op", "concat_op", "stack_op", "add"} <= tried


def test_ops_that_fill_or_repeat_do() -> None:
    for call in of_ops(lambda op: op.fill is not None, 3):
        assert call.op.fill is not None
        assert all((out == call.op.fill(**call.params)).all() for out in call())
    for call in of_ops(lambda op: op.repeats, 15):
        x = call.operands[0]
        if x.dtype.kind == "f" and not call.params.get("mean"):
            assert all((out == 2.5).all() for out in call.with_operand(0, np.full_like(x, 2.5))), call


def test_what_kinds_derive_is_consistent() -> None:
    """A view shares memory, a ufunc takes ``out=``, and what only moves data can repeat."""
    for name, op in OPS.items():
        if op.layout in (Layout.VIEW, Layout.PART):
            assert op.shares == (0,), name
        if op.is_ufunc:
            assert op.takes_out and op.elementwise and op.shares == () and op.layout is Layout.LIKE, name
        if op.repeats:
            assert op.moves or op.name == "spread_like_op", name


def test_what_ops_add_up_has_a_factor_of_one() -> None:
    """Such an op counts ones, and counts none of them twice."""
    adding = of_ops(lambda op: op.adds and not op.moves, 9)
    for call in adding:
        x = call.operands[0]
        if x.dtype.kind == "f":
            (total,) = call.with_operand(0, np.ones_like(x))
            assert (total == np.round(total)).all() and 0 <= total.sum() <= x.size, call
            (double,) = call.with_operand(0, np.full_like(x, 2.0))
            assert (double == 2.0 * total).all(), call
