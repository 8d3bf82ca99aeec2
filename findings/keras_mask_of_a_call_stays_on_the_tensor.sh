#!/usr/bin/env bash
# keras 3.15.1 with tensorflow-cpu 2.21.0: a mask that one call of a model was given is used by later calls that are given none.
#
# `model(x, mask=m)` of a functional or Sequential model writes the mask on the tensor `x` itself, where it stays. The next
# `model(x)`, and any other model that takes `x`, goes on with it; with a fresh tensor of the same numbers the result is another
# one. A subclassed model that hands `mask` to its layer leaves `x` as it was. What is said is only that the mask gets lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
import tensorflow as tf

values = np.arange(8.0, dtype=np.float32).reshape(1, 4, 2) / 8
mask = np.array([[True, True, False, False]])


class Own(tf.keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, x, mask=None):
        return self.layer(x, mask=mask)


def summing():
    return tf.keras.layers.SimpleRNN(1, activation=None, kernel_initializer="ones", recurrent_initializer="ones")


symbol = tf.keras.Input((4, 2))
models = {
    "Sequential": tf.keras.Sequential([symbol, summing()]),
    "Functional": tf.keras.Model(symbol, summing()(symbol)),
    "subclassed": Own(summing()),
}
print(tf.keras.__version__)
for name, model in models.items():
    x = tf.constant(values)
    results = [model(x), model(x, mask=mask), model(x), model(tf.constant(values))]
    print(name, *[f"{float(y[0, 0]):.3f}" for y in results])
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
3.15.1
Sequential 3.500 0.750 0.750 3.500
Functional 3.500 0.750 0.750 3.500
subclassed 3.500 0.750 3.500 3.500
EXPECTED
echo "as described"
