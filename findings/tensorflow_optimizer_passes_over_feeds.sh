#!/usr/bin/env bash
# tensorflow-cpu 2.21.0: a session ignores the value that is fed for `h = x * x`, `x + x` or a transpose turned back.
#
# `run` documents that `feed_dict` overrides the value of tensors. With 10, 20 fed for h, `h + 1` is 11, 21. It is computed
# from x: the arithmetic optimizer replaces the product by a square of another name (the sum by 2 * x, the pair of transposes
# by x) and hands that to what uses h, though h is fed. The same call still returns h as fed. Without x the call fails and
# asks for it. `tf.square(x)`, which nothing replaces, is right, and so is each without that optimizer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 2>/dev/null
cat >program.py <<'PROGRAM'
import tensorflow as tf

v1 = tf.compat.v1
without = v1.ConfigProto()
without.graph_options.rewrite_options.arithmetic_optimization = 2  # off
hidden = {
    "x * x": lambda x: x * x,
    "x + x": lambda x: x + x,
    "transposed twice": lambda x: tf.transpose(tf.transpose(x)),
    "square": tf.square,
}

print(tf.__version__)
for name, function in hidden.items():
    for label, config in (("default", None), ("without the optimizer", without)):
        with tf.Graph().as_default(), v1.Session(config=config) as session:
            x = v1.placeholder(tf.float32, [1, 2])
            h = function(x)
            y = h + 1
            seen = session.run([h, y], {x: [[2, 3]], h: [[10, 20]]})
            try:
                alone = session.run(y, {h: [[10, 20]]})[0]
            except tf.errors.InvalidArgumentError:
                alone = "fails"
        print(f"{name}, {label}: h {seen[0][0]}, h + 1 {seen[1][0]}; without x {alone}")
PROGRAM
TF_CPP_MIN_LOG_LEVEL=3 here/bin/python program.py 2>/dev/null | tee seen
diff seen - <<'EXPECTED'
2.21.0
x * x, default: h [10. 20.], h + 1 [ 5. 10.]; without x fails
x * x, without the optimizer: h [10. 20.], h + 1 [11. 21.]; without x [11. 21.]
x + x, default: h [10. 20.], h + 1 [5. 7.]; without x fails
x + x, without the optimizer: h [10. 20.], h + 1 [11. 21.]; without x [11. 21.]
transposed twice, default: h [10. 20.], h + 1 [3. 4.]; without x fails
transposed twice, without the optimizer: h [10. 20.], h + 1 [11. 21.]; without x [11. 21.]
square, default: h [10. 20.], h + 1 [11. 21.]; without x [11. 21.]
square, without the optimizer: h [10. 20.], h + 1 [11. 21.]; without x [11. 21.]
EXPECTED
echo "as described"
