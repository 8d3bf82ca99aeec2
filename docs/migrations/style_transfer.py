# source: anishathalye/neural-style stylize.py 45dd5c4dc55f4303e8c491fb79ba11ad1395b696
# A picture that has the content of one and the style of another: the picture is the variable, the network is fixed.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
kernels = {"conv1": 0.3 * rng.randn(3, 3, 3, 6), "conv2": 0.2 * rng.randn(3, 3, 6, 8)}
content = rng.rand(1, 12, 12, 3).astype(np.float32)
style = np.sin(np.arange(432) / 3.0).reshape(1, 12, 12, 3).astype(np.float32)
CONTENT_WEIGHT, STYLE_WEIGHT, TV_WEIGHT = 5.0, 40.0, 0.1


def net(image):
    """The features of a picture, layer by layer."""
    found = {}
    current = image
    for name in ("conv1", "conv2"):
        kernel = tf.constant(kernels[name].astype(np.float32))
        current = tf.nn.relu(tf.nn.conv2d(current, kernel, strides=(1, 1, 1, 1), padding="SAME"))
        found[name] = current
        current = tf.nn.avg_pool(current, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="SAME")
    return found


def gram(features, number):
    flat = tf.reshape(features, (-1, number))
    return tf.matmul(tf.transpose(flat), flat) / tf.cast(tf.size(flat), tf.float32)


given = tf.placeholder(tf.float32, shape=(1, 12, 12, 3), name="given")
given_net = net(given)
given_content = given_net["conv2"]
given_gram1, given_gram2 = gram(given_net["conv1"], 6), gram(given_net["conv2"], 8)

content_features = tf.placeholder(tf.float32, shape=(1, 6, 6, 8), name="content_features")
gram1 = tf.placeholder(tf.float32, shape=(6, 6), name="gram1")
gram2 = tf.placeholder(tf.float32, shape=(8, 8), name="gram2")
image = tf.Variable((0.1 * rng.randn(1, 12, 12, 3)).astype(np.float32), name="image")
image_net = net(image)
content_loss = CONTENT_WEIGHT * tf.reduce_mean(tf.square(image_net["conv2"] - content_features))
style_loss = tf.nn.l2_loss(gram(image_net["conv1"], 6) - gram1) + tf.nn.l2_loss(gram(image_net["conv2"], 8) - gram2)
tv_loss = tf.reduce_mean(tf.square(image[:, 1:, :, :] - image[:, :-1, :, :])) + tf.reduce_mean(
    tf.square(image[:, :, 1:, :] - image[:, :, :-1, :])
)
loss = content_loss + STYLE_WEIGHT * style_loss + TV_WEIGHT * tv_loss
train_step = tf.train.AdamOptimizer(0.05, beta1=0.9, beta2=0.999, epsilon=1e-08).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    target = sess.run(given_content, feed_dict={given: content})
    style1, style2 = sess.run([given_gram1, given_gram2], feed_dict={given: style})
    feed = {content_features: target, gram1: style1, gram2: style2}
    for i in range(30):
        sess.run(train_step, feed_dict=feed)
        if i % 10 == 9:
            losses = sess.run([content_loss, style_loss, tv_loss], feed_dict=feed)
            print("iteration %d: content %.4f, style %.4f, tv %.4f" % (i + 1, losses[0], losses[1], losses[2]))
    picture = sess.run(image)
print("the picture has values from %.2f to %.2f" % (picture.min(), picture.max()))
