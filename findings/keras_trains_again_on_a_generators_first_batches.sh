#!/usr/bin/env bash
# keras 3.15.0: `fit(generator, epochs=3)` trains on the first two batches again once the generator has ended.
#
# A generator yields three batches and ends. Keras reads some batches ahead to learn their shapes and keeps them; when the
# second epoch finds the generator at its end, it gets those kept batches as a whole epoch, and so does the third. A
# warning says that the input ran out of data and that training is interrupted; training goes on, and the history shows
# three epochs. The batches below are numbered by their only value.
# Seen (NumPy alone, backend of TensorFlow 2.21.0): batches trained on 0, 1, 2, then 0, 1, then 0, 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check keras==3.15.0 tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import keras
import numpy as np

trained, yielded = [], []


class Watched(keras.Sequential):
    def train_step(self, data):
        trained[-1].append(int(data[0][0, 0]))
        return super().train_step(data)


class Epochs(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        trained.append([])


def batches():
    for k in range(3):
        yielded.append(k)
        yield np.full((2, 1), float(k)), np.zeros((2, 1))


model = Watched([keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
history = model.fit(batches(), epochs=3, verbose=0, callbacks=[Epochs()])
print("yielded", yielded)
print("trained on", trained)
print("epochs in the history", len(history.history["loss"]))
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 KERAS_BACKEND=tensorflow venv/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
yielded [0, 1, 2]
trained on [[0, 1, 2], [0, 1], [0, 1]]
epochs in the history 3
EXPECTED
echo "as described"
