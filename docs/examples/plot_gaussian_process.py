"""
Hyper-parameters of a Gaussian process
======================================

Length, height and noise of a Gaussian process are found by maximizing the likelihood of the data: Cholesky
decomposition, triangular solve, logarithm of a determinant. SciPy gets the exact gradient.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tape_api as tf

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0.0, 10.0, 40))
y = np.sin(x) + 0.2 * rng.normal(size=40)
squares = (x[:, None] - x) ** 2


def covariance(p, squares):
    return tf.exp(2.0 * p["height"]) * tf.exp(-0.5 * squares * tf.exp(-2.0 * p["length"]))


def minus_likelihood(p):
    matrix = covariance(p, squares) + tf.exp(2.0 * p["noise"]) * tf.eye(40, dtype=tf.float64)
    factor = tf.linalg.cholesky(matrix)
    white = tf.linalg.triangular_solve(factor, tf.constant(y[:, None]))
    return 0.5 * tf.reduce_sum(white**2) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))


# %%
# ``x0`` is a dict of logarithms. SciPy sees a flat vector.

problem = tf.for_scipy(minus_likelihood, {"height": 0.0, "length": 0.0, "noise": 0.0})
found = minimize(problem.fun, problem.x0, jac=problem.jac, method="BFGS")
best = problem.unpacked(found.x)
print({name: round(float(np.exp(value)), 3) for name, value in best.items()}, found.nit, "iterations")

# %%
# What the process predicts between the points, with twice its standard deviation.

grid = np.linspace(-1.0, 11.0, 200)
noise = np.exp(2.0 * float(best["noise"]))
inner = covariance(best, squares).numpy() + noise * np.eye(40)
cross = covariance(best, (grid[:, None] - x) ** 2).numpy()
mean = cross @ np.linalg.solve(inner, y)
spread = np.exp(2.0 * float(best["height"])) - np.sum(cross * np.linalg.solve(inner, cross.T).T, axis=1)
width = 2.0 * np.sqrt(np.maximum(spread, 0.0))
plt.plot(x, y, "k.")
plt.plot(grid, mean)
plt.fill_between(grid, mean - width, mean + width, alpha=0.3)
plt.show()

assert 0.1 < np.exp(float(best["noise"])) < 0.3
