# Whether a layer trains where nobody says so: Keras's defaults, and what calls hand on.
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(1)
x = np.random.rand(6, 4, 4, 3).astype("float32")


def told(t):
    weights = tf.reshape(tf.range(1.0, 1.0 + tf.cast(tf.size(t), tf.float32)), tf.shape(t))
    return round(float(tf.reduce_sum(t * weights / 1000.0)), 4)


class Silent(layers.Layer):
    def __init__(self, *inner):
        super().__init__()
        self.inner = inner
        self.first, self.last = inner[0], inner[-1]

    def call(self, x):
        for layer in self.inner:
            x = layer(x)
        return x


class Off(Silent):
    def call(self, x, training=False):
        return super().call(x)


class FirstOff(Silent):
    def call(self, x, training=None):
        x = self.inner[0](x, training=False)
        for layer in self.inner[1:]:
            x = layer(x)
        return x


class HandedOn(Silent):
    def call(self, x, training=None):
        x = self.inner[0](x, training=training)
        for layer in self.inner[1:]:
            x = layer(x)
        return x


def flip():
    return layers.RandomFlip("horizontal", seed=3)


def three():
    yield [flip(), layers.Dropout(0.5, seed=1)]
    yield [layers.Dropout(0.5, seed=1), flip()]
    yield [layers.BatchNormalization(), flip(), layers.GaussianNoise(0.3, seed=4)]


for kind in (Silent, Off, FirstOff, HandedOn):
    for said in ({}, {"training": True}, {"training": False}, {"training": None}):
        for i, inner in enumerate(three()):
            layer = kind(*inner)
            print(kind.__name__, i, said, told(layer(x, **said)), told(layer(x, **said)))

for i in range(3):
    built = tf.keras.Sequential([layers.Input((4, 4, 3)), *list(three())[i]])
    unbuilt = tf.keras.Sequential(list(three())[i])
    start = layers.Input((4, 4, 3))
    end = start
    for layer in list(three())[i]:
        end = layer(end)
    inside = tf.keras.Model(start, Silent(*list(three())[i])(start))
    for model in (built, unbuilt, tf.keras.Model(start, end), inside):
        calls = model(x), model(x, training=True), model(x, training=False), tf.constant(model.predict(x, verbose=0))
        print(i, [told(c) for c in calls])

# a model that is told goes before what was said when it was made
start = layers.Input((4, 4, 3))
norm = layers.BatchNormalization(momentum=0.5)
end = layers.Dense(1)(layers.Dropout(0.5, seed=2)(norm(start, training=False), training=True))
model = tf.keras.Model(start, end)
model.compile("sgd", "mse")
print(round(model.fit(x, x[..., :1], verbose=0).history["loss"][0], 5), norm.moving_mean.numpy().round(5).tolist())
print(told(model(x)), told(tf.constant(model.predict(x, verbose=0))))
