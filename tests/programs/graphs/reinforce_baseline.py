# tolerance: 1e-3
# Policy gradients with a learned baseline: compute_gradients, modified, apply_gradients.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)


def discount_rewards(r, gamma=0.95):
    discounted, running = np.zeros_like(r), 0.0
    for t in reversed(range(r.size)):
        running = running * gamma + r[t]
        discounted[t] = running
    return discounted


states = tf.placeholder(tf.float32, (None, 2), name="states")
taken_actions = tf.placeholder(tf.int32, (None,), name="taken_actions")
discounted_rewards = tf.placeholder(tf.float32, (None,), name="discounted_rewards")
with tf.variable_scope("policy_network"):
    W1 = tf.get_variable("W1", initializer=(0.5 * rng.randn(2, 8)).astype(np.float32))
    W2 = tf.get_variable("W2", initializer=(0.5 * rng.randn(8, 2)).astype(np.float32))
    logp = tf.matmul(tf.tanh(tf.matmul(states, W1)), W2)
with tf.variable_scope("value_network"):
    V = tf.get_variable("V", initializer=np.zeros((2, 1), np.float32))
    estimated = tf.squeeze(tf.matmul(states, V), 1)

policy_variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="policy_network")
value_variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="value_network")
advantages = tf.stop_gradient(discounted_rewards - estimated)
cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logp, labels=taken_actions)
pg_loss = tf.reduce_mean(cross_entropy * advantages)
reg_loss = tf.reduce_sum([tf.reduce_sum(tf.square(x)) for x in policy_variables])
loss = pg_loss + 0.001 * reg_loss
global_step = tf.Variable(0, trainable=False)
rate = tf.train.polynomial_decay(0.05, global_step, 20, 0.01)
optimizer = tf.train.RMSPropOptimizer(learning_rate=rate, decay=0.9)
gradients = optimizer.compute_gradients(loss, var_list=policy_variables)
for i, (grad, var) in enumerate(gradients):
    if grad is not None:
        gradients[i] = (tf.clip_by_norm(grad, 5.0), var)
train_op = optimizer.apply_gradients(gradients, global_step=global_step)
value_op = tf.train.GradientDescentOptimizer(0.01).minimize(
    tf.reduce_mean(tf.square(discounted_rewards - estimated)), var_list=value_variables
)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for episode in range(24):
        S = rng.randn(30, 2).astype(np.float32)
        scores = sess.run(tf.nn.softmax(logp) if episode == 0 else probs, {states: S}) if episode else None
        if scores is None:
            probs = tf.nn.softmax(logp)
            scores = sess.run(probs, {states: S})
        A = (rng.rand(30) > scores[:, 0]).astype(np.int32)
        R = discount_rewards(np.where((S[:, 0] > 0) == A, 1.0, -1.0))
        feed = {states: S, taken_actions: A, discounted_rewards: R}
        _, _, l = sess.run([train_op, value_op, pg_loss], feed)
        if episode % 6 == 5:
            print("episode", episode, "loss", l, "rate", sess.run(rate), "step", sess.run(global_step))
