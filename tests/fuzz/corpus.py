"""Programs that once gave different numbers in different ways, as small as they could be made."""

from __future__ import annotations

import numpy as np

from tests.fuzz.programs import Body, Instruction, Leaf, Program

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
}
