# tolerance: 1e-3
"""Small convnet by low-level ops; saliency, SmoothGrad, Grad-CAM, guided by override, occlusion, deconv; imports of private modules."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_nn_ops

rs = np.random.RandomState(9)


@ops.RegisterGradient("GuidedBackpropRelu")
def _GuidedBackpropReluGrad(op, grad):
    return tf.where(0. < grad, gen_nn_ops.relu_grad(grad, op.outputs[0]), tf.zeros(tf.shape(grad)))


@tf.RegisterGradient("DeconvRelu")
def _deconv(op, grad):
    return tf.nn.relu(grad)


def conv(x, name, k, n, stride=1):
    with tf.variable_scope(name):
        cin = int(x.get_shape()[-1])
        w = tf.get_variable('weights', shape=(k, k, cin, n), initializer=tf.constant_initializer(np.random.RandomState(n).randn(k, k, cin, n) * .3))
        b = tf.get_variable('biases', [n], initializer=tf.constant_initializer(.01))
        y = tf.nn.conv2d(x, w, strides=[1, stride, stride, 1], padding='SAME', use_cudnn_on_gpu=False, name='conv')
        return tf.nn.relu(tf.nn.bias_add(y, b), name=name + '_relu')


def net(images):
    end = {}
    h = end['conv1'] = conv(images, 'conv1', 3, 6)
    h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID', name='pool1')
    h = tf.nn.local_response_normalization(h, depth_radius=2, bias=1.0, alpha=1e-3, beta=0.75)
    h = end['conv2'] = conv(h, 'conv2', 3, 8)
    h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')
    flat = tf.reshape(h, [-1, int(np.prod(h.get_shape()[1:]))])
    with tf.variable_scope('fc'):
        w = tf.get_variable('w', [flat.shape[-1], 5], initializer=tf.constant_initializer(rs.randn(flat.shape[-1].value, 5) * .1))
        end['logits'] = tf.nn.xw_plus_b(flat, w, tf.zeros([5]), name='logits')
    end['probs'] = tf.nn.softmax(end['logits'])
    return end


def build(kind=None):
    g = tf.Graph()
    with g.as_default():
        tf.set_random_seed(0)
        images = tf.placeholder(tf.float32, [None, 12, 12, 3], name='images')
        labels = tf.placeholder(tf.float32, [None, 5])
        if kind:
            with g.gradient_override_map({'Relu': kind}):
                end = net(images)
        else:
            end = net(images)
        cost = -tf.reduce_sum(labels * tf.log(end['probs'] + 1e-9), reduction_indices=1)
        y_c = tf.reduce_sum(tf.multiply(end['logits'], labels), axis=1)
        sal = tf.gradients(y_c, images)[0]
        cam_grad = tf.gradients(y_c, end['conv2'])[0]
        norm_grads = tf.div(cam_grad, tf.sqrt(tf.reduce_mean(tf.square(cam_grad))) + tf.constant(1e-5))
        weights = tf.reduce_mean(norm_grads, axis=(1, 2), keep_dims=True)
        cam = tf.nn.relu(tf.reduce_sum(weights * end['conv2'], -1, keepdims=True))
        cam = tf.image.resize_bilinear(cam, [12, 12])
        cam = cam / (tf.reduce_max(cam, axis=[1, 2, 3], keepdims=True) + 1e-9)
        top = tf.nn.top_k(end['probs'], k=2, sorted=True)
        init = tf.global_variables_initializer()
    return g, images, labels, sal, cam, cost, top, init, end


img = rs.rand(2, 12, 12, 3)
lab = np.eye(5)[[1, 3]]
for kind in (None, 'GuidedBackpropRelu', 'DeconvRelu'):
    g, images, labels, sal, cam, cost, top, init, end = build(kind)
    with tf.Session(graph=g) as sess:
        sess.run(init)
        s, c, co, t = sess.run([sal, cam, cost, top], {images: img, labels: lab})
        print(kind, '%.5f %.5f' % (np.abs(s).sum(), c.sum()), co, t.indices.tolist(), t.values.ravel())
        if kind is None:
            total = 0
            for i in range(4):
                noise = rs.normal(0, .1, img.shape)
                total = total + sess.run(sal, {images: img + noise, labels: lab}) ** 2
            print('smooth %.5f' % total.sum())
            base = np.zeros_like(img)
            ig = np.mean([sess.run(sal, {images: base + a * (img - base), labels: lab}) for a in np.linspace(0, 1, 6)], 0) * (img - base)
            print('ig %.5f' % ig.sum())
            relu_ops = [op.name for op in g.get_operations() if op.type == 'Relu']
            print(relu_ops, [t.name for t in g.get_operation_by_name('conv1/conv').inputs], end['conv2'].op.type)
            print(g.get_tensor_by_name('pool1:0').get_shape(), sess.graph is g, end['logits'].name)
