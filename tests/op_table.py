"""The op table: every row of every module in `tests.rows`, and every op there is.

Adding an op means one definition in `engine` and one row here. The tests in `test_ops.py`, `test_ops_tensorflow.py` and
`test_completeness.py` are driven by this table. ``python -m tests.op_table`` (or ``pytest --table``, after the tests)
prints which op has which rule, and what the rows test of it. A rule that no row tests fails `test_completeness.py`.
"""

import importlib
import itertools
import pkgutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import dualgrad.data
import dualgrad.extras
import dualgrad.sparse
import engine
import engine.numpy_api.operators
from engine.core.op import FROM_VJP, Op
from tests import rows
from tests.row import Row

_OF_STRINGS = (
    *("as_string", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace", "string_split"),
    *("strip", "substr", "to_hash_bucket_fast", "to_number", "upper"),
)
WITHOUT_ROW = {
    **dict.fromkeys([f"{name}_op" for name in _OF_STRINGS], "takes or gives strings; tests/ops/test_strings.py"),
    "looked_up_op": "takes strings; tests/tape_api/test_as_keras.py",
    "rows_of_texts_op": "takes strings; tests/tape_api/test_as_keras.py",
    "parse_examples": "takes strings; tests/data/test_examples.py",
    "decode_csv_op": "takes strings; tests/data/test_csv.py",
    "parse_sequences": "takes strings; tests/data/test_examples.py",
    **dict.fromkeys(
        ("serialize_tensor_op", "parse_tensor_op", "set_operation_op", "set_size_op"),
        "takes or gives strings; tests/data/test_messages.py",
    ),
    "encode_jpeg_op": "gives strings; tests/io/test_pictures.py",
    "decode_raw_op": "takes strings; tests/data/test_examples.py",
    "read_file_op": "reads a file; tests/io/test_pictures.py",
    "decode_image_op": "takes strings; tests/io/test_pictures.py",
    "encode_png_op": "gives strings; tests/io/test_pictures.py",
    "numpy_call": "takes a function; tests/jacobian/test_numpy_names_elsewhere.py",
    "no_nan": "raises where programs leave choices out; tests/executor/test_native.py",
    "placeholder": "gets its value from outside",
    "variable_handle": "has its value in a session",
    "assign_variable": "has its effect in a session",
    "variable_is_initialized": "asks a session",
    "identity_product": "is made by lowering only; tests/compiler/test_program_passes.py",
    "spread_op": "needs an executor; tests/jacobian/test_executor.py",
    "write_rows": "is made by lowering only; tests/compiler/test_program_inplace_concat.py",
    "write_entries": "is made by lowering only; tests/compiler/test_program_inplace_scatter.py",
    "slice_concat": "is made by lowering only; tests/compiler/test_program_slice_concat.py",
    "slice_sum": "is made by lowering only; tests/compiler/test_program_slice_sum.py",
    "outer_sum": "is made by lowering only; tests/compiler/test_program_outer_sum.py",
    "alloc": "is made by lowering only; tests/compiler/test_program_inplace_concat.py",
    "number_like": "is made by lowering only; tests/compiler/test_program_algebraic.py",
    "diagonal_product": "is made by lowering only; tests/compiler/test_program_passes.py",
}
"""Ops that cannot have a row, and why."""

UNTESTED_RULES = {
    (
        "random_gamma_op",
        "alpha",
    ): "the numbers are drawn anew for each difference; tests/ops/test_random.py has its slope",
    ("basis", "vectors"): "come with their values: rows of `eigvals_op` and `eig_op` lead through it",
    ("igamma_grad_a", "a"): "is not implemented and says so",
    ("stdtr_by_df", "df"): "is not implemented and says so",
    **{(op, df): "is not implemented and says so" for op in ("fdtr_by_df", "ratio_score") for df in ("dfn", "dfd")},
    ("zeta_grad_x", "x"): "is not implemented and says so",
    ("power_tail_by_shape", "b"): "is not implemented and says so",
    **{
        (f"{name}_{k}", a): "is not implemented and says so"
        for name in ("betainc_grad", "beta_prime_by")
        for k in "ab"
        for a in "ab"
    },
    **{
        (name, argument): "is not implemented and says so"
        for name, arguments in {
            "hyp0f1": "v",
            "hyp1f1": "a b",
            "hyp2f1": "a b c",
            "hyperu": "a b",
            "struve": "v",
            "modstruve": "v",
            "eval_jacobi": "alpha beta",
            "eval_gegenbauer": "alpha",
            "eval_genlaguerre": "alpha",
        }.items()
        for argument in arguments.split()
    },
    ("cond_op", "pred"): "a truth value has none",
    ("pull_varying_op", "*values"): "has first derivatives only and says so; tests/graph_api/test_forms.py",
}
"""Rules that finite differences cannot check, and why."""

FIRST_ORDER = {
    "pull_varying_op": "is a first derivative",
    "random_gamma_op": "the slope of a sample has no derivative of its own",
    "tensor_scatter_max_op": "piecewise linear: the second derivative is zero where it exists",
    "tensor_scatter_min_op": "piecewise linear: the second derivative is zero where it exists",
}
"""Ops whose derivatives are not differentiated again, and why."""


def _rows() -> Iterator[Row]:
    for module in pkgutil.iter_modules(rows.__path__):
        yield from importlib.import_module(f"tests.rows.{module.name}").ROWS


def _ops(package: Any) -> Iterator[tuple[str, Op]]:
    """Every op defined in the modules of a package, with where it was found, also in lists and dicts of a module."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for op in _ops_in(value):
                if op.module == module.__name__:
                    yield f"{module.__name__}.{name}", op


def _ops_in(value: Any) -> Iterable[Op]:
    if isinstance(value, Op):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [v for v in value if isinstance(v, Op)] if isinstance(value, (list, tuple, set, frozenset)) else []


ROWS: tuple[Row, ...] = tuple(_rows())
PACKAGES = (engine, dualgrad.data, dualgrad.extras, dualgrad.sparse)
OPS: dict[str, Op] = dict(op for package in PACKAGES for op in _ops(package))
"""Where each op was found (``engine.ops.trig.sin``), and the op."""

CASES = [(row, dtype) for row in ROWS for dtype in row.dtypes]
"""All rows in all their dtypes."""


def one_dtype(row: Row, first: str = "float32") -> str:
    """The dtype of a row where structure is tested, which does not depend on the precision: `first` if it has it."""
    order = (first, "float32", "float64", "complex128")
    return next((dtype for dtype in order if dtype in row.dtypes), row.dtypes[-1])


NARROW = [(row, one_dtype(row)) for row in ROWS]
"""All rows in one dtype, where bits are compared: what is computed too widely shows."""

WIDE = [(row, one_dtype(row, "float64")) for row in ROWS]
"""All rows in one dtype, where there is rounding."""


def two_of_each_op(which: Iterable[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """The first two cases of each op, for tests that take long and depend on its rules, hardly on its parameters."""
    before: dict[str, Iterator[int]] = defaultdict(itertools.count)
    return [(row, dtype) for row, dtype in which if next(before[row.op.name]) < 2]


def cases(which: Iterable[tuple[Row, str]]) -> pytest.MarkDecorator:
    """A test with parameters `row` and `dtype` for each of these."""
    which = list(which)
    return pytest.mark.parametrize(("row", "dtype"), which, ids=[f"{row.id}-{dtype}" for row, dtype in which])


def pure(which: Iterable[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """The cases of ops that give equal results for equal inputs."""
    return [(row, dtype) for row, dtype in which if not row.op.stateful]


def with_derivatives(which: Iterable[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """The cases that have anything to differentiate."""
    return [(row, dtype) for row, dtype in which if row.differentiable(row.arrays(dtype))]


def carriers(op: Op, rules: Any) -> list[str]:
    """The operands that have a rule."""
    if rules is None:
        return []
    if isinstance(rules, tuple):
        return [name for name, rule in zip(op.args, rules, strict=True) if rule is not None]
    return [name for i, name in enumerate(op.args) if rules[i] is not None]


@dataclass(frozen=True)
class Coverage:
    """What the rows of an op test. Each rule is tested in double precision, against finite differences."""

    where: str
    op: Op
    rows: list[Row]

    @property
    def rules(self) -> list[str]:
        """The operands that have a rule."""
        return carriers(self.op, self.op.vjp)

    @property
    def tested(self) -> list[str]:
        """Those of them that a row differentiates."""
        found: set[int] = set()
        for row in self.rows:
            for dtype in {"float64", "complex128"} & set(row.dtypes):
                found.update(row.differentiable(row.arrays(dtype)))
        variadic = len(self.op.args) - 1 if self.op.args and self.op.args[-1].startswith("*") else len(self.op.args)
        tested = {self.op.args[min(i, variadic)] for i in found if min(i, variadic) < len(self.op.args)}
        return [name for name in self.rules if name in tested]

    @property
    def order(self) -> int:
        return max((row.order for row in self.rows), default=0)

    @property
    def dtypes(self) -> list[str]:
        return sorted({dtype for row in self.rows for dtype in row.dtypes})

    @property
    def independent(self) -> str:
        """What the values are compared with."""
        kinds = {"NumPy": any(r.oracle for r in self.rows), "TensorFlow": any(r.tf for r in self.rows)}
        return " ".join(kind for kind, there in kinds.items() if there)

    def gaps(self) -> list[str]:
        """What no row tests."""
        if self.op.name in WITHOUT_ROW:
            return []
        if not self.rows:
            return [f"{self.where} has no row in tests/rows/{self.where.split('.')[-2]}.py"]
        left = [a for a in self.rules if a not in self.tested and (self.op.name, a) not in UNTESTED_RULES]
        gaps = [f"no row of {self.where} tests the derivative in `{a}`" for a in left]
        if self.rules and self.order < 2 and self.op.name not in FIRST_ORDER:
            gaps.append(f"no row of {self.where} tests its second derivative")
        return gaps

    def line(self) -> tuple[str, ...]:
        """The op's line of the coverage table."""
        tested = f"{len(self.tested)}/{len(self.rules)}" if self.rules else "-"
        return (
            self.where.removeprefix("engine."),
            self.op.kind + (" (stateful)" if self.op.stateful else ""),
            tested,
            f"{tested} from reverse" if self.op.jvp is FROM_VJP else tested,
            str(self.order) if self.rules else "-",
            "-" if self.op.stateful or not self.op.args else "all, each" if len(self.op.args) > 1 else "all",
            str(sum(len(row.dtypes) for row in self.rows) or WITHOUT_ROW.get(self.op.name, "NONE")),
            self.independent or "-",
            " ".join(self.dtypes),
            "UNTESTED" if self.gaps() else "",
        )


HEAD = ("op", "kind", "reverse", "forward", "order", "batched", "cases", "values against", "dtypes", "")


def coverage() -> list[Coverage]:
    """What is tested, op by op."""
    by_op: dict[int, list[Row]] = {}
    for row in ROWS:
        by_op.setdefault(id(row.op), []).append(row)
    return [Coverage(where, op, by_op.get(id(op), [])) for where, op in OPS.items()]


def report() -> Iterator[str]:
    """The coverage table as text: op, its rules, how many of them are tested ("2/2" operands), and on what."""
    covered = coverage()
    table = [HEAD, *(c.line() for c in covered)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    gaps = [gap for c in covered for gap in c.gaps()]
    rules = sum(len(c.rules) for c in covered)
    tested = sum(len(c.tested) for c in covered)
    yield f"{len(OPS)} ops, {len(ROWS)} rows, {len(CASES)} cases; {tested} of {rules} derivatives tested"
    yield from (f"not tested: {name} in `{a}` ({why})" for (name, a), why in UNTESTED_RULES.items())
    yield from (f"not differentiated twice: {name} ({why})" for name, why in FIRST_ORDER.items())
    yield from (f"UNTESTED: {gap}" for gap in gaps)


if __name__ == "__main__":
    print("\n".join(report()))  # noqa: T201
