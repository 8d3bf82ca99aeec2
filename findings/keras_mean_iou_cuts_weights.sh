#!/usr/bin/env bash
# Keras 3.15.0: `MeanIoU` cuts the weights of samples to integers, without a word.
#
# Two samples of class 0 are found first. Then labels 0, 1 and predictions 0, 0 come with weights 0.5 and 2, so class 0
# has 2.5 of 4.5 and class 1 none of 2: the mean is 0.278. Keras gives 0.25, which is right for the weights 0 and 2. Other
# metrics of Keras, `Mean` for one, take weights as they are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check keras==3.15.0 tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import keras

metric = keras.metrics.MeanIoU(2)
metric.update_state([0, 0], [0, 0])
metric.update_state([0, 1], [0, 0], sample_weight=[0.5, 2.0])
print("MeanIoU %.4f" % float(metric.result()), "right %.4f" % ((2.5 / 4.5 + 0 / 2) / 2))
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python -W ignore program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
MeanIoU 0.2500 right 0.2778
EXPECTED
echo "as described"
