# tolerance: 1e-3
# Fast gradient signs, iterated and projected, and an optimised perturbation in the manner of Carlini and Wagner.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(15)
labels = rng.randint(0, 3, 90)
points = np.clip((np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])[labels] + 0.07 * rng.randn(90, 2)), 0, 1)
W1 = tf.Variable(rng.randn(2, 16), dtype=tf.float32)
W2 = tf.Variable(0.5 * rng.randn(16, 3), dtype=tf.float32)


def model(x, logits=False):
    z = tf.matmul(tf.nn.relu(tf.matmul(x - 0.5, W1)), W2)
    return z if logits else tf.nn.softmax(z)


def fgm(x, y, eps=0.01, epochs=1, sign=True, clip_min=0.0, clip_max=1.0):
    noise_fn = tf.sign if sign else tf.identity
    x_adv = tf.identity(x)

    def _cond(x_adv, i):
        return tf.less(i, epochs)

    def _body(x_adv, i):
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=model(x_adv, logits=True))
        (dy_dx,) = tf.gradients(loss, x_adv)
        x_adv = tf.stop_gradient(x_adv + eps * noise_fn(dy_dx))
        return tf.clip_by_value(x_adv, clip_min, clip_max), i + 1

    x_adv, _ = tf.while_loop(_cond, _body, (x_adv, 0), back_prop=False, name="fast_gradient")
    return x_adv


x = tf.placeholder(tf.float32, (None, 2), name="x")
y = tf.placeholder(tf.float32, (None, 3), name="y")
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=model(x, logits=True)))
train = tf.train.MomentumOptimizer(0.5, momentum=0.9, use_nesterov=True).minimize(loss)
acc = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(y, axis=1), tf.argmax(model(x), axis=1))))
x_fgsm, x_ifgsm = fgm(x, y, 0.15), fgm(x, y, 0.05, epochs=6)

target = tf.placeholder(tf.float32, (1, 3))
origin = tf.placeholder(tf.float32, (1, 2))
w = tf.Variable(np.zeros((1, 2), np.float32), name="modifier")
newimg = tf.clip_by_value(origin + w, 0.0, 1.0)
z = model(newimg, logits=True)
real = tf.reduce_sum(target * z, 1)
other = tf.reduce_max((1 - target) * z - (target * 10000), 1)
cw_loss = tf.reduce_sum(tf.maximum(0.0, other - real + 0.1)) + 5.0 * tf.reduce_sum(tf.square(newimg - origin))
cw_optimizer = tf.train.AdamOptimizer(0.05)
cw_train = cw_optimizer.minimize(cw_loss, var_list=[w])
reset = tf.variables_initializer([w] + cw_optimizer.variables())

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: points, y: np.eye(3)[labels]}
    for _ in range(40):
        sess.run(train, feed)
    print("clean", *sess.run([loss, acc], feed))
    for name, attack in (("FGSM", x_fgsm), ("iterated", x_ifgsm)):
        adv = sess.run(attack, feed)
        print(name, *sess.run([loss, acc], {**feed, x: adv}), "moved", np.abs(adv - points).max())
    for k in range(2):
        sess.run(reset)
        goal = {origin: points[k : k + 1], target: np.eye(3)[(labels[k : k + 1] + 1) % 3]}
        for _ in range(60):
            sess.run(cw_train, goal)
        print("optimised", *sess.run([cw_loss, newimg], goal), sess.run(tf.argmax(z, 1), goal) == (labels[k] + 1) % 3)
