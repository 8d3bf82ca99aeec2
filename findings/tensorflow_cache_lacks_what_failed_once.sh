#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: `Dataset.cache()` keeps a shorter data set for good, once a loop has gone on after an error.
#
# An element's function fails once (a file that was busy, say). A loop that catches the error and asks for the next
# element gets it, and reaches the end. The cache is then complete for TensorFlow: each later pass lacks that element,
# raises nothing, and the function is not asked again. Without `cache` the second pass has all six.
# Seen: first pass [0, 1, 2, 'error', 4, 5]; second pass with cache [0, 1, 2, 4, 5]; without cache [0, 1, 2, 3, 4, 5].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
import tensorflow as tf


def passes(cached):
    failures = [3]

    def busy_once(x):
        if int(x) in failures:
            failures.clear()
            raise OSError("the file is busy")
        return np.int64(x)

    data = tf.data.Dataset.range(6).map(lambda x: tf.py_function(busy_once, [x], tf.int64))
    if cached:
        data = data.cache()
    for _ in range(2):
        elements, iterator = [], iter(data)
        while True:
            try:
                elements.append(int(next(iterator)))
            except StopIteration:
                break
            except tf.errors.OpError:
                elements.append("error")
        print("cache" if cached else "no cache", elements)


passes(True)
passes(False)
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 venv/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
cache [0, 1, 2, 'error', 4, 5]
cache [0, 1, 2, 4, 5]
no cache [0, 1, 2, 'error', 4, 5]
no cache [0, 1, 2, 3, 4, 5]
EXPECTED
echo "as described"
