"""matrix_factorization.py, as tape code: written by dualgrad convert."""

from collections import deque

import numpy as np
import tape_api as tf

np.random.seed(13575)
USER_NUM, ITEM_NUM, DIM, BATCH_SIZE, EPOCH_MAX = 40, 25, 4, 50, 5


def read_data():
    """Ratings that have a structure, in two parts."""
    P, Q = np.random.randn(USER_NUM, 3), np.random.randn(ITEM_NUM, 3)
    users, items = np.random.randint(0, USER_NUM, 600), np.random.randint(0, ITEM_NUM, 600)
    rates = np.clip(3.0 + (P[users] * Q[items]).sum(1), 1, 5).astype(np.float32)
    return (users[:500], items[:500], rates[:500]), (users[500:], items[500:], rates[500:])


train, test = read_data()
embd_user = tf.Variable((0.02 * np.random.randn(USER_NUM, DIM)).astype(np.float32))  # line 30
embd_item = tf.Variable((0.02 * np.random.randn(ITEM_NUM, DIM)).astype(np.float32))  # line 31
bias_global = tf.Variable(3.0)  # line 27
embd_bias_user = tf.Variable(tf.zeros([USER_NUM]))  # line 28
embd_bias_item = tf.Variable(tf.zeros([ITEM_NUM]))  # line 29
variables = [bias_global, embd_bias_user, embd_bias_item, embd_user, embd_item]
optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=0.02)


def inference_svd(user_batch, item_batch):
    embd_user_2 = tf.gather(embd_user, user_batch)  # line 32
    embd_item_2 = tf.gather(embd_item, item_batch)  # line 33
    infer = tf.reduce_sum(embd_user_2 * embd_item_2, axis=-1)  # line 34
    infer = infer + bias_global  # line 35
    infer = infer + tf.gather(embd_bias_user, user_batch)  # line 36
    return embd_user_2, embd_item_2, infer + tf.gather(embd_bias_item, item_batch)  # line 37


def train_op(user_batch, item_batch, rate_batch):
    user_batch, item_batch = [tf.convert_to_tensor(x, tf.int32) for x in (user_batch, item_batch)]
    rate_batch = tf.convert_to_tensor(rate_batch, tf.float32)
    with tf.GradientTape() as tape:
        embd_user_2, embd_item_2, infer = inference_svd(user_batch, item_batch)
        regularizer = tf.nn.l2_loss(embd_user_2) + tf.nn.l2_loss(embd_item_2)  # line 38
        cost_l2 = tf.nn.l2_loss(infer - rate_batch)  # line 43
        cost = cost_l2 + regularizer * 0.05  # line 45
    optimizer.apply_gradients(zip(tape.gradient(cost, variables), variables))  # line 46
    return infer


def compute_infer(user_batch, item_batch):
    user_batch, item_batch = [tf.convert_to_tensor(x, tf.int32) for x in (user_batch, item_batch)]
    _, _, infer = inference_svd(user_batch, item_batch)
    return infer


def shuffled(samples, size):
    for _ in range(len(samples[0]) // size):
        rows = np.random.randint(0, len(samples[0]), size)
        yield [part[rows] for part in samples]


if __name__ == "__main__":
    errors = deque(maxlen=10)
    for epoch in range(EPOCH_MAX):
        for users, items, rates in shuffled(train, BATCH_SIZE):
            pred_batch = train_op(users, items, rates).numpy()
            pred_batch = np.clip(pred_batch, 1.0, 5.0)
            errors.append(np.mean(np.power(pred_batch - rates, 2)))
        users, items, rates = test
        pred_batch = np.clip(compute_infer(users, items).numpy(), 1.0, 5.0)
        test_err = np.sqrt(np.mean(np.power(pred_batch - rates, 2)))
        print("{:3d} {:.4f} {:.4f}".format(epoch, np.sqrt(np.mean(errors)), test_err))
