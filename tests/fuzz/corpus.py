"""Programs that once gave different numbers in different ways, as small as they could be made.

Those in `corpus.txt` stand there as ``make fuzz`` prints them, each below its name.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.fuzz.programs import Body, Instruction, Leaf, Program


def _printed(file: Path) -> Iterator[tuple[str, Program]]:
    """Names and programs."""
    scope = {"np": np, "nan": np.nan, "inf": np.inf}
    scope |= {part.__name__: part for part in (Body, Instruction, Leaf, Program)}
    lines = file.read_text(encoding="utf-8").splitlines()
    for name, program in zip(lines[::2], lines[1::2], strict=True):
        yield name.removeprefix("# "), eval(program, scope)


PROGRAMS: dict[str, Program] = {
    "a constant that branches use": Program(
        (Leaf("c", "constant", np.array(-0.0)), Leaf("x", "source", np.array(2.0))),
        (
            Instruction(
                ("v",),
                "tf.case([(tf.reduce_any({0} > 0), {b0}), (tf.reduce_any({0} > 0), {b1})], default={b2})",
                ("c",),
                (Body((), (), "{0}", ("x",)), Body((), (), "{0}", ("x",)), Body((), (), "{0}", ("c",))),
            ),
        ),
        ("v",),
        ("c",),
        ("order2",),
    ),
    "a rule that uses its argument, twice differentiated": Program(
        (Leaf("x", "source", np.array(0.5)),),
        (
            Instruction(
                ("v",),
                "tf.custom_gradient({b0})({0})",
                ("x",),
                (Body(("a",), (), "{0}, {b0}", ("a",), (Body(("d",), (), "{0} * {1}", ("d", "a")),)),),
                "custom_gradient",
            ),
        ),
        ("v",),
        ("x",),
        ("hessian", "hvp", "order2"),
    ),
    "a rule that does not use its cotangent": Program(
        (Leaf("x", "source", np.array(1.0)),),
        (
            Instruction(
                ("v",),
                "tf.custom_gradient({b0})({0})",
                ("x",),
                (Body(("a",), (), "{0}, {b0}", ("a",), (Body(("d",), (), "tf.sin({0})", ("a",)),)),),
                "custom_gradient",
            ),
        ),
        ("v",),
        ("x",),
        ("hessian", "hvp", "hessian_diag", "order2"),
    ),
    "a value that a loop captures and that is used outside": Program(
        (Leaf("w", "source", np.array([0.1, -0.7, 1.3, 0.4])),),
        (Instruction(("v",), "tf.map_fn({b0}, {0})", ("w",), (Body(("a",), (), "tf.sin({0})", ("w",)),)),),
        ("v", "w"),
        ("w",),
        (),
    ),
    "a captured value that is also what the loop starts with": Program(
        (Leaf("x", "source", np.array([0.1, -0.7, 1.3, 0.4])),),
        (
            Instruction(
                ("i", "v"),
                "tf.while_loop(lambda i, a: i < 3, {b0}, [0, {0}])",
                ("x",),
                (Body(("i", "a"), (), "[{0} + 1, {1} * 0.5 + tf.reduce_sum(tf.identity({2}))]", ("i", "a", "x")),),
            ),
        ),
        ("v",),
        ("x",),
        (),
    ),
    "a sum over steps whose summands are minus zero": Program(
        (Leaf("x", "source", np.array([1.0, -0.0])),),
        (
            Instruction(
                ("i", "v"),
                "tf.while_loop(lambda i, a: i < 1, {b0}, [0, tf.zeros_like({0})])",
                ("x",),
                (Body(("i", "a"), (), "[{0} + 1, {1} * tf.stop_gradient({1})]", ("i", "x")),),
            ),
        ),
        ("v",),
        ("x",),
        (),
    ),
    "an empty spectrum": Program(
        (Leaf("x", "source", np.zeros(0, "complex64")),),
        (Instruction(("v",), "tf.signal.irfft({0}, [7])", ("x",)),),
        ("v",),
        ("x",),
        (),
        ("again", "function"),
    ),
    "a tangent that is a NumPy scalar": Program(
        (Leaf("x", "source", np.array(1.0)),),
        (Instruction(("v",), "tf.reshape(tf.tile(tf.reshape({0}, [-1]), [6]), [2, 3])", ("x",)),),
        ("v",),
        ("x",),
        ("jvp",),
    ),
    "a source without elements beside one with": Program(
        (Leaf("x", "source", np.array(1.0)), Leaf("e", "source", np.zeros(0))),
        (Instruction(("v",), "{0} * 2.0", ("x",)),),
        ("v",),
        ("x", "e"),
        ("jacobian", "csr"),
    ),
    "a complex number times a real one": Program(
        (Leaf("x", "source", np.array(1 + 0j)),), (Instruction(("v",), "{0} * 2.0", ("x",)),), ("v",), ("x",)
    ),
    "the square of one element": Program(
        (Leaf("x", "source", np.array([0.8], "float32")),), (Instruction(("v",), "{0} ** 2", ("x",)),), ("v",), ("x",)
    ),
    "a sum over no axes of minus zero": Program(
        (Leaf("x", "source", np.array(-0.0)),),
        (Instruction(("v",), "tf.reduce_sum({0}, axis=[])", ("x",)),),
        ("v",),
        ("x",),
    ),
    **dict(_printed(Path(__file__).with_suffix(".txt"))),
}
