# An op of NumPy's with a gradient of its own, by py_func and gradient_override_map.
import numpy as np
import tensorflow as tf


def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = "PyFuncGrad" + str(abs(hash(name)) % 10**8)
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def spiky(x):
    r = x % 1
    return r if r <= 0.5 else 0


def d_spiky(x):
    return 1 if x % 1 <= 0.5 else 0


np_spiky_32 = lambda x: np.vectorize(spiky)(x).astype(np.float32)
np_d_spiky_32 = lambda x: np.vectorize(d_spiky)(x).astype(np.float32)


def tf_d_spiky(x, name=None):
    with tf.name_scope(name, "d_spiky", [x]) as name:
        return tf.py_func(np_d_spiky_32, [x], [tf.float32], name=name, stateful=False)[0]


def spikygrad(op, grad):
    return grad * tf_d_spiky(op.inputs[0])


def tf_spiky(x, name=None):
    with tf.name_scope(name, "spiky", [x]) as name:
        return py_func(np_spiky_32, [x], [tf.float32], name=name, grad=spikygrad)[0]


with tf.Session() as sess:
    x = tf.constant([0.2, 0.7, 1.2, 1.7])
    y = tf_spiky(x)
    tf.global_variables_initializer().run()
    print(x.eval(), y.eval(), tf.gradients(y, [x])[0].eval())
    z = tf.reduce_sum(tf.square(tf_spiky(3.0 * x)) * x)
    print(z.eval(), tf.gradients(z, [x])[0].eval())
