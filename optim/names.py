"""TensorFlow's names for what is here: tables for all that offer it."""

from __future__ import annotations

from dualgrad.frontend.rows import functions, rows

OPTIMIZERS = rows("""
optim.adadelta: | AdadeltaOptimizer
optim.adagrad: | AdagradOptimizer
optim.adam: | AdamOptimizer
optim.ftrl: | FtrlOptimizer
optim.gradient_descent: | GradientDescentOptimizer
optim.momentum: | MomentumOptimizer
optim.optimizer: | Optimizer
optim.rmsprop: | RMSPropOptimizer
""")
AVERAGES = rows("optim.averages: | ExponentialMovingAverage")
SCHEDULES = rows("""
optim.schedules: | cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay
 natural_exp_decay piecewise_constant polynomial_decay
""")

CLIPPING = functions("""
optim.clip:* | * | | clip_by_value clip_by_norm clip_by_global_norm
optim.clip:global_norm | linalg.global_norm
""")
CLIPPING_VERSION1 = (*CLIPPING, *functions("optim.clip:* | * | | clip_by_average_norm"))
