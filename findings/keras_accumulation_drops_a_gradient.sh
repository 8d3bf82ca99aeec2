#!/usr/bin/env bash
# Keras 3.15.0: `gradient_accumulation_steps=2` drops the gradient of the first call where that of the second is None.
#
# Two variables start at 0, and SGD has the rate 1. The gradients of w are 1, None, None, 1 in four calls, so each of the
# two steps has the mean gradient 0.5, and w should end at -1. It ends at -0.5: in the call that makes a step Keras leaves
# variables without a gradient out, with what was accumulated for them. The other variable, which always has one, is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check keras==3.15.0 tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import keras
import numpy as np

v, w = keras.Variable(0.0, name="v"), keras.Variable(0.0, name="w")
optimizer = keras.optimizers.SGD(1.0, gradient_accumulation_steps=2)
one = np.float32(1)
for gradients in ((one, one), (one, None), (one, None), (one, one)):
    optimizer.apply_gradients(zip(gradients, (v, w)))
print("v", float(v.numpy()), "w", float(w.numpy()))
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python -W ignore program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
v -2.0 w -0.5
EXPECTED
echo "as described"
