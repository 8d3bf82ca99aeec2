"""The passes that make programs fast: each does what it says, and changes no bit."""

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.layout import Order
from engine.compiler.lowering import REWRITES
from engine.compiler.pipeline import ALL_PASSES, DEFAULT_PASSES, PIPELINE, Pass, table
from engine.compiler.verify import verify_instructions
from engine.core.aval import Aval
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.dtypes import float32, float64
from engine.core.eager import EagerTensor
from engine.core.nest import flatten
from engine.core.structural import reshape_to, scale
from engine.core.tape import Tape
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.ops import arithmetic, explog, joining, linalg, shape, trig
from engine.ops.compare import where
from engine.ops.creation import identity_like
from engine.runtime.errors import ShapeError
from graph_api.control_flow.flow import python_call
from tests.compiler.test_program import SUBSETS, lowered, names, numbers
from tests.support import assert_same_bits, noted

ALWAYS = ("fold", "cse", "prune")


def eye(n: int, *columns: int) -> Any:
    return np.eye(n, dtype=np.float32).reshape(n, *(columns or (n,)))


# ---- Jacobians, with any of the passes -------------------------------------------------------------------------------


def network(x: Any, *weights: Any) -> Any:
    """A vector through layers of neurons."""
    for w in weights:
        x = trig.tanh(shape.reshape(linalg.matmul(shape.reshape(x, (1, -1)), w), (-1,)))
    return x


