# tolerance: 1e-3
# Proximal policy optimisation with a Gaussian policy: old and new networks, clipped ratios, entropy bonus.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
EPSILON = 0.2


def build_policy(state, scope, trainable):
    with tf.variable_scope(scope):
        w = tf.get_variable("w", [3, 8], initializer=tf.constant_initializer(INITIAL[0]), trainable=trainable)
        u = tf.get_variable("u", [8, 1], initializer=tf.constant_initializer(INITIAL[1]), trainable=trainable)
        log_std = tf.get_variable("log_std", initializer=tf.constant([-0.5]), trainable=trainable)
        mean = tf.matmul(tf.nn.elu(tf.matmul(state, w)), u)
    return mean, log_std, tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope)


def log_prob(x, mean, log_std):
    return tf.reduce_sum(-0.5 * tf.square((x - mean) / tf.exp(log_std)) - log_std - 0.5 * np.log(2 * np.pi), axis=1)


INITIAL = [0.5 * rng.randn(3, 8), 0.5 * rng.randn(8, 1)]
state = tf.placeholder(tf.float32, [None, 3], "state")
action = tf.placeholder(tf.float32, [None, 1], "action")
advantage = tf.placeholder(tf.float32, [None], "advantage")
mean, log_std, pi_params = build_policy(state, "pi", True)
old_mean, old_log_std, old_params = build_policy(state, "oldpi", False)
sync = tf.group(*[old.assign(new) for new, old in zip(pi_params, old_params)])
with tf.variable_scope("loss"):
    ratio = tf.exp(log_prob(action, mean, log_std) - log_prob(action, old_mean, old_log_std))
    clipped = tf.clip_by_value(ratio, 1.0 - EPSILON, 1.0 + EPSILON)
    surrogate = tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))
    entropy = tf.reduce_sum(log_std + 0.5 * np.log(2.0 * np.pi * np.e))
    loss = -surrogate - 0.01 * entropy
optimizer = tf.train.AdamOptimizer(0.02, epsilon=1e-5)
grads_and_vars = optimizer.compute_gradients(loss)
grads, variables = zip(*grads_and_vars)
grads, grad_norm = tf.clip_by_global_norm(grads, 0.5)
train = optimizer.apply_gradients(list(zip(grads, variables)))
print([v.op.name for v in variables])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for update in range(6):
        sess.run(sync)
        s = rng.randn(64, 3)
        m, ls = sess.run([mean, log_std], {state: s})
        a = m + np.exp(ls) * rng.randn(64, 1)
        reward = -np.square(a[:, 0] - s[:, 0])
        adv = (reward - reward.mean()) / reward.std()
        for _ in range(4):
            _, l, n = sess.run([train, loss, grad_norm], {state: s, action: a, advantage: adv})
        print("update %d: loss %.5f, norm %.5f, reward %.5f" % (update, l, n, reward.mean()))
