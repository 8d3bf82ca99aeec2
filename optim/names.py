"""TensorFlow's names for what is here: tables for all that offer it."""

from __future__ import annotations

from dualgrad.frontend.rows import Later

clip = Later("optim.clip")

OPTIMIZERS: tuple[tuple[str, str], ...] = (
    ("optim.adadelta:", "AdadeltaOptimizer"),
    ("optim.adagrad:", "AdagradOptimizer"),
    ("optim.adam:", "AdamOptimizer"),
    ("optim.ftrl:", "FtrlOptimizer"),
    ("optim.gradient_descent:", "GradientDescentOptimizer"),
    ("optim.momentum:", "MomentumOptimizer"),
    ("optim.optimizer:", "Optimizer"),
    ("optim.rmsprop:", "RMSPropOptimizer"),
)
AVERAGES = (("optim.averages:", "ExponentialMovingAverage"),)
SCHEDULES = (
    ("optim.schedules:", "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay"),
    ("optim.schedules:", "linear_cosine_decay natural_exp_decay piecewise_constant polynomial_decay"),
)


CLIPPING: tuple[tuple[str, str], ...] = (
    (clip.clip_by_value, "clip_by_value"),
    (clip.clip_by_norm, "clip_by_norm"),
    (clip.clip_by_global_norm, "clip_by_global_norm"),
    (clip.global_norm, "linalg.global_norm"),
)
CLIPPING_VERSION1: tuple[tuple[str, str], ...] = (*CLIPPING, (clip.clip_by_average_norm, "clip_by_average_norm"))
