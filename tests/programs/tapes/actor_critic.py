# tolerance: 1e-3
# Actor critic as the TensorFlow tutorials have it: an environment in tf.numpy_function, episodes in TensorArrays.
import collections
from typing import Any, List, Sequence, Tuple

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

seed = 42
rng = np.random.RandomState(seed)
tf.random.set_seed(seed)
np.random.seed(seed)
eps = np.finfo(np.float32).eps.item()


class Env:
    def reset(self):
        self.t = 0
        self.state = np.array([0.1, -0.2, 0.05, 0.3])
        return self.state

    def step(self, action):
        self.t += 1
        self.state = 0.95 * self.state + (0.1 if action else -0.1) * np.array([1.0, 0.5, -0.5, 0.2])
        return self.state, 1.0 - abs(self.state[0]), self.t >= 12 or abs(self.state[0]) > 0.9, {}


env = Env()


class ActorCritic(tf.keras.Model):
    """Combined actor-critic network."""

    def __init__(self, num_actions: int, num_hidden_units: int):
        super().__init__()
        self.common = layers.Dense(num_hidden_units, activation="relu")
        self.actor = layers.Dense(num_actions)
        self.critic = layers.Dense(1)

    def call(self, inputs: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        x = self.common(inputs)
        return self.actor(x), self.critic(x)


num_actions = 2
model = ActorCritic(num_actions, 16)
model(tf.zeros([1, 4]))
model.set_weights([0.4 * rng.randn(*w.shape).astype(np.float32) for w in model.get_weights()])


@tf.numpy_function(Tout=[tf.float32, tf.int32, tf.int32])
def env_step(action: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    state, reward, done, _ = env.step(action)
    return (state.astype(np.float32), np.array(reward, np.int32), np.array(done, np.int32))


def run_episode(
    initial_state: tf.Tensor, model: tf.keras.Model, max_steps: int
) -> Tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    action_probs = tf.TensorArray(dtype=tf.float32, size=0, dynamic_size=True)
    values = tf.TensorArray(dtype=tf.float32, size=0, dynamic_size=True)
    rewards = tf.TensorArray(dtype=tf.int32, size=0, dynamic_size=True)
    initial_state_shape = initial_state.shape
    state = initial_state
    for t in tf.range(max_steps):
        state = tf.expand_dims(state, 0)
        action_logits_t, value = model(state)
        action = tf.cast(tf.argmax(action_logits_t, 1)[0], tf.int32)
        action_probs_t = tf.nn.softmax(action_logits_t)
        values = values.write(t, tf.squeeze(value))
        action_probs = action_probs.write(t, action_probs_t[0, action])
        state, reward, done = env_step(action)
        state.set_shape(initial_state_shape)
        rewards = rewards.write(t, reward)
        if tf.cast(done, tf.bool):
            break
    return action_probs.stack(), values.stack(), rewards.stack()


def get_expected_return(rewards: tf.Tensor, gamma: float, standardize: bool = True) -> tf.Tensor:
    n = tf.shape(rewards)[0]
    returns = tf.TensorArray(dtype=tf.float32, size=n)
    rewards = tf.cast(rewards[::-1], dtype=tf.float32)
    discounted_sum = tf.constant(0.0)
    discounted_sum_shape = discounted_sum.shape
    for i in tf.range(n):
        reward = rewards[i] + 1.0
        discounted_sum = reward + gamma * discounted_sum
        discounted_sum.set_shape(discounted_sum_shape)
        returns = returns.write(i, discounted_sum)
    returns = returns.stack()[::-1]
    if standardize:
        returns = (returns - tf.math.reduce_mean(returns)) / (tf.math.reduce_std(returns) + eps)
    return returns


huber_loss = tf.keras.losses.Huber(reduction="sum")


def compute_loss(action_probs: tf.Tensor, values: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
    advantage = returns - values
    action_log_probs = tf.math.log(action_probs)
    actor_loss = -tf.math.reduce_sum(action_log_probs * advantage)
    critic_loss = huber_loss(values, returns)
    return actor_loss + critic_loss


optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)


@tf.function
def train_step(initial_state, model, optimizer, gamma: float, max_steps_per_episode: int) -> tf.Tensor:
    with tf.GradientTape() as tape:
        action_probs, values, rewards = run_episode(initial_state, model, max_steps_per_episode)
        returns = get_expected_return(rewards, gamma)
        action_probs, values, returns = [tf.expand_dims(x, 1) for x in [action_probs, values, returns]]
        loss = compute_loss(action_probs, values, returns)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    episode_reward = tf.math.reduce_sum(rewards)
    return episode_reward


episodes_reward: collections.deque = collections.deque(maxlen=5)
for i in range(8):
    initial_state = tf.constant(env.reset(), dtype=tf.float32)
    episode_reward = int(train_step(initial_state, model, optimizer, 0.9, 15))
    episodes_reward.append(episode_reward)
    print(f"Episode {i}: {episode_reward} average {np.mean(episodes_reward):.2f} steps {env.t}")
print([round(float(tf.reduce_sum(v)), 4) for v in model.trainable_variables])
print(optimizer.iterations.numpy(), float(optimizer.learning_rate))
