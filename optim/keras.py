"""The optimizers under Keras's names, as in ``tf.keras.optimizers``."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.configs import ours
from optim import schedules
from optim.adadelta import Adadelta
from optim.adagrad import Adagrad
from optim.adam import Adam, Adamax, AdamW, Nadam
from optim.ftrl import Ftrl
from optim.keras_optimizer import KerasOptimizer as Optimizer
from optim.layerwise import Lamb
from optim.loss_scaling import LossScaleOptimizer
from optim.momentum import SGD
from optim.rmsprop import RMSprop

_BY_NAME = {c.__name__.lower(): c for c in (Adadelta, Adagrad, Adam, AdamW, Adamax, Ftrl, Lamb, Nadam, RMSprop, SGD)}
_BY_NAME[LossScaleOptimizer.__name__.lower()] = LossScaleOptimizer  # type: ignore[assignment]
ours(*_BY_NAME.values(), *schedules.KINDS.values())


def get(identifier: Any) -> Optimizer | LossScaleOptimizer:
    """The optimizer that a name, a configuration or an optimizer stands for.

    Parameters
    ----------
    identifier : str, dict with "class_name" and "config", or optimizer

    Raises
    ------
    ValueError
        If it stands for none.

    Examples
    --------
    >>> get("adam").get_config()["learning_rate"]
    0.001
    """
    if isinstance(identifier, (Optimizer, LossScaleOptimizer)):
        return identifier
    name, config = identifier, {}
    if isinstance(identifier, dict):
        name, config = identifier.get("class_name"), identifier.get("config", {})
    if not isinstance(name, str) or name.lower() not in _BY_NAME:
        raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}; known are {', '.join(_BY_NAME)}")
    return _BY_NAME[name.lower()].from_config(config)


__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lamb",
    "LossScaleOptimizer",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "get",
    "schedules",
]
