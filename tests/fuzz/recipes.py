"""What instructions there are: one recipe per row of the op table, idioms of users' programs, control flow.

A recipe appends instructions to what a generator is making. It need not know what it may be applied to: each
instruction is run at once, and what raises is not appended.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import graph_api
import tape_api
from dualgrad.frontend.common_names import TABLE
from engine.control.varying_loop import pull_varying_op
from engine.control.while_loop import while_op, while_saving_op
from engine.core.op import Op
from tests.fuzz.programs import MODULES
from tests.op_table import ROWS
from tests.row import Row


@dataclass(frozen=True)
class Recipe:
    """A way to go on with a program.

    Attributes
    ----------
    name : str
    make : callable
        ``make(generator) -> bool``: appends one or more instructions; False if this did not work out.
    simple : bool
        Whether it may stand in the body of a loop.
    op : Op, optional
        The op it is about.
    """

    name: str
    make: Callable[[Any], bool]
    simple: bool = False
    op: Op | None = None


# ---- from the op table -----------------------------------------------------------------------------------------------


def _public_names() -> dict[int, str]:
    """The names that engine functions and ops have in both front ends."""
    found = {}
    for engine_function, names in TABLE:
        for name in names.split():
            if all(_has(tf, name) for tf in (graph_api, tape_api)):
                found.setdefault(id(engine_function), name)
    return found


def _has(tf: Any, name: str) -> bool:
    for part in name.split("."):
        tf = getattr(tf, part, None)
    return tf is not None


PUBLIC = _public_names()


def _plain(value: Any) -> bool:
    """Whether a parameter can be written down."""
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError):
        return False
    return True


def row_codes(row: Row) -> list[str]:
    """Expressions that apply a row's function, plain ones first."""
    operands = ", ".join(f"{{{i}}}" for i in range(len(row.inputs)))
    codes = []
    further = [*map(_braced, row.args), *[f"{k}={_braced(v)}" for k, v in row.options.items()]]
    if not row.params and id(row.call or row.op) in PUBLIC and all(map(_plain, [*row.args, *row.options.values()])):
        codes.append(f"tf.{PUBLIC[id(row.call or row.op)]}({', '.join([operands, *further])})")
    if row.call is None and all(_plain(p) for p in row.params.values()):
        module = row.op.module.rpartition(".")[2]
        if vars(MODULES[module]).get(row.op.name) is row.op:
            params = "".join(f", {k}={_braced(v)}" for k, v in row.params.items())
            codes.append(f"{module}.{row.op.name}({(operands + params).removeprefix(', ')})")
    return codes or [f"row({row.id!r})({operands})"]


def _braced(value: Any) -> str:
    return repr(value).replace("{", "{{").replace("}", "}}")


def _resized(arrays: Sequence[np.ndarray], old: int, new: int) -> list[np.ndarray]:
    """Floating arrays with all axes of one size in another size."""
    found = []
    for a in arrays:
        if a.dtype.kind in "fc":
            for axis, size in enumerate(a.shape):
                if size == old:
                    a = np.take(a, np.arange(new) % old, axis)
        found.append(a)
    return found


ENDLESS = (while_op, while_saving_op, pull_varying_op)
"""Loops that end for the numbers of their rows."""


def row_recipe(row: Row) -> Recipe:
    """What the op table knows of an op: inputs to try it on."""
    codes = row_codes(row)
    elementwise = row.op.kind == "elementwise" and row.call is None

    def make(g: Any) -> bool:
        dtype = g.dtype if g.dtype in row.dtypes or g.chance(0.1) else g.choice(row.dtypes)
        arrays = [np.asarray(a(g.rng, np.dtype(dtype))) for a in row.inputs]
        sizes = [s for a in arrays if a.dtype.kind in "fc" for s in a.shape if s]
        # the operands of ops that only rules use fit together in ways that nobody checks
        if sizes and row.tf is not None and not row.op.references and g.chance(0.3):
            arrays = _resized(arrays, g.choice(sizes), g.choice((0, 1, 1, 2, 3)))
        if row.op in ENDLESS:
            args = [g.leaf(a) for a in arrays]
        else:
            args = [g.operand(a, shaped=not elementwise) for a in arrays]
        if args and not any(g.is_tensor(a) for a in args):
            args[0] = g.leaf(arrays[0], ("source", "constant"))
        code = g.choice(codes)
        if not code.startswith("tf."):
            for i, a in enumerate(args):
                code = code.replace(f"{{{i}}}", f"tf.identity({{{i}}})") if g.is_variable(a) else code
        return g.emit(f"row {row.id}", code, args)

    return Recipe(f"row {row.id}", make, elementwise, row.op)


