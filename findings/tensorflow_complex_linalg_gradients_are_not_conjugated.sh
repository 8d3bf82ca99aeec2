#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: gradients of `det`, `slogdet` and `sqrtm` of complex matrices lack conjugates.
#
# For a real function f of complex x, TensorFlow's gradient g is such that f changes by the real part of sum(conj(g) * d) when x
# changes by d; `inv`, `solve` and `cholesky` keep to that. Each line has the change of a real function of the result along one
# direction, first by differences, then by the gradient. For three functions these are two numbers, and nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
import tensorflow as tf

x = np.array([[4, 1j, 0.5], [1 - 1j, 5 + 1j, 2], [0.5j, 1, 3 - 1j]])
d = np.array([[1j, 0.5, 1], [0.2, 1 + 1j, -1j], [1, 0.3j, 0.7]])
b = np.array([[1.0], [1j], [2.0]])
functions = {
    "inv": tf.linalg.inv,
    "solve": lambda x: tf.linalg.solve(x, b),
    "det": tf.linalg.det,
    "slogdet": lambda x: tf.linalg.slogdet(x)[0],
    "sqrtm": tf.linalg.sqrtm,
}


def real(y):
    weights = tf.reshape(tf.cast(tf.range(1, tf.size(y) + 1), tf.complex128), tf.shape(y))
    return tf.math.real(tf.reduce_sum(y * weights * (1 + 2j)))


print(tf.__version__)
for name, function in functions.items():
    source = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(source)
        y = real(function(source))
    gradient = tape.gradient(y, source).numpy()
    change = (real(function(x + 1e-6 * d)) - real(function(x - 1e-6 * d))) / 2e-6
    print(f"{name}: {change:.4f} {np.sum(np.conj(gradient) * d).real:.4f}")
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
2.21.0
inv: -0.3565 -0.3565
solve: 0.2121 0.2121
det: -22.4000 -56.9967
slogdet: -1.0396 0.0000
sqrtm: 4.2725 5.3602
EXPECTED
echo "as described"
