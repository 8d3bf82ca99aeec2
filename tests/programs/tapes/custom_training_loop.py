# tolerance: 1e-3
# A custom training loop of TensorFlow 2: variables, GradientTape, an optimizer of Keras, tf.function.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(40)
x = rng.randn(200, 2).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)[:, None]


class Model(tf.Module):
    def __init__(self):
        self.w1 = tf.Variable(rng.randn(2, 16).astype(np.float32), name="w1")
        self.b1 = tf.Variable(tf.zeros([16]), name="b1")
        self.w2 = tf.Variable(0.3 * rng.randn(16, 1).astype(np.float32), name="w2")

    def __call__(self, x):
        return tf.matmul(tf.nn.relu(tf.matmul(x, self.w1) + self.b1), self.w2)


model = Model()
optimizer = tf.keras.optimizers.Adam(learning_rate=0.02)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    variables = model.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return loss


for epoch in range(5):
    for k in range(0, 200, 40):
        loss = train_step(tf.constant(x[k : k + 40]), tf.constant(y[k : k + 40]))
    print("epoch", epoch, "loss", float(loss))
accuracy = tf.reduce_mean(tf.cast((model(x) > 0) == (y > 0.5), tf.float32))
print("accuracy", accuracy.numpy(), "weights", len(model.trainable_variables))
