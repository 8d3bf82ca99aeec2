# tolerance: 2e-3
# Style transfer: an image is the variable; Gram matrices of fixed random features, and total variation.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(17)
filters = [(0.3 * rng.randn(3, 3, 3, 6)).astype(np.float32), (0.2 * rng.randn(3, 3, 6, 8)).astype(np.float32)]
content_image = rng.rand(1, 16, 16, 3).astype(np.float32)
style_image = np.tile(rng.rand(1, 4, 4, 3), (1, 4, 4, 1)).astype(np.float32)


def _conv_layer(input, weights):
    return tf.nn.relu(tf.nn.conv2d(input, tf.constant(weights), strides=(1, 1, 1, 1), padding="SAME"))


def _pool_layer(input):
    return tf.nn.avg_pool(input, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="SAME")


def net(image):
    layers = {}
    layers["conv1"] = _conv_layer(image - 0.5, filters[0])
    layers["pool1"] = _pool_layer(layers["conv1"])
    layers["conv2"] = _conv_layer(layers["pool1"], filters[1])
    return layers


def _tensor_size(tensor):
    from functools import reduce
    from operator import mul

    return reduce(mul, (d.value for d in tensor.get_shape()), 1)


style_features = {}
with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
    image = tf.placeholder("float", shape=(1, 16, 16, 3))
    features = net(image)
    content = features["conv2"].eval(feed_dict={image: content_image})
    for layer in ("conv1", "conv2"):
        f = features[layer].eval(feed_dict={image: style_image})
        f = np.reshape(f, (-1, f.shape[3]))
        style_features[layer] = np.matmul(f.T, f) / f.size

with tf.Graph().as_default(), tf.Session() as sess:
    image = tf.Variable(0.5 + 0.1 * rng.randn(1, 16, 16, 3).astype(np.float32))
    layers = net(image)
    content_loss = 5.0 * (2 * tf.nn.l2_loss(layers["conv2"] - content) / content.size)
    style_losses = []
    for name, gram_target in style_features.items():
        layer = layers[name]
        _, height, width, number = map(lambda i: i.value, layer.get_shape())
        size = height * width * number
        feats = tf.reshape(layer, (-1, number))
        gram = tf.matmul(tf.transpose(feats), feats) / size
        style_losses.append(2 * tf.nn.l2_loss(gram - gram_target) / gram_target.size)
    tv_y_size = _tensor_size(image[:, 1:, :, :])
    tv_x_size = _tensor_size(image[:, :, 1:, :])
    tv_loss = (
        0.1
        * 2
        * (
            (tf.nn.l2_loss(image[:, 1:, :, :] - image[:, :15, :, :]) / tv_y_size)
            + (tf.nn.l2_loss(image[:, :, 1:, :] - image[:, :, :15, :]) / tv_x_size)
        )
    )
    style_loss = 100.0 * tf.add_n(style_losses)
    loss = content_loss + style_loss + tv_loss
    train_step = tf.train.AdamOptimizer(0.02, 0.9, 0.999, 1e-08).minimize(loss)
    sess.run(tf.global_variables_initializer())
    for i in range(25):
        train_step.run()
        if i % 8 == 0:
            print(
                "Iteration %d: content %g style %g tv %g" % (i, content_loss.eval(), style_loss.eval(), tv_loss.eval())
            )
    print("mean %.5f" % image.eval().mean())
