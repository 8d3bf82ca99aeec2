#!/usr/bin/env bash
# Keras 3.15.1 on TensorFlow 2.21.0: the bias of a `Conv1D` with channels first is added along positions where there are as
# many positions as filters.
#
# The kernel is zero and the bias is 0, 1, 2, 3, so each of the four channels is its own number at all four positions. That
# is what the backend JAX gives, and what TensorFlow's gives for five positions. For four it gives each channel 0, 1, 2, 3.
# `SeparableConv1D` does the same; layers with channels last do not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check keras==3.15.1 tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import keras
import numpy as np

for length in (6, 7):
    images = np.ones((1, 8, length), "float32")
    layer = keras.layers.Conv1D(4, 3, data_format="channels_first")
    layer(images)
    layer.set_weights([np.zeros((3, 8, 4)), np.arange(4.0)])
    print(keras.backend.backend(), length - 2, "positions, second channel:", np.asarray(layer(images))[0, 1])
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python -W ignore program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
tensorflow 4 positions, second channel: [0. 1. 2. 3.]
tensorflow 5 positions, second channel: [1. 1. 1. 1. 1.]
EXPECTED
echo "as described"
