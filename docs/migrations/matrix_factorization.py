# source: songgc/TF-recomm svd_train_val.py b1b0a4a6769318a50b6040b3aee86b3dcb8c8e0c
# Collaborative filtering: a vector and a bias for each user and item, rows of which Adam changes.
from collections import deque

import numpy as np
import tensorflow as tf

np.random.seed(13575)
USER_NUM, ITEM_NUM, DIM, BATCH_SIZE, EPOCH_MAX = 40, 25, 4, 50, 5


def read_data():
    """Ratings that have a structure, in two parts."""
    P, Q = np.random.randn(USER_NUM, 3), np.random.randn(ITEM_NUM, 3)
    users, items = np.random.randint(0, USER_NUM, 600), np.random.randint(0, ITEM_NUM, 600)
    rates = np.clip(3.0 + (P[users] * Q[items]).sum(1), 1, 5).astype(np.float32)
    return (users[:500], items[:500], rates[:500]), (users[500:], items[500:], rates[500:])


def shuffled(samples, size):
    for _ in range(len(samples[0]) // size):
        rows = np.random.randint(0, len(samples[0]), size)
        yield [part[rows] for part in samples]


def inference_svd(user_batch, item_batch):
    bias_global = tf.get_variable("bias_global", shape=[], initializer=tf.constant_initializer(3.0))
    w_bias_user = tf.get_variable("embd_bias_user", [USER_NUM], initializer=tf.zeros_initializer())
    w_bias_item = tf.get_variable("embd_bias_item", [ITEM_NUM], initializer=tf.zeros_initializer())
    w_user = tf.get_variable("embd_user", initializer=(0.02 * np.random.randn(USER_NUM, DIM)).astype(np.float32))
    w_item = tf.get_variable("embd_item", initializer=(0.02 * np.random.randn(ITEM_NUM, DIM)).astype(np.float32))
    embd_user = tf.nn.embedding_lookup(w_user, user_batch, name="embedding_user")
    embd_item = tf.nn.embedding_lookup(w_item, item_batch, name="embedding_item")
    infer = tf.reduce_sum(tf.multiply(embd_user, embd_item), 1)
    infer = tf.add(infer, bias_global)
    infer = tf.add(infer, tf.nn.embedding_lookup(w_bias_user, user_batch))
    infer = tf.add(infer, tf.nn.embedding_lookup(w_bias_item, item_batch), name="svd_inference")
    regularizer = tf.add(tf.nn.l2_loss(embd_user), tf.nn.l2_loss(embd_item), name="svd_regularizer")
    return infer, regularizer


def optimization(infer, regularizer, rate_batch, learning_rate, reg):
    cost_l2 = tf.nn.l2_loss(tf.subtract(infer, rate_batch))
    penalty = tf.constant(reg, dtype=tf.float32, shape=[], name="l2")
    cost = tf.add(cost_l2, tf.multiply(regularizer, penalty))
    return cost, tf.train.AdamOptimizer(learning_rate).minimize(cost)


train, test = read_data()
user_batch = tf.placeholder(tf.int32, shape=[None], name="id_user")
item_batch = tf.placeholder(tf.int32, shape=[None], name="id_item")
rate_batch = tf.placeholder(tf.float32, shape=[None])
infer, regularizer = inference_svd(user_batch, item_batch)
cost, train_op = optimization(infer, regularizer, rate_batch, learning_rate=0.02, reg=0.05)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    errors = deque(maxlen=10)
    for epoch in range(EPOCH_MAX):
        for users, items, rates in shuffled(train, BATCH_SIZE):
            _, pred_batch = sess.run([train_op, infer], feed_dict={user_batch: users, item_batch: items, rate_batch: rates})
            pred_batch = np.clip(pred_batch, 1.0, 5.0)
            errors.append(np.mean(np.power(pred_batch - rates, 2)))
        users, items, rates = test
        pred_batch = np.clip(sess.run(infer, feed_dict={user_batch: users, item_batch: items}), 1.0, 5.0)
        test_err = np.sqrt(np.mean(np.power(pred_batch - rates, 2)))
        print("{:3d} {:.4f} {:.4f}".format(epoch, np.sqrt(np.mean(errors)), test_err))
