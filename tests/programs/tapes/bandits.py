import numpy as np
import tensorflow as tf
tf.random.set_seed(6); np.random.seed(6)
w = tf.Variable(tf.ones([4])); opt = tf.keras.optimizers.SGD(0.1)
probs = np.array([.2, .5, .8, .3])
for i in range(12):
    with tf.GradientTape() as t:
        logits = w[None]
        a = int(tf.random.categorical(logits, 1)[0, 0])
        r = float(np.random.rand() < probs[a])
        loss = -tf.nn.log_softmax(logits)[0, a] * (r - .4)
    opt.apply_gradients([(t.gradient(loss, w), w)])
    print(a, r, float(loss))
@tf.function
def thompson(n):
    s = tf.ones([4]); f = tf.ones([4]); total = 0.
    for _ in tf.range(n):
        ga = tf.random.gamma([], s); gb = tf.random.gamma([], f)
        a = tf.argmax(ga / (ga + gb))
        with tf.control_dependencies([a]): u = tf.random.uniform([])
        r = tf.cast(u < tf.gather(tf.constant(probs, tf.float32), a), tf.float32)
        s = tf.tensor_scatter_nd_add(s, [[a]], [r]); f = tf.tensor_scatter_nd_add(f, [[a]], [1. - r])
        total += r
    return total, s, f
for _ in range(3):
    tot, s, f = thompson(tf.constant(20)); print(float(tot), s.numpy().tolist(), f.numpy().tolist())
# evolution strategies in a function
theta = tf.Variable(tf.zeros([5])); goal = tf.constant([1., -1., .5, 2., 0.])
@tf.function
def es(sigma, lr):
    eps = tf.random.normal([16, 5])
    f = tf.map_fn(lambda e: -tf.reduce_sum((theta + sigma * e - goal) ** 2), eps)
    a = (f - tf.reduce_mean(f)) / (tf.math.reduce_std(f) + 1e-8)
    theta.assign_add(lr / (16. * sigma) * tf.linalg.matvec(eps, a, transpose_a=True))
    return tf.reduce_mean(f)
for i in range(10): print(float(es(tf.constant(.1), tf.constant(.1))))
# REINFORCE with a grid world as tensors, episodes in a while loop
net = [tf.Variable(tf.random.normal([2, 8]) * .5), tf.Variable(tf.random.normal([8, 4]) * .5)]
moves = tf.constant([[0., 1.], [0., -1.], [1., 0.], [-1., 0.]])
adam = tf.keras.optimizers.Adam(0.02)
@tf.function
def episode(start):
    with tf.GradientTape() as t:
        pos = start; logps = tf.TensorArray(tf.float32, size=0, dynamic_size=True); rewards = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(10):
            logits = tf.tanh(pos[None] @ net[0]) @ net[1]
            a = tf.random.categorical(logits, 1, dtype=tf.int32)[0, 0]
            logps = logps.write(i, tf.nn.log_softmax(logits)[0, a])
            pos = tf.clip_by_value(pos + tf.gather(moves, a), -3., 3.)
            r = -tf.norm(pos)
            rewards = rewards.write(i, r)
            if r > -0.5:
                break
        lp, rw = logps.stack(), rewards.stack()
        ret = tf.cumsum(rw, reverse=True)
        loss = -tf.reduce_mean(lp * (ret - tf.reduce_mean(ret)))
    adam.apply_gradients(zip(t.gradient(loss, net), net))
    return loss, tf.shape(rw)[0], tf.reduce_sum(rw)
for i in range(10): print([float(v) for v in episode(tf.constant([2., -1.]))])
