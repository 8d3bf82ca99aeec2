"""The site's page of what is supported, made from ops and tables of names: ``python -m tests.support_page``."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import graph_api
import graph_api.names
import tape_api
import tape_api.names
from dualgrad.frontend.namespace import defined
from engine.core.op import FROM_VJP, Op
from tests.house.test_house import PACKAGES
from tests.op_table import OPS, ROWS, UNTESTED_RULES, Coverage, carriers, coverage
from tests.ops.test_kinks import KINKS, Kink
from tests.row import Row

HEADER = """# What is supported

Made from the ops, the tables of names and the tests' tables whenever the site is built.

- **graph_api**, **tape_api**: TensorFlow's names that stand for the function, below `tf.`. Those in `graph_api`, which
  are TensorFlow 1's, are also in `tape_api`, below `tf.compat.v1.`.
- **kind**: how its derivatives are made (`engine/core/kinds.py`). *made of ops*: a function without an op of its own;
  derivatives and batching are those of the ops it calls.
- **reverse**, **forward**: the operands that carry a derivative. *from reverse*: the forward rule is the transpose of
  the reverse rule. A dash: nondifferentiable.
- **batching**: how many inputs are handled at once. *leading axes*: the kernel takes any; *axes shifted*: its axis
  arguments make room for one; *own rule*: the op has one of its own; *refused*: with an error that says why.
- **dtypes**: those that the value is tested in; derivatives in all of them that are floating or complex. Where float32
  stands, float16 is tested too: it is kept, or refused with an error.
"""

BATCHING = {"axis_param": "axes shifted", **dict.fromkeys(("leading", "aligned", "like_first"), "leading axes")}
REFUSES = {"refused", "_no_batch", "same_for_all", "_handle_batch"}
"""Batch rules that raise: the shape of the result would depend on the element of the batch."""


def cells(*columns: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in columns) + " |"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield cells(*head)
    yield cells(*["---"] * len(head))
    yield from (cells(*line) for line in lines)
    yield ""


def code(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


# ---- what an op can do -----------------------------------------------------------------------------------------------


def batching(op: Op) -> str:
    rule = getattr(op.batch, "__qualname__", "").partition(".")[0]
    return "refused" if rule in REFUSES else BATCHING.get(rule, "own rule")


def rules(op: Op) -> tuple[str, str]:
    """The operands with a derivative, in reverse and in forward mode."""
    reverse = code(carriers(op, op.vjp)) or "-"
    return reverse, "from reverse" if op.jvp is FROM_VJP else code(carriers(op, op.jvp)) or "-"


def remarks(doc: str, rows: Iterable[Row], op: Op | None = None) -> str:
    """What the documentation says about TensorFlow, and where the rows say that its gradient cannot be compared."""
    sentences = re.split(r"(?<=[.;:!?])\s+(?=[A-Z])", " ".join(doc.split()))
    found = [s for s in sentences if "TensorFlow" in s and ">>>" not in s and "----" not in s]
    without = sorted({d for row in rows for d in row.tf_value_only})
    if without:
        found.append(f"TensorFlow has no (right) gradient for {', '.join(without)} in some cases.")
    if op is not None:
        found += [f"The derivative in `{a}`: {why}." for (name, a), why in UNTESTED_RULES.items() if name == op.name]
    return " ".join(found)


def summary(doc: str) -> str:
    """The first line of a documentation."""
    return doc.strip().partition("\n")[0]


def op_cells(covered: Coverage, doc: str = "") -> tuple[str, ...]:
    op = covered.op
    kind = op.kind + (", stateful" if op.stateful else "")
    notes = remarks(f"{op.doc} {doc}" if doc != op.doc else doc, covered.rows, op)
    return kind, *rules(op), batching(op), " ".join(covered.dtypes) or "-", notes


# ---- functions with a public name ------------------------------------------------------------------------------------


def place(function: Any) -> str:
    """``engine.ops.trig.sin``."""
    return (
        f"{function.module}.{function.name}"
        if isinstance(function, Op)
        else f"{function.__module__}.{function.__name__}"
    )


def named_functions() -> dict[str, tuple[Any, str, str]]:
    """Every function of the two tables of names by its place, with its names in graph_api and in tape_api."""
    found: dict[str, tuple[Any, list[str], list[str]]] = {}
    for which, names in enumerate((graph_api.names.TABLE, tape_api.names.TABLE)):
        for row, paths in names:
            function = getattr(row, "function", row)
            entry = found.setdefault(place(function), (function, [], []))
            entry[1 + which].extend(paths.split())
    return {where: (f, code(graph), code(tape)) for where, (f, graph, tape) in found.items()}


def own_op(where: str, function: Any) -> str | None:
    """Where the op of a function is: the function itself, or its namesake ending in ``_op``."""
    return where if isinstance(function, Op) else f"{where}_op" if f"{where}_op" in OPS else None


def rows_calling(function: Callable[..., Any]) -> list[Row]:
    """The rows that apply a function made of ops."""
    return [
        row
        for row in ROWS
        if row.call is function or function.__name__ in getattr(getattr(row.call, "__code__", None), "co_names", ())
    ]


def functions(covered: dict[str, Coverage]) -> tuple[dict[str, list[tuple[str, ...]]], set[str]]:
    """The lines of the functions with a public name by module, and the ops that they are."""
    lines: dict[str, list[tuple[str, ...]]] = {}
    shown: set[str] = set()
    for where, (function, graph, tape) in named_functions().items():
        module, name = where.rpartition(".")[::2]
        op = own_op(where, function)
        if op is not None:
            shown.add(op)
            rest = op_cells(covered[op], getattr(function, "doc", None) or function.__doc__ or "")
        else:
            mine = rows_calling(function)
            dtypes = sorted({d for row in mine for d in row.dtypes})
            through = "through its ops"
            notes = remarks(function.__doc__ or "", mine)
            rest = ("made of ops", through, through, through, " ".join(dtypes) or "by its ops' rows", notes)
        lines.setdefault(module, []).append((f"`{name.lstrip('_')}`", graph or "-", tape or "-", *rest))
    return lines, shown


# ---- the other names of a front end ----------------------------------------------------------------------------------

NAMESPACES = set(
    """
    activations backend bitwise callbacks constraints contrib debugging errors framework image initializers keras
    layers linalg losses math metrics models nest nn optimizers random regularizers rnn rnn_cell schedules signal slim
    special test train utils
    """.split()  # noqa: SIM905 - easier to read than a list
)
"""The parts of TensorFlow's API that both are modules here and in TensorFlow."""
HELPERS = {"Draws", "as_tensor", "unique_name"}
"""What these modules share with others under a public name that TensorFlow does not have."""


