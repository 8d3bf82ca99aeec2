"""Streaming metrics over batches of a classifier and of a ranking."""
# tolerance: 1e-4
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
labels = tf.placeholder(tf.int64, [None], 'labels')
probs = tf.placeholder(tf.float32, [None, 4], 'probs')
pred = tf.argmax(probs, 1)
weights = tf.placeholder_with_default(np.float32(1.), [], 'w')
positive = tf.equal(labels, 1)
score = probs[:, 1]
with tf.name_scope('m'):
    m = {
        'accuracy': tf.metrics.accuracy(labels, pred),
        'mean': tf.metrics.mean(score),
        'precision': tf.metrics.precision(positive, tf.equal(pred, 1)),
        'recall': tf.metrics.recall(positive, tf.equal(pred, 1)),
        'auc': tf.metrics.auc(positive, score),
        'auc_pr': tf.metrics.auc(positive, score, curve='PR', num_thresholds=50, summation_method='careful_interpolation'),
        'mse': tf.metrics.mean_squared_error(tf.to_float(positive), score),
        'rmse': tf.metrics.root_mean_squared_error(tf.to_float(positive), score),
        'mae': tf.metrics.mean_absolute_error(tf.to_float(positive), score),
        'per_class': tf.metrics.mean_per_class_accuracy(labels, pred, 4),
        'iou': tf.metrics.mean_iou(labels, pred, 4),
        'fp': tf.metrics.false_positives(positive, tf.equal(pred, 1)),
        'fn': tf.metrics.false_negatives(positive, tf.equal(pred, 1)),
    }
values = {k: v[0] for k, v in m.items()}
updates = {k: v[1] for k, v in m.items()}
print(len(tf.local_variables()), [v.op.name for v in tf.local_variables()][:6])
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for i in range(4):
        p = rng.dirichlet(np.ones(4), 16); l = rng.randint(0, 4, 16)
        out = sess.run(updates, {labels: l, probs: p})
    got = sess.run(values)
    for k in sorted(got):
        print(k, np.round(got[k], 5).tolist(), np.round(out[k], 5).tolist())
    sess.run(tf.local_variables_initializer())
    print(sess.run(values['accuracy']))
