"""The problems that are measured, each written once.

A problem is a function of a namespace `tf` (``graph_api``, ``tape_api``, TensorFlow's own in either mode, or a stand-in
of another library) and of values, so that every library runs the same text.
"""

from bench.problems import bundle, dense, equations, field, hand, hessians, networks, simulation, sparse
from bench.problems.chains import chain, chain_gradient, cross_entropy, mlp_logits
from bench.problems.problem import FIELD, Problem, Size, Values, label

PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for module in (dense, hand, sparse, bundle, hessians, field, networks, simulation, equations)
    for problem in vars(module).values()
    if isinstance(problem, Problem)
}

__all__ = [
    "FIELD",
    "PROBLEMS",
    "Problem",
    "Size",
    "Values",
    "chain",
    "chain_gradient",
    "cross_entropy",
    "label",
    "mlp_logits",
]
