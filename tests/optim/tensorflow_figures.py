"""Figures of real TensorFlow: the variables of each case after each step. Run as a program it stores them.

``python -m tests.optim.tensorflow_figures``, in an environment with TensorFlow, writes ``figures.json`` beside this
file; `test_peer.py` checks that what is stored is what TensorFlow gives. The stored figures are of TensorFlow 2.21 on
an x86-64 CPU: ``compat.v1`` optimizers in a graph with a session, Keras optimizers on eager variables.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.optim.cases import IDS, KEPT, PAIRS, STARTS, Case, gradients

STORED = Path(__file__).with_name("figures.json")
Figures = list[list[Any]]


def figures(tf: Any, case: Case, dtype: str) -> Figures:
    """The values of all variables after each step, as nested lists."""
    steps = (_eager if case.keras else _graph)(tf, case, dtype)
    return [steps[k - 1] for k in KEPT]


def _graph(tf: Any, case: Case, dtype: str) -> Figures:
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        variables = [v1.Variable(s, dtype=dtype, use_resource=True) for s in STARTS]
        feeds = [v1.placeholder(dtype, v.shape) for v in variables]
        train = case.theirs(tf).apply_gradients(list(zip(feeds, variables, strict=True)))
        session.run(v1.global_variables_initializer())
        steps = []
        for given in gradients(dtype):
            session.run(train, dict(zip(feeds, given, strict=True)))
            steps.append([_shortest(a) for a in session.run(variables)])
        return steps


def _eager(tf: Any, case: Case, dtype: str) -> Figures:
    variables = [tf.Variable(s, dtype=dtype) for s in STARTS]
    optimizer = case.theirs(tf)
    steps = []
    for given in gradients(dtype):
        optimizer.apply_gradients(zip([tf.constant(g) for g in given], variables, strict=True))
        steps.append([_shortest(v.numpy()) for v in variables])
    return steps


def _shortest(array: np.ndarray) -> Any:
    """Nested lists of the shortest numbers that give the array in its dtype."""
    return np.vectorize(lambda x: float(str(x)), otypes=[float])(array).tolist()


def stored() -> dict[str, Figures]:
    """The stored figures, by case and dtype."""
    return json.loads(STORED.read_text())  # type: ignore[no-any-return]


def main() -> None:
    import tensorflow as tf

    lines = [f'"{key}": {json.dumps(figures(tf, *pair))}' for key, pair in zip(IDS, PAIRS, strict=True)]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
