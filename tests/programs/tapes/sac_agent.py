# tolerance: 1e-3
"""Soft actor critic with twin Q networks, squashed Gaussian, target networks by polyak averaging, replay buffer; Keras functional + Sequential."""
import random
from collections import deque
import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, Sequential
from tensorflow.keras.layers import Dense, Input, Concatenate, Lambda

pyrandom = random.Random(0)
np.pyrandom = random.Random(0)
LOG_STD_MIN, LOG_STD_MAX = -20, 2
EPS = 1e-6


def mlp(inputs, sizes, activation="relu", out=None):
    h = inputs
    for s in sizes[:-1]:
        h = Dense(s, activation=activation)(h)
    return Dense(sizes[-1], activation=out)(h)


def set_random(model, seed):
    r = np.random.RandomState(seed)
    model.set_weights([(r.randn(*w.shape) * 0.3).astype(np.float32) for w in model.get_weights()])


def actor(state_dim, action_dim):
    s = Input((state_dim,))
    h = mlp(s, [24, 24])
    mu = Dense(action_dim)(h)
    log_std = Dense(action_dim)(h)
    return Model(inputs=s, outputs=[mu, log_std], name="actor")


def critic(state_dim, action_dim):
    s = Input(shape=(state_dim,), name="state")
    a = Input(shape=(action_dim,), name="action")
    q = mlp(Concatenate(axis=-1)([s, a]), [24, 24, 1])
    return Model([s, a], q)


class ReplayBuffer:
    def __init__(self, capacity=500):
        self.buffer = deque(maxlen=capacity)

    def put(self, *transition):
        self.buffer.append(transition)

    def sample(self, n):
        sample = pyrandom.sample(self.buffer, n)
        states, actions, rewards, next_states, done = map(np.asarray, zip(*sample))
        return [np.array(a, dtype=np.float32).reshape(n, -1) for a in (states, actions, rewards, next_states, done)]

    def __len__(self):
        return len(self.buffer)


class SAC:
    def __init__(self, sdim, adim, lr=3e-3, tau=0.05, gamma=0.95):
        self.actor = actor(sdim, adim)
        self.q1, self.q2, self.t1, self.t2 = [critic(sdim, adim) for _ in range(4)]
        for i, m in enumerate((self.actor, self.q1, self.q2)):
            set_random(m, i)
        self.t1.set_weights(self.q1.get_weights())
        self.t2.set_weights(self.q2.get_weights())
        self.log_alpha = tf.Variable(0.0, dtype=tf.float32)
        self.target_entropy = -tf.constant(adim, dtype=tf.float32)
        self.opts = [tf.keras.optimizers.Adam(learning_rate=lr) for _ in range(4)]
        self.tau, self.gamma = tau, gamma

    def process(self, mu, log_std, noise):
        log_std = tf.clip_by_value(log_std, LOG_STD_MIN, LOG_STD_MAX)
        std = tf.math.exp(log_std)
        u = mu + std * noise
        logp = -0.5 * tf.math.square(noise) - log_std - 0.5 * tf.math.log(2 * np.pi)
        a = tf.math.tanh(u)
        logp = tf.reduce_sum(logp - tf.math.log(1 - a ** 2 + EPS), axis=1, keepdims=True)
        return a, logp

    @property
    def alpha(self):
        return tf.exp(self.log_alpha)

    @tf.function
    def update_q(self, s, a, r, s2, d, noise):
        mu, ls = self.actor(s2)
        a2, logp2 = self.process(mu, ls, noise)
        nq = tf.minimum(self.t1([s2, a2]), self.t2([s2, a2]))
        y = tf.stop_gradient(r + self.gamma * (1 - d) * (nq - self.alpha * logp2))
        out = []
        for q, opt in zip((self.q1, self.q2), self.opts):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.math.squared_difference(q([s, a]), y))
            grads = tape.gradient(loss, q.trainable_variables)
            opt.apply_gradients(zip(grads, q.trainable_variables))
            out.append(loss)
        return out

    @tf.function
    def update_actor(self, s, noise):
        with tf.GradientTape(persistent=True) as tape:
            mu, ls = self.actor(s)
            a, logp = self.process(mu, ls, noise)
            q = tf.minimum(self.q1([s, a]), self.q2([s, a]))
            aloss = tf.reduce_mean(tf.stop_gradient(self.alpha) * logp - q)
            alpha_loss = -tf.reduce_mean(self.log_alpha * tf.stop_gradient(logp + self.target_entropy))
        self.opts[2].apply_gradients(zip(tape.gradient(aloss, self.actor.trainable_variables), self.actor.trainable_variables))
        self.opts[3].apply_gradients([(tape.gradient(alpha_loss, self.log_alpha), self.log_alpha)])
        del tape
        return aloss, alpha_loss

    def soft_update(self):
        for t, q in ((self.t1, self.q1), (self.t2, self.q2)):
            for tw, w in zip(t.weights, q.weights):
                tw.assign(tw * (1 - self.tau) + w * self.tau)

    def act(self, s, noise):
        mu, ls = self.actor(np.expand_dims(s, 0))
        return self.process(mu, ls, noise)[0].numpy()[0]


rng = np.random.RandomState(9)
agent = SAC(3, 1)
buf = ReplayBuffer()
s = rng.randn(3).astype(np.float32)
for step in range(120):
    a = agent.act(s, rng.randn(1, 1).astype(np.float32))
    s2 = (0.9 * s + np.array([0.3, 0, 0.1], np.float32) * a + 0.1 * rng.randn(3)).astype(np.float32)
    r = -float(np.sum(s2 ** 2))
    buf.put(s, a, [r], s2, [float(step % 30 == 29)])
    s = s2
    if len(buf) >= 32:
        b = buf.sample(16)
        l1, l2 = agent.update_q(*map(tf.convert_to_tensor, b), rng.randn(16, 1).astype(np.float32))
        al, tl = agent.update_actor(b[0], rng.randn(16, 1).astype(np.float32))
        agent.soft_update()
    if step % 20 == 19 and len(buf) >= 32:
        print("%3d q1 %.4f q2 %.4f pi %.4f alpha %.5f" % (step, l1, l2, al, agent.alpha))
print(agent.actor.name, len(agent.q1.trainable_weights), agent.q1.input_shape, agent.q1.output_shape)
