# tolerance: 1e-3
"""Dueling double DQN with prioritized replay (sum tree), NoisyNet noise fed, importance weights, Huber loss, Saver in a loop."""
import os
import random

import numpy as np
import tensorflow as tf

random.seed(0)
rs = np.random.RandomState(11)


class SumTree(object):
    def __init__(self, capacity):
        self.capacity, self.pointer = capacity, 0
        self.tree, self.data = np.zeros(2 * capacity - 1), [None] * capacity

    def add(self, p, data):
        idx = self.pointer + self.capacity - 1
        self.data[self.pointer] = data
        self.update(idx, p)
        self.pointer = (self.pointer + 1) % self.capacity

    def update(self, idx, p):
        change = p - self.tree[idx]
        self.tree[idx] = p
        while idx != 0:
            idx = (idx - 1) // 2
            self.tree[idx] += change

    def get(self, v):
        i = 0
        while 2 * i + 1 < len(self.tree):
            l = 2 * i + 1
            if v <= self.tree[l]:
                i = l
            else:
                v -= self.tree[l]
                i = l + 1
        return i, self.tree[i], self.data[i - self.capacity + 1]


class Agent:
    def __init__(self, n_s, n_a, scope='agent'):
        self.n_a, self.tree = n_a, SumTree(32)
        self.s = tf.placeholder(tf.float32, [None, n_s], name='s')
        self.s_ = tf.placeholder(tf.float32, [None, n_s], name='s_')
        self.a = tf.placeholder(tf.int32, [None, ], name='a')
        self.r = tf.placeholder(tf.float32, [None, ])
        self.done = tf.placeholder(tf.bool, [None])
        self.isw = tf.placeholder(tf.float32, [None, 1], name='IS_weights')
        self.q = self.net(self.s, 'eval_net', [scope + '_p', tf.GraphKeys.GLOBAL_VARIABLES], True)
        self.q_next = self.net(self.s_, 'target_net', None, False)
        with tf.variable_scope('eval_net', reuse=True):
            self.q_eval_next = self.net(self.s_, None, None, True)
        t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='target_net')
        e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='eval_net')
        with tf.variable_scope('soft_replacement'):
            self.replace = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        best = tf.argmax(self.q_eval_next, axis=1, output_type=tf.int32)
        rng = tf.range(tf.shape(self.a)[0], dtype=tf.int32)
        nxt = tf.gather_nd(self.q_next, tf.stack([rng, best], axis=1))
        target = tf.stop_gradient(self.r + .9 * tf.where(self.done, tf.zeros_like(nxt), nxt))
        q_a = tf.gather_nd(params=self.q, indices=tf.stack([rng, self.a], axis=1))
        self.abs_errors = tf.abs(target - q_a)
        self.loss = tf.reduce_mean(tf.squeeze(self.isw, axis=1) * tf.losses.huber_loss(target, q_a, delta=1., reduction=tf.losses.Reduction.NONE))
        self.lr = tf.Variable(.01, trainable=False)
        self.decay = self.lr.assign(self.lr * .95)
        opt = tf.train.RMSPropOptimizer(self.lr, momentum=.1, centered=True)
        grads = opt.compute_gradients(self.loss, var_list=e_params)
        for i, (g, v) in enumerate(grads):
            if g is not None:
                grads[i] = (tf.clip_by_norm(g, 10), v)
        self._train = opt.apply_gradients(grads)
        self.sess = tf.Session()
        self.saver = tf.train.Saver(max_to_keep=2)
        self.sess.run(tf.global_variables_initializer())
        self.sess.run(self.replace)

    def net(self, s, name, c, trainable):
        init = lambda shape, **kw: tf.constant(np.random.RandomState(sum(map(int, shape))).randn(*map(int, shape)) * .3, tf.float32)
        with tf.variable_scope(name or tf.get_variable_scope()):
            with tf.variable_scope('l1'):
                w1 = tf.get_variable('w1', [s.shape[1], 12], initializer=init, collections=c, trainable=trainable)
                b1 = tf.get_variable('b1', [1, 12], initializer=tf.constant_initializer(.1), collections=c, trainable=trainable)
                l1 = tf.nn.relu(tf.matmul(s, w1) + b1)
            with tf.variable_scope('Value'):
                self.V = tf.matmul(l1, tf.get_variable('w2', [12, 1], initializer=init, collections=c))
            with tf.variable_scope('Advantage'):
                A = tf.matmul(l1, tf.get_variable('w2', [12, self.n_a], initializer=init, collections=c))
            with tf.variable_scope('Q'):
                return self.V + (A - tf.reduce_mean(A, axis=1, keep_dims=True))

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(self.n_a)
        return int(np.argmax(self.sess.run(self.q, feed_dict={self.s: s[np.newaxis, :]})))

    def learn(self, n=8):
        seg = self.tree.tree[0] / n
        idx, ps, batch = zip(*[self.tree.get(random.uniform(seg * i, seg * (i + 1))) for i in range(n)])
        isw = np.power(len(self.tree.data) * np.array(ps) / self.tree.tree[0], -.4)
        s, a, r, s_, d = map(np.array, zip(*batch))
        feed = {self.s: s, self.a: a, self.r: r, self.s_: s_, self.done: d, self.isw: (isw / isw.max())[:, None]}
        _, err, cost = self.sess.run([self._train, self.abs_errors, self.loss], feed_dict=feed)
        for i, e in zip(idx, err):
            self.tree.update(i, min(abs(e) + .01, 1.) ** .6)
        return cost


agent = Agent(4, 3)
s = rs.randn(4)
for t in range(60):
    a = agent.act(s, .3)
    s_ = .8 * s + .3 * rs.randn(4) + .2 * (a - 1)
    r = -np.abs(s_).sum()
    agent.tree.add(1., (s, a, r, s_, t % 10 == 9))
    s = s_
    if t >= 32 and t % 4 == 0:
        c = agent.learn()
        print(t, '%.5f' % c, '%.6f' % agent.sess.run(agent.decay))
        if t % 8 == 0:
            agent.sess.run(agent.replace)
            agent.saver.save(agent.sess, os.path.join('ckpt', 'dqn'), global_step=t, write_meta_graph=False)
print(sorted(os.listdir('ckpt')))
ck = tf.train.get_checkpoint_state('ckpt')
print(ck.model_checkpoint_path, list(ck.all_model_checkpoint_paths))
before = agent.sess.run(agent.q, {agent.s: np.ones((1, 4))})
agent.saver.restore(agent.sess, ck.all_model_checkpoint_paths[0])
print(np.allclose(before, agent.sess.run(agent.q, {agent.s: np.ones((1, 4))})))
for name, shape in tf.train.list_variables(ck.model_checkpoint_path)[:6]:
    print(name, shape)
