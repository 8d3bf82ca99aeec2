# What models are called with: other dtypes and ranks than their inputs have, and kernels whose seeds follow in order.
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(1)


def model(shape, *inner):
    start = end = layers.Input(shape)
    for layer in inner:
        end = layer(end)
    return tf.keras.Model(start, end)


def shown(name, made, x):
    print(name, made.output_shape, round(float(tf.reduce_sum(made(x))), 4), made.predict(x, verbose=0).dtype)
    made.compile("sgd", "mse")
    loss = made.fit(x, np.zeros(made(x).shape), verbose=0).history["loss"]
    print(name, round(loss[0], 4))


shown("bytes", model((4, 4, 1), layers.Conv2D(2, 2)), np.ones((2, 4, 4, 1), "uint8"))
shown("no channel", model((4, 4, 1), layers.Conv2D(2, 2)), np.ones((2, 4, 4), "uint8"))
shown("rank 1", model((1,), layers.Dense(2)), np.arange(5.0))
shown("ids", model((1,), layers.Embedding(6, 2)), np.arange(5))
shown("rank 2", model((), layers.Embedding(6, 2)), np.arange(5)[:, None])
shown("sequential", tf.keras.Sequential([layers.Input((1,)), layers.Dense(2)]), np.arange(5))
shown("booleans", model((3, 2), layers.LSTM(2), layers.BatchNormalization()), np.ones((5, 3, 2), bool))
shown("seeds", model((6, 6, 2), layers.DepthwiseConv2D(3), layers.Conv2DTranspose(2, 3)), np.ones((1, 6, 6, 2)))
for layer in (layers.GRU(2), layers.SimpleRNN(2), layers.LayerNormalization(), layers.BatchNormalization()):
    print(type(layer).__name__, round(float(tf.reduce_sum(layer(np.arange(12).reshape(2, 3, 2) % 5))), 5))
