# tolerance: 1e-3
# Sequence losses: a linear-chain CRF with tf.scan and while loops, and Viterbi decoding.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(17)


class CRF(tf.keras.layers.Layer):
    def __init__(self, num_tags, **kwargs):
        super().__init__(**kwargs)
        self.num_tags = num_tags

    def build(self, input_shape):
        self.transitions = self.add_weight(
            name="transitions", shape=(self.num_tags, self.num_tags), initializer="zeros"
        )
        self.start = self.add_weight(name="start", shape=[self.num_tags], initializer="zeros")

    def log_norm(self, logits, mask):
        first = self.start + logits[:, 0]

        def step(alpha, inputs):
            emission, m = inputs
            new = tf.reduce_logsumexp(alpha[:, :, None] + self.transitions[None], axis=1) + emission
            return tf.where(m[:, None], new, alpha)

        rest = tf.transpose(logits[:, 1:], [1, 0, 2])
        alphas = tf.scan(step, (rest, tf.transpose(mask[:, 1:])), initializer=first)
        return tf.reduce_logsumexp(alphas[-1], axis=-1)

    def score(self, logits, tags, mask):
        m = tf.cast(mask, logits.dtype)
        unary = tf.reduce_sum(tf.gather(logits, tags, axis=2, batch_dims=2) * m, axis=1)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
        binary = tf.reduce_sum(tf.gather_nd(self.transitions, pairs) * m[:, 1:], axis=1)
        return unary + binary + tf.gather(self.start, tags[:, 0])

    def call(self, logits, tags, lengths):
        mask = tf.sequence_mask(lengths, maxlen=tf.shape(logits)[1])
        return self.score(logits, tags, mask) - self.log_norm(logits, mask)

    @tf.function
    def viterbi(self, logits):
        n = tf.shape(logits)[0]
        trellis = self.start + logits[0]
        back = tf.TensorArray(tf.int32, size=n, clear_after_read=False)
        for t in tf.range(1, n):
            scores = tf.expand_dims(trellis, 1) + self.transitions
            trellis = logits[t] + tf.reduce_max(scores, 0)
            back = back.write(t, tf.argmax(scores, 0, output_type=tf.int32))
        best = tf.argmax(trellis, output_type=tf.int32)
        path = tf.TensorArray(tf.int32, size=n).write(n - 1, best)
        i = n - 1
        while i > 0:
            best = back.read(i)[best]
            path = path.write(i - 1, best)
            i -= 1
        return path.stack(), tf.reduce_max(trellis)


B, T, K = 4, 6, 3
features = rng.randn(B, T, 5).astype(np.float32)
tags = rng.randint(0, K, (B, T)).astype(np.int32)
lengths = np.array([6, 4, 5, 2])
crf = CRF(K, name="crf")
W = tf.Variable(0.3 * rng.randn(5, K).astype(np.float32), name="W")
crf(tf.zeros([1, 2, K]), tf.zeros([1, 2], tf.int32), tf.constant([2]))
crf.set_weights([0.2 * rng.randn(K, K), 0.1 * rng.randn(K)])
optimizer = tf.keras.optimizers.Adagrad(0.3)
for step in range(6):
    with tf.GradientTape() as tape:
        logits = tf.tensordot(features, W, axes=1)
        loss = -tf.reduce_mean(crf(logits, tags, lengths))
    variables = [W] + crf.trainable_variables
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients((g, v) for g, v in zip(grads, variables))
    if step % 2 == 0:
        print("step", step, "nll", loss.numpy(), "norm", tf.linalg.global_norm(grads).numpy())
path, best = crf.viterbi(tf.tensordot(features[0], W, 1))
print(path.numpy(), best.numpy(), tags[0])
print(tf.nn.softmax(crf.transitions).numpy())
