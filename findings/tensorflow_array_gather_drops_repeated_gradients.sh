#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: in a `tf.function` the gradient of `TensorArray.gather` keeps one share of an index that repeats.
#
# An array holds x = 1, 2, 3, and y is the sum of the cubes of its entries 0, 0, 2, so dy/dx is 6, 0, 27. That is what eager
# code gives, and a function that reads the same entries one by one. With `gather` a function gives 3: the gradient is
# scattered into a list, where a later share overwrites an earlier one. Sessions of `compat.v1` do the same, unless
# `disable_control_flow_v2` has been called. The documentation of `gather` takes any indices in range.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import tensorflow as tf

v1 = tf.compat.v1
entries = [0, 0, 2]


def gathered(x):
    array = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
    return tf.reduce_sum(array.gather(entries) ** 3)


def read(x):
    array = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
    return sum(array.read(k) ** 3 for k in entries)


def on_a_tape(function):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return float(y), tape.gradient(y, x).numpy()


def in_a_session():
    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0], tf.float64)
        return session.run(tf.gradients(gathered(x), x)[0])


print(tf.__version__)
print("eager, gather:", *on_a_tape(gathered))
print("eager, read:", *on_a_tape(read))
print("function, gather:", *on_a_tape(tf.function(gathered)))
print("function, read:", *on_a_tape(tf.function(read)))
print("session, gather:", in_a_session())
v1.disable_control_flow_v2()
print("session without control flow v2, gather:", in_a_session())
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
2.21.0
eager, gather: 29.0 [ 6.  0. 27.]
eager, read: 29.0 [ 6.  0. 27.]
function, gather: 29.0 [ 3.  0. 27.]
function, read: 29.0 [ 6.  0. 27.]
session, gather: [ 3.  0. 27.]
session without control flow v2, gather: [ 6.  0. 27.]
EXPECTED
echo "as described"
