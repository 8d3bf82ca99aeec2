"""Plans where a rule of the user's is not linear in the cotangent: one reverse sweep from each element of a target.

There is no matrix that such a rule multiplies with (`engine.derivatives.linearity`). A row of the Jacobian is then what
the gradient of its element gives, as in TensorFlow: nothing shares a seed, no end is peeled, nothing is multiplied over
cuts, and a Hessian is no more symmetric than its rows are.
"""

from __future__ import annotations

from typing import Any

from engine.core.op import Node
from engine.derivatives.linearity import name_of
from engine.jacobian.structure.path import Path, is_connected
from engine.jacobian.structure.pattern import Pattern
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.structs import replace


def with_single_rows(options: Any, sparsity: Any, node: Node) -> Any:
    """The `Options` for sweeps row by row, as a node has a rule that is not linear; raise if they exclude it."""
    why = f"the gradient rule of {name_of(node)} is not seen to be linear in the cotangent"
    if options.mode == "forward":
        raise InvalidArgumentError(
            f"jacobian: argument `mode` must be auto or reverse where {why}: a row is what the rule makes of the "
            f"cotangent of its element; got 'forward'"
        )
    if sparsity is not None:
        raise InvalidArgumentError(
            f"jacobian: argument `sparsity` must be left out where {why}: rows cannot share a sweep then"
        )
    return replace(options, mode="reverse", symmetric=False)


def full_patterns(path: Path) -> list[list[Pattern]]:
    """Every entry of each block that a way leads through: of a zero cotangent such a rule may make anything."""
    return [
        [
            Pattern.dense(path.size(target), path.size(source))
            if is_connected(path.nodes, path.values[source], path.values[target])
            else Pattern.zero(path.size(target), path.size(source))
            for source in dict.fromkeys(path.sources)
        ]
        for target in dict.fromkeys(path.targets)
    ]
