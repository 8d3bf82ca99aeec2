# tolerance: 1e-3
# Keras: a subclassed model with layers of its own, losses and metrics in a loop, weights set and read.
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Layer

rng = np.random.RandomState(41)


class Scale(Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.gain = self.add_weight(name="gain", shape=(int(input_shape[-1]),), initializer="ones", trainable=True)

    def call(self, inputs):
        return inputs * self.gain


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = Dense(8, activation="tanh")
        self.scale = Scale()
        self.d2 = Dense(3)

    def call(self, x):
        return self.d2(self.scale(self.d1(x)))


labels = rng.randint(0, 3, 90)
data = (np.eye(3)[labels] @ rng.randn(3, 4) + 0.5 * rng.randn(90, 4)).astype(np.float32)
net = Net()
net(data[:1])
net.set_weights([0.5 * rng.randn(*w.shape).astype(np.float32) for w in net.get_weights()])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = tf.keras.metrics.Mean(name="train_loss")
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
optimizer = tf.keras.optimizers.SGD(0.2, momentum=0.9)
for epoch in range(4):
    train_loss.reset_state()
    train_accuracy.reset_state()
    for k in range(0, 90, 30):
        with tf.GradientTape() as tape:
            predictions = net(data[k : k + 30], training=True)
            loss = loss_object(labels[k : k + 30], predictions)
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        train_loss(loss)
        train_accuracy(labels[k : k + 30], predictions)
    print(f"Epoch {epoch + 1}, Loss: {train_loss.result():.5f}, Accuracy: {train_accuracy.result() * 100:.4f}")
print([tuple(w.shape) for w in net.trainable_weights], net.count_params())
