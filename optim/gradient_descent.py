"""Gradient descent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from optim.optimizer import Optimizer
from optim.pairs import Rate


def gradient_descent(
    gradient: Any, value: Any, slots: dict[str, Any], hyper: SimpleNamespace, state: SimpleNamespace
) -> tuple[Any, dict[str, Any]]:
    """``value - learning_rate * gradient``."""
    return value - gradient * hyper.learning_rate, {}


class GradientDescentOptimizer(Optimizer):
    """Gradient descent: ``value - learning_rate * gradient``.

    Parameters
    ----------
    learning_rate : float, tensor, or callable returning one
    use_locking : bool
        Accepted for compatibility.
    name : str

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.0)
    ...     train = GradientDescentOptimizer(0.25).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     print(sess.run(w))
    1.5
    """

    hyperparameters = ("learning_rate",)
    update = staticmethod(gradient_descent)

    def __init__(self, learning_rate: Rate, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
