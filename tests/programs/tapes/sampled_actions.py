# An agent whose actions are drawn inside a loop of a function, from a world that Python runs.
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(42)


class World:
    def start(self):
        self.at = np.array([0.2, -0.1, 0.0])
        return self.at.astype(np.float32)

    def push(self, action):
        self.at = 0.9 * self.at + 0.2 * (1 if action else -1) * np.array([1.0, -0.5, 0.3]) + 0.05
        over = abs(self.at[0]) > 0.7
        return self.at.astype(np.float32), np.float32(1.0 - abs(self.at[0])), np.bool_(over)


world = World()
policy = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(12, "tanh"), tf.keras.layers.Dense(2)])
value = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(12, "tanh"), tf.keras.layers.Dense(1)])
weights = policy.trainable_variables + value.trainable_variables
optimizer = tf.keras.optimizers.Adam(0.02)


@tf.function
def episode(state, most):
    logs = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    values = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    rewards = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    with tf.GradientTape() as tape:
        for t in tf.range(most):
            logits = policy(state[tf.newaxis])
            action = tf.random.categorical(logits, 1)[0, 0]
            logs = logs.write(t, tf.nn.log_softmax(logits)[0, action])
            values = values.write(t, value(state[tf.newaxis])[0, 0])
            state, reward, over = tf.numpy_function(world.push, [action], [tf.float32, tf.float32, tf.bool])
            state.set_shape([3])
            rewards = rewards.write(t, reward)
            if over:
                break
        returns = tf.math.cumsum(rewards.stack(), reverse=True)
        advantage = returns - values.stack()
        loss = tf.reduce_sum(advantage**2) - tf.reduce_sum(logs.stack() * tf.stop_gradient(advantage))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, tf.size(returns)


for i in range(10):
    loss, steps = episode(tf.constant(world.start()), 25)
    print(i, int(steps), float(loss))
