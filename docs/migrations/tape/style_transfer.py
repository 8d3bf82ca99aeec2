"""style_transfer.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

rng = np.random.RandomState(8)
kernels = {"conv1": 0.3 * rng.randn(3, 3, 3, 6), "conv2": 0.2 * rng.randn(3, 3, 6, 8)}
content = rng.rand(1, 12, 12, 3).astype(np.float32)
style = np.sin(np.arange(432) / 3.0).reshape(1, 12, 12, 3).astype(np.float32)
CONTENT_WEIGHT, STYLE_WEIGHT, TV_WEIGHT = 5.0, 40.0, 0.1
kernel = tf.constant(kernels["conv1"].astype(np.float32))  # line 18
kernel_2 = tf.constant(kernels["conv2"].astype(np.float32))
image = tf.Variable((0.1 * rng.randn(1, 12, 12, 3)).astype(np.float32))  # line 38
optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=0.05)


def net(given):
    given_net_conv1 = tf.nn.relu(tf.nn.conv2d(given, kernel, strides=1, padding="SAME"))  # line 19
    current = tf.nn.avg_pool2d(given_net_conv1, ksize=2, strides=2, padding="SAME")  # line 21
    return given_net_conv1, tf.nn.relu(tf.nn.conv2d(current, kernel_2, strides=1, padding="SAME"))  # line 19


def compute_content_loss_and_style_loss(content_features, gram1, gram2):
    image_net_conv1 = tf.nn.relu(tf.nn.conv2d(image, kernel, strides=1, padding="SAME"))  # line 19
    current = tf.nn.avg_pool2d(image_net_conv1, ksize=2, strides=2, padding="SAME")  # line 21
    image_net_conv2 = tf.nn.relu(tf.nn.conv2d(current, kernel_2, strides=1, padding="SAME"))  # line 19
    content_loss = CONTENT_WEIGHT * tf.reduce_mean(tf.square(image_net_conv2 - content_features))  # line 40
    flat = tf.reshape(image_net_conv1, [-1, 6])  # line 26
    l2_loss = tf.nn.l2_loss(tf.matmul(tf.transpose(flat), flat) / tf.cast(tf.size(flat), tf.float32) - gram1)  # line 41
    flat = tf.reshape(image_net_conv2, [-1, 8])  # line 26
    return (content_loss, l2_loss + tf.nn.l2_loss(tf.matmul(tf.transpose(flat), flat)  # line 41
                                                  / tf.cast(tf.size(flat), tf.float32) - gram2))


def compute_tv_loss():
    return (tf.reduce_mean(tf.square(image[:, 1:, :, :] - image[:, :-1, :, :]))  # line 42
            + tf.reduce_mean(tf.square(image[:, :, 1:, :] - image[:, :, :-1, :])))


def compute_given_content(given):
    given = tf.convert_to_tensor(given, tf.float32)
    _, given_content = net(given)
    return given_content


def compute_given_gram1_and_given_gram2(given):
    given = tf.convert_to_tensor(given, tf.float32)
    given_net_conv1, given_content = net(given)
    flat = tf.reshape(given_net_conv1, [-1, 6])  # line 26
    given_gram1 = tf.matmul(tf.transpose(flat), flat) / tf.cast(tf.size(flat), tf.float32)  # line 27
    flat = tf.reshape(given_content, [-1, 8])  # line 26
    return given_gram1, tf.matmul(tf.transpose(flat), flat) / tf.cast(tf.size(flat), tf.float32)  # line 27


def train_step(content_features, gram1, gram2):
    content_features, gram1, gram2 = [tf.convert_to_tensor(x, tf.float32) for x in (content_features, gram1, gram2)]
    with tf.GradientTape() as tape:
        content_loss, style_loss = compute_content_loss_and_style_loss(content_features, gram1, gram2)
        tv_loss = compute_tv_loss()
        loss = content_loss + STYLE_WEIGHT * style_loss + TV_WEIGHT * tv_loss  # line 45
    optimizer.apply_gradients([(tape.gradient(loss, image), image)])  # line 46


def compute_content_loss_and_2_more(content_features, gram1, gram2):
    content_features, gram1, gram2 = [tf.convert_to_tensor(x, tf.float32) for x in (content_features, gram1, gram2)]
    content_loss, style_loss = compute_content_loss_and_style_loss(content_features, gram1, gram2)
    return content_loss, style_loss, compute_tv_loss()


if __name__ == "__main__":
    target = compute_given_content(content).numpy()
    style1, style2 = [x.numpy() for x in compute_given_gram1_and_given_gram2(style)]
    feed = {"content_features": target, "gram1": style1, "gram2": style2}
    for i in range(30):
        train_step(**feed)
        if i % 10 == 9:
            losses = [x.numpy() for x in compute_content_loss_and_2_more(**feed)]
            print("iteration %d: content %.4f, style %.4f, tv %.4f" % (i + 1, losses[0], losses[1], losses[2]))
    picture = image.numpy()
    print("the picture has values from %.2f to %.2f" % (picture.min(), picture.max()))
