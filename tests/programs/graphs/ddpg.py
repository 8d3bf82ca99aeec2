# tolerance: 1e-3
# Deterministic policy gradients: the actor follows the critic's gradient (grad_ys), targets follow softly.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(10)
tau, gamma, n = 0.05, 0.9, 32


def weights(*shape):
    return tf.Variable((rng.randn(*shape) / np.sqrt(shape[0])).astype(np.float32))


class Actor:
    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, 3])
        self.params = [weights(3, 16), tf.Variable(tf.zeros([16])), weights(16, 1), tf.Variable(tf.zeros([1]))]
        w1, b1, w2, b2 = self.params
        self.action = tf.tanh(tf.matmul(tf.nn.relu(tf.matmul(self.state, w1) + b1), w2) + b2)


class Critic:
    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, 3])
        self.action = tf.placeholder(tf.float32, [None, 1])
        self.params = [weights(4, 16), tf.Variable(tf.zeros([16])), weights(16, 1), tf.Variable(tf.zeros([1]))]
        w1, b1, w2, b2 = self.params
        self.q = tf.matmul(tf.nn.relu(tf.matmul(tf.concat([self.state, self.action], 1), w1) + b1), w2) + b2
        self.action_gradients = tf.gradients(self.q, self.action)


actor, critic, actor_t, critic_t = Actor(), Critic(), Actor(), Critic()
update = [
    t.assign(tf.multiply(o, tau) + tf.multiply(t, 1.0 - tau))
    for net, target in ((actor, actor_t), (critic, critic_t))
    for o, t in zip(net.params, target.params)
]
action_gradient = tf.placeholder(tf.float32, [None, 1])
unnormalized = tf.gradients(actor.action, actor.params, -action_gradient)
actor_gradients = list(map(lambda x: tf.div(x, n), unnormalized))
with tf.control_dependencies(actor_gradients):  # TensorFlow may update weights that a gradient still has to read
    train_actor = tf.train.AdamOptimizer(1e-2).apply_gradients(zip(actor_gradients, actor.params))
y = tf.placeholder(tf.float32, [None, 1])
q_loss = tf.reduce_mean(tf.square(y - critic.q)) + tf.add_n([0.01 * tf.nn.l2_loss(p) for p in critic.params])
train_critic = tf.train.AdamOptimizer(1e-2).minimize(q_loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for t, o in zip(actor_t.params + critic_t.params, actor.params + critic.params):
        sess.run(t.assign(o))
    for i in range(13):
        s = rng.randn(n, 3)
        a = np.clip(sess.run(actor.action, {actor.state: s}) + 0.3 * rng.randn(n, 1), -1, 1)
        s2 = s + np.concatenate([0.1 * a, 0 * a, 0 * a], 1)
        reward = -np.square(a - 0.5 * s[:, :1])
        a2 = sess.run(actor_t.action, {actor_t.state: s2})
        target = reward + gamma * sess.run(critic_t.q, {critic_t.state: s2, critic_t.action: a2})
        feed = {critic.state: s, critic.action: a, y: target}
        loss = sess.run(q_loss, feed)  # by itself, for the same reason
        sess.run(train_critic, feed)
        act = sess.run(actor.action, {actor.state: s})
        grads = sess.run(critic.action_gradients, {critic.state: s, critic.action: act})[0]
        sess.run(train_actor, {actor.state: s, action_gradient: grads})
        sess.run(update)
        if i % 4 == 0:
            print("iteration %d, loss %.5f, mean action %.5f" % (i, loss, act.mean()))
    print(sess.run(actor.action, {actor.state: np.eye(3)}).ravel())
