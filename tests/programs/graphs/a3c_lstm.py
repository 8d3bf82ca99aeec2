"""A3C-like worker with LSTM, RMSProp shared, global net sync ops (awjuliani style)."""
import numpy as np
import tensorflow as tf


def normalized_columns(rng, shape, std=1.0):
    out = rng.randn(*shape).astype(np.float32)
    out *= std / np.sqrt(np.square(out).sum(axis=0, keepdims=True))
    return out


def update_target_graph(from_scope, to_scope):
    from_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, from_scope)
    to_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, to_scope)
    op_holder = []
    for from_var, to_var in zip(from_vars, to_vars):
        op_holder.append(to_var.assign(from_var))
    return op_holder


def discount(x, gamma):
    out = np.zeros_like(x)
    run = 0
    for t in reversed(range(len(x))):
        run = x[t] + gamma * run
        out[t] = run
    return out


class AC_Network():
    def __init__(self, s_size, a_size, scope, trainer, seed):
        rng = np.random.RandomState(seed)
        with tf.variable_scope(scope):
            self.inputs = tf.placeholder(shape=[None, s_size], dtype=tf.float32)
            w = tf.get_variable("fc/w", initializer=rng.randn(s_size, 24).astype(np.float32) * 0.2)
            b = tf.get_variable("fc/b", shape=[24], initializer=tf.constant_initializer(0.0))
            hidden = tf.nn.elu(tf.matmul(self.inputs, w) + b)
            # hand written LSTM with dynamic unroll by tf.scan
            kernel = tf.get_variable("lstm/kernel", initializer=(rng.randn(24 + 12, 48) * 0.15).astype(np.float32))
            bias = tf.get_variable("lstm/bias", [48], initializer=tf.zeros_initializer)
            self.c_in = tf.placeholder(tf.float32, [1, 12])
            self.h_in = tf.placeholder(tf.float32, [1, 12])
            rnn_in = tf.expand_dims(hidden, [1])

            def step(state, x):
                c, h = state
                i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, axis=1)
                c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
                h = tf.tanh(c) * tf.sigmoid(o)
                return c, h
            cs, hs = tf.scan(step, rnn_in, initializer=(self.c_in, self.h_in))
            self.state_out = (cs[-1], hs[-1])
            rnn_out = tf.reshape(hs, [-1, 12])
            pw = tf.get_variable("pi/w", initializer=normalized_columns(rng, [12, a_size], 0.01))
            vw = tf.get_variable("v/w", initializer=normalized_columns(rng, [12, 1], 1.0))
            self.policy = tf.nn.softmax(tf.matmul(rnn_out, pw), name="policy")
            self.value = tf.matmul(rnn_out, vw)
            if scope != 'global':
                self.actions = tf.placeholder(shape=[None], dtype=tf.int32)
                self.actions_onehot = tf.one_hot(self.actions, a_size, dtype=tf.float32)
                self.target_v = tf.placeholder(shape=[None], dtype=tf.float32)
                self.advantages = tf.placeholder(shape=[None], dtype=tf.float32)
                self.responsible_outputs = tf.reduce_sum(self.policy * self.actions_onehot, [1])
                self.value_loss = 0.5 * tf.reduce_sum(tf.square(self.target_v - tf.reshape(self.value, [-1])))
                self.entropy = - tf.reduce_sum(self.policy * tf.log(self.policy))
                self.policy_loss = -tf.reduce_sum(tf.log(self.responsible_outputs) * self.advantages)
                self.loss = 0.5 * self.value_loss + self.policy_loss - self.entropy * 0.01
                local_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
                self.gradients = tf.gradients(self.loss, local_vars)
                self.var_norms = tf.global_norm(local_vars)
                grads, self.grad_norms = tf.clip_by_global_norm(self.gradients, 40.0)
                global_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, 'global')
                self.apply_grads = trainer.apply_gradients(zip(grads, global_vars))


class Worker():
    def __init__(self, name, s_size, a_size, trainer, global_episodes):
        self.name = "worker_" + str(name)
        self.number = name
        self.global_episodes = global_episodes
        self.increment = self.global_episodes.assign_add(1)
        self.local_AC = AC_Network(s_size, a_size, self.name, trainer, 10 + name)
        self.update_local_ops = update_target_graph('global', self.name)
        self.rng = np.random.RandomState(name)

    def work(self, sess, gamma=0.99):
        sess.run(self.update_local_ops)
        states, actions, rewards, values = [], [], [], []
        s = self.rng.randn(6)
        state = [np.zeros((1, 12)), np.zeros((1, 12))]
        for t in range(12):
            a_dist, v, rnn = sess.run([self.local_AC.policy, self.local_AC.value, self.local_AC.state_out],
                                      feed_dict={self.local_AC.inputs: [s], self.local_AC.c_in: state[0],
                                                 self.local_AC.h_in: state[1]})
            state = rnn
            a = np.argmax(np.cumsum(a_dist[0]) > self.rng.rand())
            states.append(s); actions.append(a); values.append(v[0, 0]); rewards.append(float(a == (s[0] > 0)))
            s = self.rng.randn(6)
        returns = discount(np.array(rewards), gamma)
        adv = returns - np.array(values)
        feed = {self.local_AC.target_v: returns, self.local_AC.inputs: np.vstack(states),
                self.local_AC.actions: actions, self.local_AC.advantages: adv,
                self.local_AC.c_in: np.zeros((1, 12)), self.local_AC.h_in: np.zeros((1, 12))}
        v_l, p_l, e_l, g_n, v_n, _ = sess.run([self.local_AC.value_loss, self.local_AC.policy_loss,
                                               self.local_AC.entropy, self.local_AC.grad_norms,
                                               self.local_AC.var_norms, self.local_AC.apply_grads], feed_dict=feed)
        sess.run(self.increment)
        return v_l / 12, p_l / 12, e_l / 12, g_n, v_n, sum(rewards)


tf.reset_default_graph()
with tf.device("/cpu:0"):
    global_episodes = tf.Variable(0, dtype=tf.int32, name='global_episodes', trainable=False)
    trainer = tf.train.RMSPropOptimizer(learning_rate=7e-3, decay=0.99, momentum=0.0, epsilon=0.1)
    master_network = AC_Network(6, 2, 'global', None, 0)
    workers = [Worker(i, 6, 2, trainer, global_episodes) for i in range(3)]
    saver = tf.train.Saver(max_to_keep=5)

with tf.Session() as sess:
    coord = tf.train.Coordinator()
    sess.run(tf.global_variables_initializer())
    for it in range(8):
        for w in workers:
            stats = w.work(sess)
        if it % 2 == 1:
            print(sess.run(global_episodes), " ".join("%.4f" % x for x in stats))
    for v in tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope='global'):
        print(v.name, v.shape, v.op.name, v.dtype.base_dtype.name, "%.5f" % np.abs(sess.run(v)).mean())
    print(len(tf.global_variables()), [v.name for v in tf.global_variables() if 'RMS' in v.name][:3])
