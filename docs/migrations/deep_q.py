# source: carpedm20/deep-rl-tensorflow agents/deep_q.py b8bbd2a0f6604c73d4cd5837a2eefbd3831037ab
# Deep Q-learning on a short corridor: a network, its copy that is renewed now and then, and a memory of what happened.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
n_states, n_actions, n_hidden, discount = 6, 2, 12, 0.9


class Corridor:
    """Steps to the left and to the right; at the right end there is a reward."""

    def reset(self):
        self.at = 0
        return self.at

    def step(self, action):
        self.at = max(self.at - 1, 0) if action == 0 else self.at + 1
        done = self.at == n_states - 1
        return self.at, float(done), done


def variables(scope):
    with tf.variable_scope(scope):
        w1 = tf.get_variable("w1", initializer=(0.3 * rng.randn(n_states, n_hidden)).astype(np.float32))
        b1 = tf.get_variable("b1", [n_hidden], initializer=tf.zeros_initializer())
        w2 = tf.get_variable("w2", initializer=(0.3 * rng.randn(n_hidden, n_actions)).astype(np.float32))
    return w1, b1, w2


def q_values(s, w):
    return tf.matmul(tf.nn.relu(tf.matmul(s, w[0]) + w[1]), w[2])


pred_w, target_w = variables("pred"), variables("target")
s_t = tf.placeholder(tf.float32, [None, n_states], name="s_t")
s_t_plus_1 = tf.placeholder(tf.float32, [None, n_states], name="s_t_plus_1")
action = tf.placeholder(tf.int32, [None], name="action")
reward = tf.placeholder(tf.float32, [None], name="reward")
terminal = tf.placeholder(tf.float32, [None], name="terminal")

q = q_values(s_t, pred_w)
best_action = tf.argmax(q, axis=1)
max_q = tf.reduce_max(q_values(s_t_plus_1, target_w), axis=1)
target = tf.stop_gradient(reward + (1.0 - terminal) * discount * max_q)
q_of_action = tf.reduce_sum(q * tf.one_hot(action, n_actions, 1.0, 0.0), axis=1)
delta = target - q_of_action
clipped_error = tf.where(tf.abs(delta) < 1.0, 0.5 * tf.square(delta), tf.abs(delta) - 0.5)
loss = tf.reduce_mean(clipped_error)
train_op = tf.train.RMSPropOptimizer(0.005, momentum=0.9, epsilon=0.01).minimize(loss, var_list=list(pred_w))
update_target = tf.group(*[old.assign(new) for old, new in zip(target_w, pred_w)])

one_hot = np.eye(n_states, dtype=np.float32)
env, memory = Corridor(), []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(update_target)
    for episode in range(15):
        state, done, steps, losses = env.reset(), False, 0, []
        while not done and steps < 40:
            if rng.rand() < max(0.1, 1.0 - 0.08 * episode):
                a = rng.randint(n_actions)
            else:
                a = int(sess.run(best_action, {s_t: one_hot[[state]]})[0])
            after, r, done = env.step(a)
            memory.append((state, a, r, after, done))
            state = after
            steps += 1
            if len(memory) >= 16:
                chosen = [memory[i] for i in rng.randint(0, len(memory), 16)]
                s, acts, rewards, s1, ends = [np.array(part) for part in zip(*chosen)]
                feed = {s_t: one_hot[s], action: acts, reward: rewards, s_t_plus_1: one_hot[s1], terminal: ends.astype(np.float32)}
                _, error = sess.run([train_op, loss], feed)
                losses.append(error)
        if episode % 3 == 2:
            sess.run(update_target)
            print("episode %d: %d steps, loss %.4f" % (episode, steps, np.mean(losses)))
