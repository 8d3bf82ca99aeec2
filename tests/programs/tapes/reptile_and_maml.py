# tolerance: 1e-3
# Meta-learning with tapes: first-order Reptile, and MAML by a tape around the inner tape.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(45)
weights = [tf.Variable(rng.randn(*s) * 0.5, dtype=tf.float64) for s in ((1, 16), (16,), (16, 1), (1,))]


def forward(x, w):
    return tf.nn.tanh(x @ w[0] + w[1]) @ w[2] + w[3]


def task():
    a, p = rng.uniform(0.5, 3), rng.uniform(0, np.pi)
    x = rng.uniform(-4, 4, (20, 1))
    return tf.constant(x), tf.constant(a * np.sin(x + p))


for step in range(6):
    x, y = task()
    fast = [tf.Variable(w) for w in weights]
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((forward(x, fast) - y) ** 2)
        for w, g in zip(fast, tape.gradient(loss, fast)):
            w.assign_sub(0.02 * g)
    for w, f in zip(weights, fast):
        w.assign_add(0.1 * (f - w))
    print("reptile", step, loss.numpy())
optimizer = tf.keras.optimizers.SGD(0.01)
for step in range(6):
    x, y = task()
    with tf.GradientTape() as outer:
        fast = weights
        for _ in range(2):
            with tf.GradientTape() as inner:
                inner.watch(fast)
                loss = tf.reduce_mean((forward(x[:10], fast) - y[:10]) ** 2)
            fast = [w - 0.02 * g for w, g in zip(fast, inner.gradient(loss, fast))]
        meta_loss = tf.reduce_mean((forward(x[10:], fast) - y[10:]) ** 2)
    grads = outer.gradient(meta_loss, weights)
    grads, norm = tf.clip_by_global_norm(grads, 10.0)
    optimizer.apply_gradients(zip(grads, weights))
    print("maml", step, meta_loss.numpy(), "norm", norm.numpy())