def native(front_end: ModuleType, in_table: Container[str]) -> list[tuple[list[str], str]]:
    """Classes and functions that are not in the table: all names of each, and its documentation."""
    found: dict[int, tuple[Any, list[str]]] = {}
    for name, value in reachable(front_end):
        if name not in in_table:
            found.setdefault(id(value), (value, []))[1].append(name)
    return [(names, value.__doc__ or "") for value, names in found.values()]


def reachable(module: ModuleType, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """What a module offers, and the namespaces in it; not what it imports for its own use."""
    for waiting in dir(module) if "__waiting__" in vars(module) else ():
        getattr(module, waiting)  # loads it
    offers_all = not prefix or "__all__" in vars(module)
    offered = vars(module) if offers_all else defined(module)
    chosen = vars(module).get("__all__", offered)
    for name, value in [*offered.items()]:
        is_ours = callable(value) and value.__module__.partition(".")[0] in PACKAGES
        if is_ours and not name.startswith("_") and name in chosen and name not in HELPERS:
            yield prefix + name, value
    for name, part in [*vars(module).items()]:
        is_inside = offers_all or hasattr(module, "__path__")
        if isinstance(part, ModuleType) and name in NAMESPACES and is_inside and name in dir(module):
            yield from reachable(part, f"{prefix}{name}.")


# ---- kinks -----------------------------------------------------------------------------------------------------------


def figure(value: Any) -> str:
    """An array as people write it."""
    array = np.asarray(value, np.float64)
    return f"{array:.6g}" if array.ndim == 0 else "[" + ", ".join(figure(v) for v in array) + "]"


def kink_line(kink: Kink) -> tuple[str, ...]:
    return (
        kink.id.removesuffix(", better"),
        "; ".join(figure(x) for x in kink.at),
        "; ".join(figure(g) for g in kink.gradients),
        "as TensorFlow" if kink.tf else "**better than TensorFlow**",
    )


# ---- the page --------------------------------------------------------------------------------------------------------


def page() -> Iterator[str]:
    """The lines of the page."""
    covered = {c.where: c for c in coverage()}
    lines, shown = functions(covered)
    yield from HEADER.splitlines()
    yield ""
    differentiable = sum(c.op.vjp is not None for c in covered.values())
    named = sum(map(len, lines.values()))
    yield f"{len(covered)} ops, {differentiable} of them differentiable; {named} functions with TensorFlow's names."
    yield ""
    rules_head = ("kind", "reverse", "forward", "batching", "dtypes", "notes")
    yield "## Functions"
    yield ""
    for module in sorted(lines):
        yield f"### {module.removeprefix('engine.ops.').removeprefix('dualgrad.extras.ops.')}"
        yield ""
        yield from table(
            ("function", "graph_api", "tape_api", *rules_head),
            sorted(lines[module], key=lambda line: line[0].strip("`")),
        )
    yield "## Ops without a public name"
    yield ""
    yield "What the functions above, operators, indexing and the rules of other ops are made of."
    yield ""
    inner = [c for where, c in sorted(covered.items()) if where not in shown]
    head = ("op", "what it does", *rules_head)
    yield from table(head, [(f"`{c.where.removeprefix('engine.')}`", summary(c.op.doc), *op_cells(c)) for c in inner])
    for front_end, rows in ((graph_api, graph_api.names.TABLE), (tape_api, tape_api.names.TABLE)):
        yield f"## {front_end.__name__}: what is more than functions of tensors"
        yield ""
        yield "State, control flow, random numbers, training, and what programs are structured by."
        yield ""
        found = native(front_end, {name for _, names in rows for name in names.split()})
        yield from table(("names", "what it is"), sorted((code(sorted(n)), summary(d)) for n, d in found))
    yield "## Kinks and singular points"
    yield ""
    yield "The derivative of the sum of the results with respect to each argument, in reverse and in forward mode."
    yield ""
    yield from table(("function and point", "at", "derivative", ""), map(kink_line, KINKS))


def text() -> str:
    """The whole page."""
    return "\n".join(page()).rstrip() + "\n"


if __name__ == "__main__":
    print(text(), end="")  # noqa: T201
