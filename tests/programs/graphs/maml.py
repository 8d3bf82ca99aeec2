# tolerance: 1e-3
# Model-agnostic meta-learning of sine waves: a gradient through gradient steps, mapped over tasks.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
num_updates, update_lr, meta_batch, K = 2, 0.02, 4, 8
weights = {
    "w1": tf.Variable((0.4 * rng.randn(1, 20)).astype(np.float32)),
    "b1": tf.Variable(tf.zeros([20])),
    "w2": tf.Variable((0.3 * rng.randn(20, 20)).astype(np.float32)),
    "b2": tf.Variable(tf.zeros([20])),
    "w3": tf.Variable((0.3 * rng.randn(20, 1)).astype(np.float32)),
    "b3": tf.Variable(tf.zeros([1])),
}


def forward(inp, weights):
    hidden = tf.nn.relu(tf.matmul(inp, weights["w1"]) + weights["b1"])
    hidden = tf.nn.relu(tf.matmul(hidden, weights["w2"]) + weights["b2"])
    return tf.matmul(hidden, weights["w3"]) + weights["b3"]


def mse(pred, label):
    return tf.reduce_mean(tf.square(tf.reshape(pred, [-1]) - tf.reshape(label, [-1])))


inputa = tf.placeholder(tf.float32, [meta_batch, K, 1])
labela = tf.placeholder(tf.float32, [meta_batch, K, 1])
inputb = tf.placeholder(tf.float32, [meta_batch, K, 1])
labelb = tf.placeholder(tf.float32, [meta_batch, K, 1])


def task_metalearn(inp):
    inputa, inputb, labela, labelb = inp
    lossa, lossesb, fast_weights = None, [], weights
    for _ in range(num_updates):
        loss = mse(forward(inputa, fast_weights), labela)
        lossa = loss if lossa is None else lossa
        grads = tf.gradients(loss, list(fast_weights.values()))
        gradients = dict(zip(fast_weights.keys(), grads))
        fast_weights = {k: fast_weights[k] - update_lr * gradients[k] for k in fast_weights}
        lossesb.append(mse(forward(inputb, fast_weights), labelb))
    return [lossa, *lossesb]


lossa, *lossesb = tf.map_fn(
    task_metalearn,
    elems=(inputa, inputb, labela, labelb),
    dtype=[tf.float32] * (num_updates + 1),
    parallel_iterations=meta_batch,
)
total_loss1 = tf.reduce_sum(lossa) / meta_batch
total_losses2 = [tf.reduce_sum(loss) / meta_batch for loss in lossesb]
optimizer = tf.train.AdamOptimizer(0.003)
gvs = optimizer.compute_gradients(total_losses2[-1])
gvs = [(tf.clip_by_value(grad, -10, 10), var) for grad, var in gvs]
metatrain_op = optimizer.apply_gradients(gvs)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for itr in range(20):
        amplitude, phase = rng.uniform(0.1, 5.0, (meta_batch, 1, 1)), rng.uniform(0, np.pi, (meta_batch, 1, 1))
        xs = rng.uniform(-5, 5, (meta_batch, 2 * K, 1))
        ys = amplitude * np.sin(xs - phase)
        feed = {inputa: xs[:, :K], inputb: xs[:, K:], labela: ys[:, :K], labelb: ys[:, K:]}
        pre, post, _ = sess.run([total_loss1, total_losses2, metatrain_op], feed)
        if itr % 5 == 0:
            print("Iteration %d: pre %.5f, post %.5f %.5f" % (itr, pre, post[0], post[1]))