def recurrent(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = trig.tanh(linalg.matvec(w, x) + x)
    return x


def rooted(x: Any) -> Any:
    """Singular partials, behind a choice that sends them zeros."""
    return explog.sqrt(where(x > 0, x, arithmetic.multiply(x, 0.0))) * x + where(x > 0, explog.sqrt(x), x)


def rows(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """The Jacobian by one reverse walk with the identity as a batch of cotangents."""
    nodes = x.trace.nodes
    y = f(x, *others)
    count = int(np.prod(y.aval.shape))
    with batch_level() as level:
        (found,) = reverse(list(nodes), [(y, Batched(identity_like(y, first=0, count=count), level))], [x])
        return unbatch(found, level, count)


def columns(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """The Jacobian's transpose by one forward walk."""
    nodes = x.trace.nodes
    y = f(x, *others)
    count = int(np.prod(x.aval.shape))
    with batch_level() as level:
        (found,) = forward(list(nodes), [(x, Batched(identity_like(x, first=0, count=count), level))], [y])
        return unbatch(found, level, count)


WEIGHTS = [numbers(5, 7) / 2, numbers(7, 4), numbers(4, 6)]
PROBLEMS = {
    "network": (network, [numbers(5), *WEIGHTS]),
    "network with negative zeros": (network, [numbers(5), *[np.where(w < 0, -0.0, w).astype("f4") for w in WEIGHTS]]),
    "network with infinities": (network, [numbers(5), *[np.where(w > 1, np.inf, w).astype("f4") for w in WEIGHTS]]),
    "recurrent": (recurrent, [numbers(6), numbers(6, 6) / 3]),
    "singular": (rooted, [np.float32([1.0, 0.0, -2.0, 4.0])]),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS)


@every_problem
def test_any_passes_give_the_same_jacobian(problem: str) -> None:
    f, inputs = PROBLEMS[problem]
    few = 2 * len(ALL_PASSES) + 2
    # each pass with every problem, each two of them with one, by rows or by columns
    pairs = SUBSETS[few + list(PROBLEMS).index(problem) :: len(PROBLEMS)]
    for k, sweep in enumerate((rows, columns)):
        tried = [*SUBSETS[:few], *pairs[k::2]]
        both = lambda *xs, sweep=sweep: sweep(f, *xs)  # noqa: E731
        expected = lowered(both, inputs, ALWAYS)(*inputs)
        for passes in tried:
            with noted(passes):
                assert_same_bits(lowered(both, inputs, passes)(*inputs), expected)


@every_problem
def test_a_compiled_jacobian_is_that_of_single_gradients(problem: str) -> None:
    f, inputs = PROBLEMS[problem]
    (jacobian,) = lowered(lambda *xs: rows(f, *xs), inputs)(*inputs)
    for i, row in enumerate(jacobian):
        np.testing.assert_allclose(row, one_row(f, inputs, i), rtol=1e-4, atol=1e-6)


def one_row(f: Callable[..., Any], inputs: Sequence[Any], i: int) -> Any:
    x, *others = [EagerTensor(a) for a in inputs]
    tape = Tape()
    tape.watch(x)
    tape.start()
    y = f(x, *others)
    tape.stop()
    (found,) = reverse(tape.nodes, [(y, eye(y._array.size)[i])], [x])
    return found


# ---- one product instead of many -------------------------------------------------------------------------------------


def test_a_stack_of_vectors_times_a_matrix_is_one_product() -> None:
    stack, w = numbers(5, 1, 3), numbers(4, 3)
    program = lowered(lambda a, w: shape.reshape(linalg.matmul(a, w, transpose_b=True), (5, 4)), [stack, w])
    assert names(program) == ["reshape_to", "matmul_op"]
    assert "reshape((5, 3))" in program.source() and ".dot(v1.T)" in program.source()
    columns = lowered(lambda w, b: linalg.matmul(w, b), [numbers(4, 7), numbers(5, 7, 1)])
    assert names(columns) == ["reshape_to", "matmul_op", "reshape_to"]
    assert columns.report["shape_specialization"] == 1
    # a small matrix is multiplied in one order, vector by vector
    assert names(lowered(lambda w, b: linalg.matmul(w, b), [w, numbers(5, 3, 1)])) == ["matmul_op"]


def test_a_part_of_a_cotangent_needs_nothing_of_what_was_joined() -> None:
    given = [numbers(3, 4), numbers(3, 2), numbers(3, 6)]

    def f(x: Any, y: Any, ct: Any) -> Any:
        joined = [trig.sin(x), trig.cos(y)]
        return [joining.concat_piece(ct, *joined, axis=axis, position=1) for axis in (1, -1)]

    program = lowered(f, given)
    assert names(program) == ["getitem_op"]
    for got in program(*given):
        assert_same_bits(got, given[2][:, 4:])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_products_of_matrices_and_vectors(dtype: str) -> None:
    x, y, w = (numbers(*s).astype(dtype) for s in [(3,), (4,), (3, 4)])

    def f(x: Any, y: Any, w: Any) -> Any:
        row, column = shape.expand_dims(x, 0), shape.expand_dims(y, 1)
        rows = [linalg.matmul(row, w), linalg.matmul(column, w, transpose_a=True, transpose_b=True)]
        return [shape.reshape(r, (-1,)) for r in rows] + [linalg.matvec(w, y), linalg.matvec(w, x, transpose_a=True)]

    program, plain = lowered(f, [x, y, w]), lowered(f, [x, y, w], ALWAYS)
    assert_same_bits(program(x, y, w), plain(x, y, w))
    for step in (2, -1):
        strided = [np.repeat(a, abs(step))[::step] for a in (x, y)]
        assert_same_bits(program(*strided, np.asfortranarray(w)), plain(*strided, np.asfortranarray(w)))


def test_a_column_times_a_row_is_no_sum() -> None:
    columns, rows = numbers(3, 1), numbers(5, 1, 4)
    assert_same_bits([linalg.matmul(columns, rows)], [columns * rows])
    with pytest.raises(ShapeError, match="inner dimensions must agree"):
        linalg.matmul(EagerTensor(columns), EagerTensor(numbers(5, 2, 4)))


def test_reshapes_in_a_row_are_one() -> None:
    x = numbers(2, 3)
    f = lambda x: [trig.sin(shape.expand_dims(shape.expand_dims(x, 1), 0)), shape.squeeze(shape.expand_dims(x, 0), 0)]  # noqa: E731
    program = lowered(f, [x])
    assert names(program) == ["reshape_to", "sin"] and program.outputs[1] == program.inputs[0]


def test_reshapes_that_copy_stay() -> None:
    # joined reshapes would leave the elements in another order in memory, and sums in another order
    x = np.asfortranarray(numbers(3, 4))
    f = lambda x: shape.reshape(shape.reshape(x, (12,)), (3, 4))  # noqa: E731
    (out,) = lowered(f, [x])(x)
    assert out.flags.c_contiguous


# ---- products of cotangents ------------------------------------------------------------------------------------------


def test_products_are_plain_where_nothing_was_chosen() -> None:
    f, inputs = PROBLEMS["network"]
    assert "scale" not in names(lowered(lambda *xs: rows(f, *xs), inputs))


def test_zero_times_infinity_is_zero_where_nothing_was_chosen() -> None:
    ct, w = np.float32([[0.0, 2.0]]), np.float32([[1.0], [1.0]])
    f = lambda ct, p, w: linalg.matmul(scale(ct, p), w)  # noqa: E731
    bad, good = np.float32([np.inf, 3.0]), np.float32([5.0, 3.0])
    program, plain = lowered(f, [ct, good, w]), lowered(f, [ct, good, w], ALWAYS)
    for partial in (good, bad, np.float32([np.nan, 1.0]), np.float32([np.nan, np.inf])):
        for _ in range(10):
            assert_same_bits(program(ct, partial, w), plain(ct, partial, w))
        assert_same_bits(program.run_generated(ct, partial, w), plain(ct, partial, w))


def test_effects_are_not_repeated() -> None:
    calls: list[int] = []

    def look(x: Any) -> Any:
        calls.append(1)
        return np.float32([np.inf, 1.0])

    params = {"func": look, "dtypes": (float32,), "single": True}
    f = lambda ct, x: scale(ct, x.trace.apply(python_call, [x], params)[0])  # noqa: E731
    x = np.float32([0.0, 1.0])
    assert_same_bits(lowered(f, [x, x])(x, x), [x])
    assert len(calls) == 1


# ---- what passes do to instructions ----------------------------------------------------------------------------------


def sums() -> tuple[Code, int]:
    """``-(x + 1)``, and what nobody needs of it."""
    code = Code(inputs=(0,), avals={0: Aval((3,), float64)}, orders={0: Order.CONTIGUOUS})
    one = code.new_constant(np.ones(()))
    more = code.new(arithmetic.add, (0, one), {})
    code.instructions = [more, code.new(trig.sin, more.outputs, {}), code.new(arithmetic.negative, more.outputs, {})]
    code.outputs = code.instructions[-1].outputs
    return code, one


def test_values_are_made_found_and_dropped() -> None:
    code, one = sums()
    assert len(set(code.avals)) == 5 and code.avals[code.outputs[0]] == code.avals[0]
    assert set(code.orders.values()) == {Order.CONTIGUOUS}
    more, wave, _ = code.instructions
    assert code.uses() == {0: 1, one: 1, more.outputs[0]: 2, code.outputs[0]: 1} and code.uses([0])[0] == 2
    assert code.makers()[more.outputs[0]] is more
    assert code.drop_unused() == 1 and wave not in code.instructions and set(code.constants) == {one}
    code.outputs = (0,)
    assert code.drop_unused() == 2 and not code.constants
    code.forget([one])
    assert code.new_value(code.avals[0]) not in code.makers() and one not in code.orders


@pytest.mark.parametrize("backwards", [False, True])
def test_instructions_take_the_place_of_others(backwards: bool) -> None:
    code, _ = sums()
    seen: list[str] = []

    def twice(each: Instruction) -> list[Instruction] | None:
        seen.append(each.op.name)
        if each.op is not arithmetic.add:
            return None
        first = code.new(arithmetic.add, each.inputs, {})
        return [first, Instruction(arithmetic.add, (*first.outputs, each.inputs[1]), {}, each.outputs)]

    assert code.rewrite(twice, backwards) == 1
    assert seen == ["add", "sin", "negative"][:: -1 if backwards else 1]
    assert [each.op.name for each in code.instructions] == ["add", "add", "negative"]
    verify_instructions(code.instructions, (0, *code.constants), code.outputs, code.avals)


def test_the_rules_of_a_known_reshape() -> None:
    x = EagerTensor(np.arange(6.0))
    assert reshape_to(x, shape=(2, 3)).shape == (2, 3)
    with pytest.raises(Exception, match="does not fit"):
        lowered(lambda x: reshape_to(x, shape=(4,)), [np.arange(6.0)])


@pytest.mark.parametrize("one", PIPELINE, ids=lambda one: one.name)
def test_every_pass_can_be_switched_off(one: Pass) -> None:
    assert one.exact and one.default
    f, inputs = PROBLEMS["network"]
    full = lowered(lambda *xs: rows(f, *xs), inputs)
    for passes in ([p for p in ALL_PASSES if p != one.name], [one.name]):
        program = lowered(lambda *xs: rows(f, *xs), inputs, passes)
        changed = {name.partition("/")[0] for name in program.report}
        assert changed - {"seeds"} <= set(passes) and set(program.stages) - {"lowering"} <= set(passes)
        assert_same_bits(program(*inputs), full(*inputs))
        assert len(flatten(program.outputs)) == 1


def test_the_table_of_passes() -> None:
    assert len(set(ALL_PASSES)) == len(PIPELINE) and set(DEFAULT_PASSES) <= set(ALL_PASSES)
    for one in PIPELINE:
        assert one.level in ("node", "state", "program", "buffers")
        # lowering applies the passes of the first two levels
        assert (one.apply is None) == (one.level in ("node", "state"))
        assert one.summary.endswith(".") and len(one.summary) < 120


def test_the_page_of_passes_is_made_from_the_table() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "passes.md").read_text()
    rows = [f"| `{r.name}{f'/{r.detail}' * bool(r.detail)}` | {r.exact} |" for r in REWRITES]
    assert table() in page and "\n".join(rows) in page


def test_the_table_of_rewrites() -> None:
    node_passes = {one.name for one in PIPELINE if one.level == "node"}
    assert {one.name for one in REWRITES} - {"seeds"} == node_passes
    assert len({(one.name, one.detail) for one in REWRITES}) == len(REWRITES)


def test_each_simplification_is_counted() -> None:
    x = np.linspace(1, 2, 12).reshape(3, 4)
    program = lowered(lambda x: [x * 1.0 + np.ones((3, 4)) * x, scale(x, np.full((3, 4), 2.0))], [x])
    found = {name.partition("/")[2]: count for name, count in program.report.items() if "/" in name}
    assert found == {"known_factor": 3, "unchecked_scale": 1}
    assert program.report["algebraic_simplification"] == 4
    assert "algebraic_simplification/known_factor" in program.explain()


def test_a_program_explains_what_each_pass_did() -> None:
    f, inputs = PROBLEMS["network"]
    program = lowered(lambda *xs: rows(f, *xs), inputs)
    lines = program.explain().splitlines()
    listed = [line.split()[0] for line in lines[1:-1]]
    sizes = program.sizes()
    assert set(program.report) | set(sizes) == set(listed) and len(listed) == len(set(listed))
    *_, last = sizes.values()
    assert last.instructions == len(program.instructions) and last.flops > 0 < last.bytes
    assert pickle.loads(pickle.dumps(program)).explain() == program.explain()
