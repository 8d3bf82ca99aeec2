# tolerance: 1e-3
# Collaborative filtering: embeddings of users and items, biases, Adagrad on sparse rows, l2 regularisation.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(18)
n_users, n_items, dim = 30, 20, 4
P, Q = rng.randn(n_users, dim), rng.randn(n_items, dim)
users, items = rng.randint(0, n_users, 400), rng.randint(0, n_items, 400)
rates = (3 + (P[users] * Q[items]).sum(1) + 0.1 * rng.randn(400)).astype(np.float32)


def inference_svd(user_batch, item_batch):
    with tf.device("/cpu:0"):
        bias_global = tf.get_variable("bias_global", shape=[], initializer=tf.constant_initializer(3.0))
        w_bias_user = tf.get_variable("embd_bias_user", initializer=tf.zeros([n_users]))
        w_bias_item = tf.get_variable("embd_bias_item", initializer=tf.zeros([n_items]))
        w_user = tf.get_variable("embd_user", initializer=(0.1 * rng.randn(n_users, dim)).astype(np.float32))
        w_item = tf.get_variable("embd_item", initializer=(0.1 * rng.randn(n_items, dim)).astype(np.float32))
        bias_user = tf.nn.embedding_lookup(w_bias_user, user_batch, name="bias_user")
        bias_item = tf.nn.embedding_lookup(w_bias_item, item_batch, name="bias_item")
        embd_user = tf.nn.embedding_lookup(w_user, user_batch, name="embedding_user")
        embd_item = tf.nn.embedding_lookup(w_item, item_batch, name="embedding_item")
    infer = tf.reduce_sum(tf.multiply(embd_user, embd_item), 1)
    infer = tf.add(tf.add(tf.add(infer, bias_global), bias_user), bias_item, name="svd_inference")
    regularizer = tf.add(tf.nn.l2_loss(embd_user), tf.nn.l2_loss(embd_item), name="svd_regularizer")
    return infer, regularizer


user_batch = tf.placeholder(tf.int32, shape=[None], name="id_user")
item_batch = tf.placeholder(tf.int32, shape=[None], name="id_item")
rate_batch = tf.placeholder(tf.float32, shape=[None])
infer, regularizer = inference_svd(user_batch, item_batch)
global_step = tf.train.get_or_create_global_step()
cost_l2 = tf.nn.l2_loss(tf.subtract(infer, rate_batch))
penalty = tf.constant(0.02, dtype=tf.float32, shape=[], name="l2")
cost = tf.add(cost_l2, tf.multiply(regularizer, penalty))
gradients = tf.gradients(cost, tf.trainable_variables())
print([isinstance(g, tf.IndexedSlices) for g in gradients])
train_op = tf.train.AdagradOptimizer(0.3).minimize(cost, global_step=global_step)
rmse = tf.sqrt(tf.reduce_mean(tf.square(infer - rate_batch)))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(6):
        for k in range(0, 400, 50):
            part = slice(k, k + 50)
            sess.run(train_op, {user_batch: users[part], item_batch: items[part], rate_batch: rates[part]})
        print("epoch", epoch, "rmse", sess.run(rmse, {user_batch: users, item_batch: items, rate_batch: rates}))
    print("steps", tf.train.global_step(sess, global_step))