# ---- idioms ----------------------------------------------------------------------------------------------------------

# Operands: x any floating value, y one that goes with it, v a value with axes, m a matrix or stack of them, w a matrix
# to multiply m by, i integers, r a real value. One expression a line.
IDIOMS = {
    "python numbers": (
        "x",
        """
        {0} * 2.0
        2.0 * {0}
        {0} + 1.0
        1.0 - {0}
        {0} / 2.0
        1.0 / {0}
        {0} ** 2
        {0} ** 2.0
        {0} ** 0.5
        {0} ** -1
        {0} ** 3
        {0} ** 0
        {0} ** 1
        -{0}
        abs({0})
        {0} * 0.0
        {0} * 1.0
        {0} * -1.0
        2.0 ** {0}
        {0} * 0.1 * 3.0
        """,
    ),
    "the same operand twice": (
        "x",
        """
        {0} + {0}
        {0} * {0}
        {0} - {0}
        {0} / {0}
        tf.maximum({0}, {0})
        {0} * {0} * {0}
        {0} ** {0}
        tf.add_n([{0}, {0}])
        """,
    ),
    "two operands": (
        "xy",
        """
        {0} + {1}
        {0} - {1}
        {0} * {1}
        {0} / {1}
        {0} ** {1}
        tf.maximum({0}, {1})
        tf.minimum({0}, {1})
        {0} % {1}
        tf.math.squared_difference({0}, {1})
        tf.math.divide_no_nan({0}, {1})
        {0} // {1}
        tf.math.xlogy({0}, {1})
        """,
    ),
    "choices": (
        "ry",
        """
        where(tf, {0} > {1}, {0}, {1})
        where(tf, {0} > 0, tf.sqrt({0}), 0.0 * {0})
        where(tf, {0} > 0, {1}, {1} * {0})
        tf.clip_by_value({0}, -0.5, 0.5)
        where(tf, {0} > 0, tf.math.log({0}), {0})
        tf.cast({0} > {1}, {0}.dtype) * {0}
        """,
    ),
    "cuts": (
        "x",
        """
        tf.stop_gradient({0})
        tf.identity({0})
        tf.zeros_like({0})
        tf.ones_like({0}) * {0}
        tf.floor({0}) + {0}
        {0} * tf.stop_gradient({0})
        tf.sign({0}) * {0}
        tf.cast(tf.cast({0}, tf.int32), {0}.dtype)
        """,
    ),
    "casts": (
        "x",
        """
        tf.cast({0}, tf.float32)
        tf.cast({0}, tf.float64)
        tf.cast({0}, tf.float16)
        tf.cast({0}, tf.complex128)
        tf.cast({0}, tf.complex64)
        tf.cast(tf.cast({0}, tf.float32), tf.float64)
        tf.cast({0}, tf.int32)
        tf.math.real({0})
        tf.math.imag({0})
        tf.math.conj({0})
        tf.cast(tf.cast({0}, tf.bool), tf.float32)
        """,
    ),
    "sums": (
        "x",
        """
        tf.reduce_sum({0})
        tf.reduce_sum({0}, axis=[])
        tf.reduce_mean({0})
        tf.reduce_sum({0}, 0)
        tf.reduce_sum({0}, -1, keepdims=True)
        tf.reduce_mean({0}, 0)
        tf.reduce_prod({0}, -1)
        tf.reduce_max({0})
        tf.reduce_min({0}, 0)
        tf.reduce_logsumexp({0}, -1)
        tf.norm({0})
        tf.nn.l2_loss({0})
        tf.nn.softmax({0})
        tf.cumsum({0})
        tf.math.cumprod({0}, -1)
        tf.math.reduce_variance({0})
        tf.reduce_prod({0})
        tf.norm({0}, axis=-1)
        tf.reduce_sum(tf.transpose({0}), 0)
        tf.reduce_sum(tf.transpose({0}))
        tf.math.l2_normalize({0}, -1)
        """,
    ),
    "shapes": (
        "x",
        """
        tf.transpose({0})
        tf.reshape({0}, [-1])
        {0}[None]
        {0}[..., None]
        tf.expand_dims({0}, 0)
        tf.squeeze({0})
        tf.reshape({0}, tf.shape({0}))
        tf.broadcast_to({0}, tf.concat([[2], tf.shape({0})], 0))
        tf.tile({0}[None], tf.concat([[2], tf.ones_like(tf.shape({0}))], 0))
        tf.stack([{0}, {0}])
        tf.stack([{0}, 2.0 * {0}], -1)
        tf.reshape(tf.transpose({0}), [-1])
        tf.unstack(tf.stack([{0}, {0}]))[0]
        """,
    ),
    "slices": (
        "v",
        """
        {0}[0]
        {0}[-1]
        {0}[1:]
        {0}[:1]
        {0}[::-1]
        {0}[..., ::2]
        {0}[..., 0]
        {0}[..., -1:]
        {0}[:, None]
        {0}[0:0]
        tf.reverse({0}, [0])
        tf.gather({0}, [0, 0])
        tf.gather({0}, [0], axis=-1)
        tf.roll({0}, 1, 0)
        {0}[1:] - {0}[:-1]
        tf.split({0}, [1, -1], 0)[1]
        tf.sort({0})
        tf.math.top_k({0}, 1)[0]
        tf.repeat({0}, 2, 0)
        tf.cumsum({0}, 0)
        tf.concat([tf.zeros_like({0}[:1]), {0}], 0)
        tf.unstack({0})[0]
        {0}[0] * {0}[-1]
        tf.boolean_mask({0}, {0} > 0)
        tf.gather({0}, tf.argmax({0}))
        tf.argsort({0})
        """,
    ),
    "joins": (
        "vy",
        """
        tf.concat([{0}, {1}], 0)
        tf.concat([{0}, {1}], -1)
        tf.stack([{0}, {1}])
        tf.concat([{0}, {0}, {1}], 0)
        tf.stack([{0}, {1}], -1)
        tf.add_n([{0}, {1}, {0}])
        tf.concat([{0}[:1], {1}[1:]], 0)
        tf.tensordot({0}, {1}, 1)
        tf.einsum('...i,...i->...', {0}, {1})
        tf.einsum('i,j->ij', {0}, {1})
        tf.meshgrid({0}, {1})[0]
        """,
    ),
    "products": (
        "mw",
        """
        tf.matmul({0}, {1})
        {0} @ {1}
        tf.matmul({1}, {1}, transpose_b=True)
        tf.matmul({0}, {0}, transpose_a=True)
        tf.linalg.matvec({0}, {1}[..., 0])
        tf.einsum('...ij,...jk->...ik', {0}, {1})
        tf.tensordot({0}, {1}, [[-1], [0]])
        tf.matmul(tf.matmul({0}, {1}), {1}, transpose_b=True)
        tf.matmul({1}, {0}, transpose_a=True, transpose_b=True)
        """,
    ),
    "matrices": (
        "m",
        """
        tf.linalg.trace({0})
        tf.linalg.diag_part({0})
        tf.linalg.matrix_transpose({0})
        tf.linalg.diag({0})
        tf.linalg.det({0})
        tf.linalg.inv({0})
        tf.linalg.band_part({0}, 0, -1)
        tf.linalg.qr({0})[1]
        tf.linalg.cholesky(tf.matmul({0}, {0}, transpose_b=True))
        tf.linalg.svd({0}, compute_uv=False)
        tf.linalg.set_diag({0}, tf.zeros_like(tf.linalg.diag_part({0})))
        tf.linalg.solve({0}, {0})
        """,
    ),
    "integers": (
        "xi",
        """
        {0} * tf.cast({1}, {0}.dtype)
        tf.gather({0}, {1})
        tf.one_hot({1}, 3)
        tf.reduce_sum({0}) * tf.cast({1}, {0}.dtype)
        tf.math.segment_sum({0}, {1})
        tf.math.unsorted_segment_sum({0}, {1}, 3)
        {1} + 1
        {1} // 2
        """,
    ),
    "embeddings": (
        "vi",
        """
        tf.gather({0}, {1})
        tf.nn.embedding_lookup({0}, {1})
        tf.reduce_sum(tf.gather({0}, {1}) ** 2, 0)
        tf.gather({0}, tf.clip_by_value({1}, 0, 0))
        tf.gather_nd({0}, {1}[..., None])
        """,
    ),
}
IN_BODIES = ("python numbers", "the same operand twice", "two operands", "choices", "cuts", "sums", "shapes", "slices")


