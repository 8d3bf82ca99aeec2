#!/usr/bin/env bash
# TensorFlow 2.21.0: second derivatives of `tf.nn.moments` take the mean for a constant; so do Keras's normalizations.
#
# The variance of n numbers has the second derivatives 2 / n (delta_ij - 1 / n). Of `tf.nn.moments` the part -2 / n ** 2 is
# missing: its variance holds the mean as a constant, which is right for the first derivative alone. `reduce_variance`
# has all of it. Hessians, products with them and penalties on gradients go wrong without a message wherever a batch or a
# layer is normalized: `keras.ops.moments`, BatchNormalization and LayerNormalization of Keras 3.15.1 call it.
# Printed: the first row of the Hessian, and that of differences of the gradient.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 tensorflow-cpu==2.21.0 keras==3.15.1

cat >program.py <<'PROGRAM'
import keras, numpy as np, tensorflow as tf
x = np.array([1.0, 2.0, 4.0, 8.0])
batch = keras.layers.BatchNormalization(dtype="float64")
layer = keras.layers.LayerNormalization(dtype="float64")
of = {
    "reduce_variance": tf.math.reduce_variance,
    "nn.moments": lambda x: tf.nn.moments(x, [0])[1],
    "keras.ops.moments": lambda x: keras.ops.moments(x, [0])[1],
    "BatchNormalization": lambda x: batch(x[:, None], training=True)[0, 0] ** 3,
    "LayerNormalization": lambda x: layer(x[None])[0, 0] ** 3,
}
def slopes(f, x):
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return g.numpy(), outer.jacobian(g, x).numpy()
for name, f in of.items():
    h = 1e-5 * np.eye(4)
    differences = np.array([(slopes(f, x + d)[0] - slopes(f, x - d)[0])[0] / 2e-5 for d in h])
    print("SEEN", name, np.round(slopes(f, x)[1][0], 4) + 0.0, np.round(differences, 4) + 0.0)
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES= here/bin/python program.py 2>/dev/null | grep '^SEEN ' | tee seen
diff seen - <<'EXPECTED'
SEEN reduce_variance [ 0.375 -0.125 -0.125 -0.125] [ 0.375 -0.125 -0.125 -0.125]
SEEN nn.moments [0.5 0.  0.  0. ] [ 0.375 -0.125 -0.125 -0.125]
SEEN keras.ops.moments [0.5 0.  0.  0. ] [ 0.375 -0.125 -0.125 -0.125]
SEEN BatchNormalization [-0.0104  0.1431  0.0665 -0.0866] [-0.0386  0.1149  0.0384 -0.1147]
SEEN LayerNormalization [-0.0104  0.1431  0.0665 -0.0866] [-0.0386  0.1149  0.0384 -0.1147]
EXPECTED
echo "as described"
