# Random numbers in functions: each branch and each body of a loop counts its operations by itself.
import tensorflow as tf

tf.random.set_seed(5)


def shown(*values):
    print([[round(float(x), 6) for x in tf.reshape(tf.cast(v, tf.float32), [-1])] for v in values])


def more(x):
    with tf.control_dependencies([x]):
        return x + tf.random.uniform([1])


@tf.function
def in_loops(n):
    first, second = tf.random.uniform([]), tf.random.uniform([])
    state = tf.zeros([1])
    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(n):
        with tf.control_dependencies([state]):
            state = tf.random.uniform([1]) + 10.0 * tf.cast(tf.random.categorical([[0.0, 0.0, 1.0]], 1)[0], tf.float32)
        rows = rows.write(i, state)
    last = tf.random.normal([]) if n > 2 else tf.random.uniform([])
    return first, second, tf.random.uniform([]), last, rows.stack()


@tf.function
def with_python(n):
    state, total, i = tf.zeros([1]), tf.random.uniform([]), 0
    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for k in tf.range(n):
        with tf.control_dependencies([state]):
            y = tf.numpy_function(lambda v: 2.0 * v, [tf.random.uniform([1])], tf.float32)
        if y[0] > 1.0:
            y += tf.random.normal([1])
        state = tf.ensure_shape(y, [1])
        rows = rows.write(k, y)
        if k > 2:
            break
    while i < 2:
        i += 1
        total += tf.random.uniform([])
    return total, rows.stack()


@tf.function
def by_name(x):
    either = tf.cond(x[0] > 0, lambda: tf.random.uniform([2]), lambda: tf.random.normal([2]))
    functions = [lambda: tf.random.uniform([]), lambda: tf.random.normal([])]
    one = tf.switch_case(tf.cast(x[1], tf.int32), [*functions, lambda: functions[0]() + functions[0]()])
    other = tf.case([(x[0] > 3, functions[0]), (x[1] > 1, functions[1])], default=lambda: tf.random.uniform([1])[0])
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, more(a)), (0, tf.zeros([1])))
    return either, one, other, loop[1], tf.random.uniform([])


@tf.function
def nested(x):
    for _ in tf.range(2):
        for _ in tf.range(2):
            x = more(x)
        with tf.control_dependencies([x]):
            x += tf.random.normal([1])
        if x[0] > 1.0:
            x += tf.random.uniform([1])
    return x, inner(x), inner(x), tf.random.uniform([])


@tf.function
def inner(x):
    return x + tf.random.uniform([])


data = tf.data.Dataset.range(5)


@tf.function
def over_data(source):
    total = tf.random.uniform([])
    for x in source:
        total += tf.random.uniform([]) * tf.cast(x, tf.float32)
    return total, tf.random.uniform([])


for n in (3, 2, 4):
    shown(*in_loops(tf.constant(n)))
for n in (3, 2, 6):
    shown(*with_python(tf.constant(n)))
    shown(*by_name(tf.constant([n - 2.0, n % 3.0])))
    shown(*nested(tf.constant([1.0 * n])))
    shown(*over_data(data))