def idiom_recipe(name: str, operands: str, code: str) -> Recipe:
    """One of the expressions above."""

    def make(g: Any) -> bool:
        args: list[str] = []
        for kind in operands:
            found = g.pick(kind, args)
            if found is None:
                return False
            args.append(found)
        used = [a for i, a in enumerate(args) if f"{{{i}}}" in code]
        return any(map(g.is_tensor, used)) and g.emit(code, code, args if "{1}" in code else args[:1])

    return Recipe(code, make, name in IN_BODIES)


# ---- state and control flow ------------------------------------------------------------------------------------------


def _update(g: Any) -> bool:
    variable = g.variable()
    value = g.like(variable)
    method = g.choice(("assign", "assign_add", "assign_sub"))
    return g.emit(method, f"updated(tf, {{0}}, {method!r}, {{1}})", [variable, value])


CONDITIONS = ("tf.reduce_any({0} > 0)", "tf.reduce_sum({0}) < 1", "tf.reduce_all({0} <= 0)", "tf.size({0}) > 2")


def _cond(g: Any) -> bool:
    r = g.pick("r", [])
    bodies = [g.body([], None) for _ in range(2)]
    return r is not None and g.emit("cond", f"tf.cond({g.choice(CONDITIONS)}, {{b0}}, {{b1}})", [r], bodies)


