"""
Optimal control with an exact Hessian
=====================================

Bring a cart to rest at 1, starting from 0, with the least force. Unknown are forces, positions and speeds at 60
moments; the laws of motion are constraints. ``trust-constr`` gets exact sparse Jacobians and Hessians.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import NonlinearConstraint, minimize

import tape_api as tf

steps, dt, drag = 60, 1.0 / 60, 0.5
start = {"force": np.zeros(steps), "place": np.linspace(0.0, 1.0, steps + 1), "speed": np.ones(steps + 1)}


def effort(state):
    return dt * tf.reduce_sum(state["force"] ** 2)


def motion(state):
    place, speed, force = state["place"], state["speed"], state["force"]
    return tf.concat(
        [
            place[1:] - place[:-1] - dt * speed[:-1],
            speed[1:] - speed[:-1] - dt * (force - drag * speed[:-1] * abs(speed[:-1])),
            tf.stack([place[0], speed[0], place[-1] - 1.0, speed[-1]]),
        ],
        axis=0,
    )


# %%
# ``for_scipy`` turns both into functions of SciPy's flat vectors. The Hessian of the constraints, weighted by their
# multipliers, is ``weighted_hess``.

cost = tf.for_scipy(effort, start, format="csr")
laws = tf.for_scipy(motion, start, format="csr")
constraint = NonlinearConstraint(laws.fun, 0.0, 0.0, jac=laws.jac, hess=laws.weighted_hess)
found = minimize(
    cost.fun,
    cost.x0,
    jac=cost.jac,
    hess=cost.hess,
    constraints=constraint,
    method="trust-constr",
    options={"gtol": 1e-6},
)
best = cost.unpacked(found.x)
print(found.nit, "iterations, effort", round(float(found.fun), 3))

# %%
# The force pushes first, then brakes.

plt.subplot(1, 2, 1)
plt.step(np.arange(steps) * dt, np.asarray(best["force"]), where="post")
plt.title("force")
plt.subplot(1, 2, 2)
plt.plot(np.arange(steps + 1) * dt, np.asarray(best["place"]), label="place")
plt.plot(np.arange(steps + 1) * dt, np.asarray(best["speed"]), label="speed")
plt.legend()
plt.show()

assert abs(laws.fun(found.x)).max() < 1e-6

# %%
# Where the Jacobian of the laws can be nonzero: bands, since each moment sees the next one only.

plt.spy(laws.jac(found.x).toarray(), markersize=1)
plt.show()
