"""
Bundle adjustment
=================

Where did the cameras stand, and where are the points that they saw? Both follow from the pictures alone, by least
squares. Each residual sees one camera and one point, so almost all of the Jacobian is zero. dualgrad finds that out by
itself and gives SciPy a sparse matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import tape_api as tf

# %%
# A scene
# -------
# Eight cameras look at eighty points. A camera is a rotation vector and a shift.

rng = np.random.default_rng(0)
points = rng.uniform(-1.0, 1.0, (80, 3))
cameras = np.concatenate([rng.normal(0.0, 0.2, (8, 3)), rng.normal(0.0, 0.2, (8, 2)), np.full((8, 1), 5.0)], axis=1)
camera_of, point_of = np.nonzero(rng.uniform(size=(8, 80)) < 0.6)


# %%
# What a camera sees
# ------------------
# A point is turned by Rodrigues' formula, shifted, and divided by its depth.


def project(cameras, points):
    camera, point = tf.gather(cameras, camera_of), tf.gather(points, point_of)
    axis, shift = camera[:, :3], camera[:, 3:]
    square = tf.reduce_sum(axis**2, 1, keepdims=True) + 1e-30
    angle = tf.sqrt(square)
    along = axis * tf.reduce_sum(axis * point, 1, keepdims=True)
    across = tf.linalg.cross(axis, point)
    turned = point * tf.cos(angle) + across * tf.sin(angle) / angle + along * (1.0 - tf.cos(angle)) / square
    placed = turned + shift
    return placed[:, :2] / placed[:, 2:]


seen = project(tf.constant(cameras), tf.constant(points)).numpy() + rng.normal(0.0, 1e-3, (len(camera_of), 2))

# %%
# The unknowns are two arrays. ``for_scipy`` packs them into the flat vector that SciPy wants.

start = {
    "cameras": cameras + rng.normal(0.0, 0.02, cameras.shape),
    "points": points + rng.normal(0.0, 0.05, points.shape),
}
problem = tf.for_scipy(lambda p: project(p["cameras"], p["points"]) - seen, start, format="csr")
jacobian = problem.jac(problem.x0)
print(jacobian.shape, f"{jacobian.nnz / np.prod(jacobian.shape):.1%} can be other than zero")

found = least_squares(problem.fun, problem.x0, jac=problem.jac, method="trf", tr_solver="lsmr", x_scale="jac")
before, after = np.sqrt(np.mean(problem.fun(problem.x0) ** 2)), np.sqrt(np.mean(found.fun**2))
print(f"{found.njev} Jacobians; the mean error goes from {before:.4f} to {after:.4f}")

# %%
# The pattern shows it: on the left the cameras, on the right the points.

plt.subplot(1, 2, 1)
plt.spy(jacobian.toarray(), markersize=0.5, aspect="auto")
plt.title("Jacobian")
plt.subplot(1, 2, 2)
plt.hist([abs(problem.fun(problem.x0)), abs(found.fun)], bins=30, log=True, label=["before", "after"])
plt.title("errors")
plt.legend()
plt.show()

assert after < 2e-3
