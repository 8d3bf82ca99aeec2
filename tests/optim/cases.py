"""The optimizers to compare with TensorFlow: ours and theirs made from the same arguments, and what they are fed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import optim

STEPS = 20
KEPT = (1, 2, 5, 10, 20)
"""After which steps values are compared."""
STARTS = ([1.0, -2.0, 0.5, 0.0], [[0.25, -0.75], [1.5, 3.0]])
"""The variables' initial values."""


def gradients(dtype: str) -> list[list[np.ndarray]]:
    """A gradient for each variable at each step: of either sign, of several sizes, now and then exactly zero."""
    rng = np.random.default_rng(7)
    steps = []
    for _ in range(STEPS):
        drawn = [rng.standard_normal(np.shape(s)) * 10.0 ** rng.integers(-2, 2, np.shape(s)) for s in STARTS]
        steps.append([np.where(rng.random(g.shape) < 0.1, 0, g).astype(dtype) for g in drawn])
    return steps


@dataclass(frozen=True)
class Case:
    """One optimizer with its arguments.

    Attributes
    ----------
    name : str
        Its class, in TensorFlow 1's ``train`` or in Keras.
    arguments : dict
        `learning_rate` may be the name and arguments of a schedule.
    keras : bool
    dtypes : tuple of str
        That TensorFlow's can update.
    tol64, tol32 : float
        How far values may be from TensorFlow's, in units of the largest. TensorFlow 1 keeps hyperparameters in
        float32 and so do we; where it, or Keras, computes with one of them in another precision, digits differ.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    keras: bool = False
    dtypes: tuple[str, ...] = ("float32", "float64")
    tol64: float = 1e-12
    tol32: float = 2e-6

    @property
    def id(self) -> str:
        """A readable test id, and the key of its stored figures."""
        return f"{'keras.' if self.keras else ''}{self.name}{'-' + self.label if self.label else ''}"

    def ours(self) -> Any:
        """Our optimizer."""
        home, schedules = (optim.keras, optim.schedules) if self.keras else (optim, None)
        return getattr(home, self.name)(**self._arguments(schedules))

    def theirs(self, tf: Any) -> Any:
        """TensorFlow's."""
        home = tf.keras.optimizers if self.keras else tf.compat.v1.train
        return getattr(home, self.name)(**self._arguments(tf.keras.optimizers.schedules))

    def _arguments(self, schedules: Any) -> dict[str, Any]:
        rate = self.arguments.get("learning_rate")
        if not isinstance(rate, tuple):
            return dict(self.arguments)
        return {**self.arguments, "learning_rate": getattr(schedules, rate[0])(**rate[1])}


def tf1(name: str, label: str = "", tol64: float = 1e-12, **arguments: Any) -> Case:
    return Case(name, arguments, label, tol64=tol64)


def keras(name: str, label: str = "", tol32: float = 2e-6, **arguments: Any) -> Case:
    return Case(name, arguments, label, keras=True, tol32=tol32)


DECAYING = ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5})

FTRL: dict[str, Any] = {
    "learning_rate": 0.1,
    "initial_accumulator_value": 0.2,
    "l1_regularization_strength": 0.1,
    "l2_regularization_strength": 0.2,
    "l2_shrinkage_regularization_strength": 0.05,
    "beta": 0.3,
}
CASES = (
    tf1("GradientDescentOptimizer", learning_rate=0.1),
    tf1("MomentumOptimizer", learning_rate=0.1, momentum=0.9),
    tf1("MomentumOptimizer", "nesterov", learning_rate=0.1, momentum=0.9, use_nesterov=True),
    tf1("AdamOptimizer"),
    tf1("AdamOptimizer", "tuned", learning_rate=0.1, beta1=0.5, beta2=0.8, epsilon=1e-3),
    tf1("AdagradOptimizer", learning_rate=0.1),
    tf1("AdagradOptimizer", "tuned", learning_rate=0.1, initial_accumulator_value=0.5),
    tf1("RMSPropOptimizer", learning_rate=0.1),
    tf1("RMSPropOptimizer", "tuned", learning_rate=0.1, decay=0.7, momentum=0.5, epsilon=1e-3, centered=True),
    tf1("AdadeltaOptimizer"),
    tf1("AdadeltaOptimizer", "tuned", learning_rate=1.0, rho=0.8, epsilon=1e-3),
    tf1("FtrlOptimizer", learning_rate=0.1),
    tf1("FtrlOptimizer", "regularized", 1e-9, **FTRL),
    tf1("FtrlOptimizer", "power", learning_rate=0.1, learning_rate_power=-0.3),
    keras("SGD"),
    keras("SGD", "momentum", learning_rate=0.1, momentum=0.9),
    keras("SGD", "nesterov", learning_rate=0.1, momentum=0.9, nesterov=True),
    keras("SGD", "schedule", learning_rate=DECAYING, momentum=0.9),
    keras("SGD", "clipnorm", learning_rate=0.1, clipnorm=0.5),
    keras("SGD", "clipvalue", learning_rate=0.1, clipvalue=0.5),
    keras("SGD", "global_clipnorm", learning_rate=0.1, global_clipnorm=0.5),
    keras("SGD", "weight_decay", learning_rate=0.1, weight_decay=0.1, momentum=0.5),
    keras("SGD", "accumulated", learning_rate=0.1, momentum=0.9, gradient_accumulation_steps=3),
    keras("SGD", "averaged", learning_rate=0.1, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=4),
    keras("Adam", "averaged", learning_rate=0.1, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=1),
    keras("Adam"),
    keras("Adam", "tuned", learning_rate=0.1, beta_1=0.5, beta_2=0.8, epsilon=1e-3),
    keras("Adam", "amsgrad", learning_rate=0.1, beta_2=0.5, amsgrad=True),
    # Keras adds (1 - β₂) rounded once to v and divides it by 1 - β₂ᵗ of a rounded β₂; ours agree with each other
    keras("AdamW", tol32=5e-6, learning_rate=0.1, weight_decay=0.1),
    keras("Adamax", learning_rate=0.1),
    keras("Nadam", learning_rate=0.1),
    keras("Nadam", "schedule", learning_rate=DECAYING),
    keras("Adagrad", learning_rate=0.1),
    keras("RMSprop", learning_rate=0.1),
    keras("RMSprop", "tuned", learning_rate=0.1, rho=0.7, momentum=0.5, epsilon=1e-3, centered=True),
    keras("Adadelta", learning_rate=0.1),
    keras("Lamb", learning_rate=0.1),
    keras("Lamb", "tuned", learning_rate=0.1, beta_1=0.5, beta_2=0.7, epsilon=1e-3),
    keras("Ftrl", learning_rate=0.1),
    keras("Ftrl", "regularized", learning_rate_power=-0.3, **FTRL),
)
PAIRS = [(case, dtype) for case in CASES for dtype in case.dtypes]
IDS = [f"{case.id}/{dtype}" for case, dtype in PAIRS]
"""As test ids, and the keys of the stored figures."""
