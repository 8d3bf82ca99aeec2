#!/usr/bin/env bash
# Keras 3.15.1 on TensorFlow 2.21.0: `SimpleRNN` takes `activity_regularizer` and never uses it.
#
# A layer with such a regularizer adds a loss when it is called, and training lowers it. `LSTM` and `GRU` do. `SimpleRNN` has
# no loss after a call, so a model trains as if nothing had been asked for; its configuration keeps the regularizer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check keras==3.15.1 tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import keras
import numpy as np

for kind in (keras.layers.SimpleRNN, keras.layers.GRU, keras.layers.LSTM):
    layer = kind(3, activity_regularizer="l2")
    layer(np.ones((2, 5, 4), "float32"))
    print(kind.__name__, len(layer.losses), "losses")
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python -W ignore program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
SimpleRNN 0 losses
GRU 1 losses
LSTM 1 losses
EXPECTED
echo "as described"
