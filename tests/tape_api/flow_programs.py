"""Choices and loops, as functions of the module imported as ``tf``."""

from typing import Any


def control_flow(tf: Any) -> Any:
    """Python's own control flow, recorded as it happens."""

    def f(x: Any, y: Any) -> Any:
        output = 1.0
        for i in range(int(y)):
            if i > 1 and i < 5:
                output = tf.multiply(output, x)
        return output

    results = []
    for count in (6, 5, 4):
        x = tf.convert_to_tensor(2.0)
        with tf.GradientTape() as t:
            t.watch(x)
            out = f(x, tf.constant(count))
        results.append(t.gradient(out, x))
    x = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = tf.cond(x > 3.0, lambda: tf.square(x), lambda: -x)
        z = tf.while_loop(lambda i, acc: i < 3, lambda i, acc: (i + 1, acc * x), [tf.constant(0), tf.constant(1.0)])[1]
    return results, tape.gradient([y, z], x)


def branches_that_hand_on(tf: Any) -> Any:
    """In a function, the result of a branch is another value than the tensor from outside that it returns."""

    @tf.function
    def derivatives(x: Any) -> Any:
        found = []
        for choose in (
            lambda: tf.cond(x[0] > 0.0, lambda: x, lambda: -x),
            lambda: tf.case([(x[0] > 0.0, lambda: x)], default=lambda: -x),
            lambda: tf.switch_case(tf.cast(x[0] > 0.0, tf.int32), [lambda: -x, lambda: x]),
        ):
            with tf.GradientTape(persistent=True) as outer:
                outer.watch(x)
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch(x)
                    early = tf.exp(x)
                    r = choose()
                    y = early * r + r * r * x
                assert tape.gradient(early, r) is None
                first = tape.gradient(y, [x, r])
            found += [first, tape.gradient(y, r), [outer.gradient(g, v) for g in first for v in (x, r)]]
        return found

    return derivatives(tf.constant([0.5, 2.0]))
