"""The libraries that a converted program can be for (``--to``): tables of what is spelled otherwise there.

The text is made, tried and proved as tape code. Then what another library calls otherwise is put in its place, by where
it stands in the text: lines, comments and the program's own code stay. What the library has not is refused by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dualgrad.migrate.convert.edits import Unsafe, name_of

TAPE = "import tape_api as tf\n"
_WAY_OUT = "--to tape writes it"


@dataclass(frozen=True)
class Target:
    """A library, and how its text differs from tape code.

    Attributes
    ----------
    title : str
        What the text is, for the first line of the module.
    imports : str
        The line in place of the import of `tape_api`.
    names : dict
        By public name below ``tf``: what it is called there. One that ends in a dot stands for all below it. None, or
        a sentence behind a colon, where there is nothing.
    methods : dict
        The same for methods of what these give.
    dropped : dict
        By method, keywords that the library does not know, and that change no more than rounding.
    attributes : dict
        By attribute of an optimizer of TensorFlow 1, or by class and attribute, what it is called there if it is set;
        by default as here, behind a ``_``.
    rewritten : callable, optional
        Makes another text of the whole, where names are not all; it takes a `Conversion` and the target.
    whole : bool
        Whether it is for whole programs, not functions alone.
    """

    title: str
    imports: str
    names: Mapping[str, str | None] = field(default_factory=dict)
    methods: Mapping[str, str | None] = field(default_factory=dict)
    dropped: Mapping[str, frozenset[str]] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    rewritten: Callable[[Any, Target], str] | None = None
    whole: bool = True


def _with_jax(conversion: Any, target: Target) -> str:
    from dualgrad.migrate.convert.jax_functions import written

    return written(conversion, target.imports)


def _with_keras(conversion: Any, target: Target) -> str:
    from dualgrad.migrate.convert.keras_models import written

    return renamed(written(conversion), target)


_LOSSES = (
    "absolute_difference hinge_loss huber_loss log_loss sigmoid_cross_entropy "
    "softmax_cross_entropy sparse_softmax_cross_entropy"
)
_TENSORFLOW = Target(
    "TensorFlow 2 code",
    "import tensorflow as tf\n",
    {
        "log": "math.log",
        "experimental.scipy.": None,
        **{f"losses.{name}": f"compat.v1.losses.{name}" for name in _LOSSES.split()},
    },
    {
        "deepcopy": None,  # of a data set that is shuffled alike at each start
        "hessian": None,
        # of Adam and its kin, which alone keep something for all variables together
        "kept_together": "_get_beta_accumulators",
        # what `Optimizer.apply_gradients` of TensorFlow 1 calls itself before its first step
        "create_slots": "_create_slots",
    },
    {"gradient": frozenset({"aggregation_method"})},
    {
        "AdamOptimizer.learning_rate": "_lr",
        "AdadeltaOptimizer.learning_rate": "_lr",
        "beta_1": "_beta1",
        "beta_2": "_beta2",
    },
)
TARGETS: dict[str, Target] = {
    "tape": Target("tape code", TAPE),
    "tensorflow": _TENSORFLOW,
    "jax": Target("functions of JAX", "import jax\nimport jax.numpy as jnp\n", rewritten=_with_jax, whole=False),
    "keras": Target("a Keras model", "import tensorflow as tf\n", _TENSORFLOW.names, rewritten=_with_keras),
}


def retarget(conversion: Any, name: str) -> None:
    """Have a converted program be for another library; nothing is changed if that cannot be.

    Parameters
    ----------
    conversion : Conversion
        Of tape code. Its map gets ``"target"``, by which `dualgrad compare` knows what to run it with.
    name : str
        A key of `TARGETS`.

    Raises
    ------
    Unsafe
        If the program needs what the library has not.
    """
    target = TARGETS[name]
    if name == "tape":
        return
    if conversion.map["not_converted"]:
        first = conversion.map["not_converted"][0]
        raise Unsafe(f"{first['type']} could not be converted: {first['why']}")
    text = target.rewritten(conversion, target) if target.rewritten else renamed(conversion.text, target)
    conversion.text = text.replace(", as tape code: written", f", as {target.title}: written", 1)
    conversion.map["target"] = name


def renamed(text: str, target: Target) -> str:
    """A text of tape code with the names of another library.

    Raises
    ------
    Unsafe
        If it has a name that the library has not.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("optim", "tape_api", "graph_api", "engine"):
            names = ", ".join(alias.name for alias in node.names)
            own = f"{names} of {node.module} is dualgrad's own"
            raise Unsafe(f"{own}, and {target.title} has nothing like it; {_WAY_OUT}")
    lines = [line.encode() for line in text.split("\n")]
    for (line, start, end), new in sorted(_edits(tree, target, lines), reverse=True):
        lines[line - 1] = lines[line - 1][:start] + new.encode() + lines[line - 1][end:]
    return b"\n".join(lines).decode().replace(TAPE, target.imports, 1)


