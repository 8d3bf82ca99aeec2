# tolerance: 1e-3
# Deep Q-learning with a replay memory, a target network copied by assign, and Huber losses.
import random
from collections import deque

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)
random.seed(9)
STATE, ACTIONS, HIDDEN, GAMMA = 4, 3, 20, 0.9


def build_net(s, c_names):
    with tf.variable_scope("l1"):
        w1 = tf.get_variable("w1", [STATE, HIDDEN], initializer=INIT[0], collections=c_names)
        b1 = tf.get_variable("b1", [1, HIDDEN], initializer=tf.constant_initializer(0.1), collections=c_names)
        l1 = tf.nn.relu(tf.matmul(s, w1) + b1)
    with tf.variable_scope("l2"):
        w2 = tf.get_variable("w2", [HIDDEN, ACTIONS], initializer=INIT[1], collections=c_names)
        b2 = tf.get_variable("b2", [1, ACTIONS], initializer=tf.constant_initializer(0.1), collections=c_names)
        return tf.matmul(l1, w2) + b2


INIT = [tf.constant_initializer(0.3 * rng.randn(*shape)) for shape in ((STATE, HIDDEN), (HIDDEN, ACTIONS))]
s = tf.placeholder(tf.float32, [None, STATE], name="s")
s_ = tf.placeholder(tf.float32, [None, STATE], name="s_")
r = tf.placeholder(tf.float32, [None], name="r")
a = tf.placeholder(tf.int32, [None], name="a")
done = tf.placeholder(tf.float32, [None], name="done")
with tf.variable_scope("eval_net"):
    q_eval = build_net(s, ["eval_net_params", tf.GraphKeys.GLOBAL_VARIABLES])
with tf.variable_scope("target_net"):
    q_next = build_net(s_, ["target_net_params", tf.GraphKeys.GLOBAL_VARIABLES])
t_params = tf.get_collection("target_net_params")
e_params = tf.get_collection("eval_net_params")
replace_target_op = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
with tf.variable_scope("q_target"):
    q_target = tf.stop_gradient(r + GAMMA * (1 - done) * tf.reduce_max(q_next, axis=1, name="Qmax_s_"))
with tf.variable_scope("loss"):
    a_indices = tf.stack([tf.range(tf.shape(a)[0], dtype=tf.int32), a], axis=1)
    error = tf.gather_nd(params=q_eval, indices=a_indices) - q_target
    huber = tf.where(tf.abs(error) < 1.0, 0.5 * tf.square(error), tf.abs(error) - 0.5)
    loss = tf.reduce_mean(huber, name="TD_error")
with tf.variable_scope("train"):
    train_op = tf.train.RMSPropOptimizer(0.005, decay=0.95, momentum=0.1, epsilon=0.01).minimize(
        loss, var_list=e_params
    )


def step(state, action):
    state = 0.9 * state
    state[action] += 0.5
    reward = 1.0 - abs(state[0] - state[1])
    return state, reward, reward > 0.95


memory = deque(maxlen=200)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    state = rng.randn(STATE)
    for t in range(300):
        if random.random() < 0.5:
            action = random.randrange(ACTIONS)
        else:
            action = int(np.argmax(sess.run(q_eval, {s: state[None]})))
        after, reward, end = step(state, action)
        memory.append((state, action, reward, after, float(end)))
        state = rng.randn(STATE) if end or t % 20 == 19 else after
        if t < 50:
            continue
        if t % 25 == 0:
            sess.run(replace_target_op)
        b = [np.array(x) for x in zip(*random.sample(memory, 16))]
        _, cost = sess.run([train_op, loss], {s: b[0], a: b[1], r: b[2], s_: b[3], done: b[4]})
        if t % 50 == 0:
            print("step", t, "cost", cost)
    print("Q", sess.run(q_eval, {s: np.eye(4)[:2]}))