def _case(g: Any) -> bool:
    r = g.pick("r", [])
    bodies = [g.body([], None) for _ in range(3)]
    pairs = f"({g.choice(CONDITIONS)}, {{b0}}), ({g.choice(CONDITIONS)}, {{b1}})"
    return r is not None and g.emit("case", f"tf.case([{pairs}], default={{b2}})", [r], bodies)


def _while(g: Any) -> bool:
    x = g.pick("x", [])
    body = g.body([("i", np.int32(0)), ("a", x)], "a", "[{1} + 1, {0}]")
    limit = g.choice(("i < 0", "i < 1", "i < 3", "tf.logical_and(i < 3, tf.reduce_any(tf.abs(a) < 4))"))
    code = f"tf.while_loop(lambda i, a: {limit}, {{b0}}, [tf.constant(0), tf.convert_to_tensor({{0}})])[1]"
    return g.emit("while_loop", code, [x], [body])


def _map(g: Any) -> bool:
    v = g.pick("v", [])
    body = None if v is None else g.body([("a", (v, 0))], None, same_dtype=True)
    code = g.choice(("tf.map_fn({b0}, {0})", "vectorized_map(tf, {b0}, {0})"))
    return body is not None and g.emit("map_fn", code, [v], [body])


def _fold(g: Any) -> bool:
    v, start = g.pick("v", []), g.pick("x", [])
    body = None if v is None else g.body([("a", start), ("e", (v, 0))], "a")
    name = g.choice(("foldl", "scan", "foldr"))
    given = "initializer=tf.convert_to_tensor({1})"
    return body is not None and g.emit(name, f"tf.{name}({{b0}}, {{0}}, {given})", [v, start], [body])


def _fold_rows(g: Any) -> bool:
    v = g.pick("v", [])
    body = None if v is None else g.body([("a", (v, 0)), ("e", (v, 0))], "a")
    name = g.choice(("foldl", "scan", "foldr"))
    return body is not None and g.emit(f"{name} of rows", f"tf.{name}({{b0}}, {{0}})", [v], [body])


def _custom_gradient(g: Any) -> bool:
    x = g.pick("x", [])
    body = g.custom(x)
    return body is not None and g.emit(
        "custom_gradient", "tf.custom_gradient({b0})(tf.convert_to_tensor({0}))", [x], [body]
    )


def _function(g: Any) -> bool:
    x = g.pick("x", [])
    body = g.body([("a", x)], None)
    return g.emit("function", "function(tf, {b0})({0})", [x], [body])


CONTROL = [
    Recipe(f.__name__[1:], f) for f in (_cond, _case, _while, _map, _fold, _fold_rows, _custom_gradient, _function)
]
UPDATE = Recipe("update", _update)
FROM_ROWS = [row_recipe(row) for row in ROWS]
FROM_IDIOMS = [
    idiom_recipe(n, operands, c)
    for n, (operands, codes) in IDIOMS.items()
    for c in map(str.strip, codes.strip().splitlines())
]
RECIPES = [*FROM_ROWS, *FROM_IDIOMS, *CONTROL, UPDATE]
SIMPLE = [r for r in RECIPES if r.simple]