Place = tuple[int, int, int]
"""A line, and the bytes in it."""


def _edits(tree: ast.Module, target: Target, lines: list[bytes]) -> Iterator[tuple[Place, str]]:
    """Places in the text, and the texts that stand there now."""
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    kinds = {ast.unparse(t): name_of(n.value.func).rpartition(".")[2] for n in ast.walk(tree)
             if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
             and name_of(n.value.func).startswith("compat.v1.train.") for t in n.targets}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner and (dotted := name_of(node)):
            # a method of what a module has, as in tf.constant.shape, is behind its name
            found = _named(dotted, target.names)
            if found is not None:
                old, new = found
                if new is None:
                    raise Unsafe(f"line {node.lineno} of what was written: {target.title} has no tf.{old}; {_WAY_OUT}")
                yield (node.lineno, node.col_offset, node.col_offset + len(f"tf.{old}")), f"tf.{new}"
        if isinstance(node, ast.Assign):
            yield from _attribute(node, kinds, target)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not name_of(node.func):
            yield from _method(node, node.func, target, lines)


def _attribute(node: ast.Assign, kinds: Mapping[str, str], target: Target) -> Iterator[tuple[Place, str]]:
    """A hyperparameter that is set before each step: under its public name TensorFlow's optimizers would not see it."""
    for at in node.targets:
        if isinstance(at, ast.Attribute) and (kind := kinds.get(ast.unparse(at.value))) is not None:
            new = target.attributes.get(f"{kind}.{at.attr}", target.attributes.get(at.attr, f"_{at.attr}"))
            end = at.end_col_offset or 0
            yield (at.end_lineno or at.lineno, end - len(at.attr), end), new


def _method(node: ast.Call, func: ast.Attribute, target: Target, lines: list[bytes]) -> Iterator[tuple[Place, str]]:
    if func.attr in target.methods:
        new = target.methods[func.attr]
        if new is None:
            raise Unsafe(f"line {func.lineno} of what was written: {target.title} has no {func.attr}(); {_WAY_OUT}")
        end = func.end_col_offset or 0
        yield (func.end_lineno or func.lineno, end - len(func.attr), end), new
    for keyword in node.keywords:
        if keyword.arg in target.dropped.get(func.attr, ()):
            line, start, end = keyword.lineno, keyword.col_offset, keyword.end_col_offset or 0
            before = re.search(rb",\s*$", lines[line - 1][:start])
            if before is None or keyword.end_lineno != line:
                raise Unsafe(f"line {line} of what was written: {keyword.arg} stands alone in it; {_WAY_OUT}")
            yield (line, before.start(), end), ""


def _named(dotted: str, names: Mapping[str, str | None]) -> tuple[str, str | None] | None:
    """The part of a name that is in the table, and what stands there."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        old = ".".join(parts[:count])
        if old in names:
            return old, names[old]
        if f"{old}." in names:
            return dotted, None
    return None
