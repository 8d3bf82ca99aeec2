# Layers that draw, choose, loop and reshape by the batch's size, in models that are built before they see any data.
# tolerance: 2e-5
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(3)
x = np.random.rand(5, 4, 3).astype("float32")


def batch(x):
    return tf.shape(x)[0]


def masked(x):
    return tf.where(tf.random.uniform((batch(x), 1, 1)) < 0.4, x, -x)


def sampled(x):
    return x + tf.random.normal(tf.shape(x)) * tf.random.uniform((batch(x), 4, 1), minval=-0.5, maxval=0.5)


def chosen(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * tf.random.truncated_normal([]), lambda: -x)


def looped(x):
    return tf.map_fn(lambda row: row * 2.0, x) + tf.scan(lambda a, row: a + row, x)


def folded(x):
    return x + tf.foldl(lambda a, row: a + tf.reduce_sum(row), x, 0.0)


def switched(x):
    return tf.switch_case(tf.constant(1) * tf.cast(tf.reduce_sum(x) > 0, tf.int32), [lambda: x, lambda: 3.0 * x])


def cropped(x):
    return tf.image.random_crop(x, (batch(x), 2, 3))


def mixed(x):
    return tf.gather(x, tf.random.shuffle(tf.range(batch(x))))


class Made(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        assert x.ndim == 3
        return self.function(x)


for function in (masked, sampled, chosen, looped, folded, switched, cropped, mixed):
    start = layers.Input((4, 3))
    model = tf.keras.Model(start, layers.Dense(2)(layers.LayerNormalization()(Made(function)(start))))
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    losses = [float(model.train_on_batch(x, np.ones(model(x).shape))) for _ in range(3)]
    print(function.__name__, model.output_shape, [round(v, 5) for v in losses])
