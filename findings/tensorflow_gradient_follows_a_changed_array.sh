#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: a tape's gradient follows a NumPy array that is changed later, if its address is a multiple of 64.
#
# An array that is handed to an operation as it is (a factor, an index, a mask) is not copied if it lies at such an address:
# the tape keeps its memory and reads it when it computes the gradient. At other addresses it is copied. Where NumPy puts an
# array is chance, so a program that fills a buffer again before `tape.gradient` has a wrong gradient in some runs and a
# right one in others. TensorFlow's tutorial says that arrays and tensors share memory if possible, not when that is.
# `tf.constant` and `tf.convert_to_tensor` always copy. Each line has the gradient before and after the change (on x86-64).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
import tensorflow as tf


def at(address, values):
    """Return a copy of an array whose address is this one modulo 64."""
    memory = np.zeros(values.nbytes + 128, np.uint8)
    start = (address - memory.ctypes.data) % 64
    array = memory[start : start + values.nbytes].view(values.dtype)
    array[:] = values
    return array


x = tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64)
factors, indices, mask = np.ones(4), np.arange(4), np.array([True, False, True, False])
print(tf.__version__)
for name, function, values, later in (
    ("x * factors", lambda a: x * a, factors, 7.0),
    ("gather", lambda a: tf.gather(x, a), indices, 3),
    ("where", lambda a: tf.where(a, x, tf.zeros_like(x)), mask, True),
    ("x * constant(factors)", lambda a: x * tf.constant(a), factors, 7.0),
):
    for address in (0, 16):
        array = at(address, values)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.reduce_sum(function(array))
        before = tf.convert_to_tensor(tape.gradient(y, x)).numpy()
        array[:] = later
        after = tf.convert_to_tensor(tape.gradient(y, x)).numpy()
        print(f"{name}, address {address}: {before} {after}")
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
2.21.0
x * factors, address 0: [1. 1. 1. 1.] [7. 7. 7. 7.]
x * factors, address 16: [1. 1. 1. 1.] [1. 1. 1. 1.]
gather, address 0: [1. 1. 1. 1.] [0. 0. 0. 4.]
gather, address 16: [1. 1. 1. 1.] [1. 1. 1. 1.]
where, address 0: [1. 0. 1. 0.] [1. 1. 1. 1.]
where, address 16: [1. 0. 1. 0.] [1. 0. 1. 0.]
x * constant(factors), address 0: [1. 1. 1. 1.] [1. 1. 1. 1.]
x * constant(factors), address 16: [1. 1. 1. 1.] [1. 1. 1. 1.]
EXPECTED
echo "as described"
