"""Sources that are computed from leaves, from one another, or given twice."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.programs import taken

RELATED = 0.15
"""How many programs have some."""
MOVES = (
    "{0}[::-1]",
    "{0}[1:]",
    "tf.transpose({0})",
    "tf.reshape({0}, [-1])",
    "tf.roll({0}, 1, 0)",
    "tf.gather({0}, [0, 0])",
    "tf.expand_dims({0}, 0)",
    "tf.concat([{0}, {0}], 0)",
    "{0} - tf.roll({0}, 1, 0)",
    "tf.reduce_sum({0}, 0)",
    "tf.identity({0})",
    "tf.sin({0})",
    "{0} * 2.0",
)
"""What plans look through, and a little more."""


def move_some(g: Any, rng: random.Random) -> None:
    """Begin a program with what moves a leaf, or adds it up."""
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = g.pick("v", ())
        if name is not None:
            g.emit("move", rng.choice(MOVES), [name])


def related_sources(g: Any, sources: Sequence[str], rng: random.Random) -> list[str]:
    """Sources of which some are computed, and some are there twice."""
    live, computed = {x.name for x in g.leaves if x.kind != "array" and x.value.dtype.kind in "fc"}, []
    for i in g.sinks[0]:
        if not live.isdisjoint(taken(i)):
            live.update(i.names)
            held = [g.array(a) for a in i.args if g.is_variable(a)]
            # what a variable holds is one node in a graph, and a value of each reading on a tape
            own = [n for n in i.names if not any(np.may_share_memory(g.array(n), a) for a in held)]
            # and what a loop or branch gives is that of its last step on a tape, which a rule may use
            own = [] if i.bodies or i.recipe.startswith("assign") else own
            computed += [n for n in own if g.array(n).dtype.kind in "fc"]
    found = rng.sample(computed, min(len(computed), rng.choice((0, 1, 1, 2, 3))))
    found += rng.sample(sources, rng.randint(not found, len(sources))) if sources else []
    found += [rng.choice(found)] if found and rng.random() < 0.3 else []
    rng.shuffle(found)
    return found
