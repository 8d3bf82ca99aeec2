# tolerance: 1e-4
# Guided backpropagation and deconvolution: other gradients for ReLU within a scope.
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

rng = np.random.RandomState(28)


@ops.RegisterGradient("GuidedRelu")
def _guided_relu_grad(op, grad):
    gate_f = tf.cast(op.outputs[0] > 0, "float32")
    gate_r = tf.cast(grad > 0, "float32")
    return gate_f * gate_r * grad


@tf.RegisterGradient("Deconv")
def _deconv_relu_grad(op, grad):
    return tf.where(0.0 < grad, grad, tf.zeros(tf.shape(grad)))


filters = (0.4 * rng.randn(3, 3, 1, 4)).astype(np.float32)
dense = rng.randn(6 * 6 * 4, 3).astype(np.float32)
image_value = rng.randn(1, 6, 6, 1)


def network(image):
    h = tf.nn.relu(tf.nn.conv2d(image, filters, [1, 1, 1, 1], "SAME"))
    return tf.matmul(tf.reshape(h, [-1, 6 * 6 * 4]), dense)


for name in (None, "GuidedRelu", "Deconv"):
    with tf.Graph().as_default() as g:
        image = tf.placeholder(tf.float32, [None, 6, 6, 1])
        with g.gradient_override_map({"Relu": name} if name else {}):
            logits = network(image)
        saliency = tf.gradients(tf.reduce_max(logits, axis=1), image)[0]
        with tf.Session() as sess:
            value = sess.run(saliency, {image: image_value})
        print(name, "sum %.5f largest %.5f" % (value.sum(), value.max()), value[0, :2, :2, 0].ravel())
