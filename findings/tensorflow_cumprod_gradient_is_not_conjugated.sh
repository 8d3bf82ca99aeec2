#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: the gradient of `tf.math.cumprod` of complex numbers is wrong, in direction as in size.
#
# TensorFlow's gradient of a real function is that in the real parts plus i times that in the imaginary parts; for products
# it takes conjugates of the factors. The rule of `cumprod` takes the factors as they are. The same products written out,
# `reduce_prod` and differences of values agree to all digits shown; `cumprod`, also exclusive or reversed, does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
import tensorflow as tf

z = np.array([1 + 2j, 3 - 1j, 0.5 + 0.5j])
weights = tf.constant([1 - 1j, 2 + 3j, 0.3j], tf.complex128)


def loss(function, values):
    return tf.math.real(tf.reduce_sum(weights * function(values)))


def gradient(function):
    x = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(function, x)
    return tape.gradient(y, x).numpy()


def differences(function):
    def slope(step):
        return float(loss(function, tf.constant(z + step)) - loss(function, tf.constant(z - step))) / 2e-6

    steps = 1e-6 * np.eye(3)
    return np.array([slope(step) + 1j * slope(1j * step) for step in steps])


print(tf.__version__)
for name, function in {
    "written out": lambda x: tf.stack([x[0], x[0] * x[1], x[0] * x[1] * x[2]]),
    "reduce_prod": lambda x: tf.reduce_prod(x)[None],
    "cumprod": tf.math.cumprod,
    "exclusive": lambda x: tf.math.cumprod(x, exclusive=True),
    "reversed": lambda x: tf.math.cumprod(x, reverse=True),
}.items():
    found, expected = gradient(function), differences(function)
    same = bool(np.allclose(found, expected, atol=1e-6))
    print(f"{name}: first {found[0]:.4f}, by differences {expected[0]:.4f}, all the same {same}")
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
2.21.0
written out: first 9.7000-6.6000j, by differences 9.7000-6.6000j, all the same True
reduce_prod: first 3.7000-7.6000j, by differences 3.7000-7.6000j, all the same True
cumprod: first 4.3000-10.6000j, by differences 9.7000-6.6000j, all the same False
exclusive: first 1.7000-3.9000j, by differences 2.3000-3.9000j, all the same False
reversed: first 1.0000+3.0000j, by differences 3.0000+1.0000j, all the same False
EXPECTED
echo "as described"
