# Random numbers of data sets: the functions of one iterator go on from epoch to epoch, shuffling as well.
import tensorflow as tf


def shown(name, make):
    tf.random.set_seed(5)
    source = make()
    for _ in range(2):
        print(name, [round(float(tf.reshape(x, [])), 6) for x in source])


@tf.function
def jitter(i):
    return tf.random.normal([]) if tf.random.uniform([]) > 0.5 else tf.random.uniform([])


def drawn(n=4):
    return tf.data.Dataset.range(n).map(lambda i: tf.random.uniform([]))


shown("once", drawn)
shown("twice", lambda: drawn().repeat(2))
shown("forever", lambda: drawn().repeat().take(9))
shown("with a seed", lambda: tf.data.Dataset.range(4).map(lambda i: tf.random.uniform([], seed=3)).repeat(2))
shown("function", lambda: tf.data.Dataset.range(4).map(jitter).repeat(2))
shown("shuffled", lambda: drawn().shuffle(4).repeat(2))
shown("batches", lambda: drawn().shuffle(4).batch(1).repeat(2))
shown("cached", lambda: drawn().shuffle(4).batch(1).cache().repeat(2))
shown("crops", lambda: tf.data.Dataset.range(4).map(lambda i: tf.image.random_crop(tf.range(10), [1])[0]).repeat(2))
