# tolerance: 1e-3
# TF2 logging: summary writers, steps, checkpoint managers, restore or initialize, preprocessing with tf.data.
import argparse
import datetime
import os

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3, help="Number of epochs.")
parser.add_argument("--learning_rate", type=float, default=0.05, help="Initial learning rate.")
parser.add_argument("--out_dir", default="logs", help="Where to write.")
parser.add_argument("--optimizer", default="momentum", choices=["adam", "momentum"], help="Which optimizer.")
parser.add_argument("--no_decay", dest="use_decay", action="store_false", help="Keep the rate as it is.")
FLAGS = parser.parse_args()


def parse(features, label):
    image = tf.cast(features, tf.float32) / 255.0
    image = tf.image.per_image_standardization(tf.reshape(image, [4, 4, 1]))
    return {"image": tf.reshape(image, [-1]), "index": tf.cast(label, tf.int32)}, tf.one_hot(label, 3)


def make_dataset(x, y, batch_size):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE).filter(lambda f, l: tf.reduce_any(f["image"] != 0.0))
    return ds.cache().shuffle(1).batch(batch_size, drop_remainder=False).prefetch(tf.data.experimental.AUTOTUNE)


class Classifier(tf.keras.Model):
    def __init__(self, hidden, classes, rng):
        super().__init__(name="classifier")
        init = lambda s: tf.keras.initializers.Constant(0.3 * rng.randn(*s))
        self.flatten = tf.keras.layers.Flatten()
        self.d1 = tf.keras.layers.Dense(
            hidden,
            activation=tf.nn.relu,
            kernel_initializer=init((16, hidden)),
            kernel_regularizer=tf.keras.regularizers.L1L2(l1=1e-4, l2=1e-3),
        )
        self.d2 = tf.keras.layers.Dense(classes, kernel_initializer=init((hidden, classes)), name="logits")

    def call(self, inputs, training=False):
        return self.d2(self.d1(self.flatten(inputs["image"])))


def main():
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, 90)
    x = np.clip(60 * rng.rand(90, 16) + 40 * (np.arange(16) % 3 == y[:, None]) + 50, 0, 255).astype(np.uint8)
    train, test = make_dataset(x[:70], y[:70], 16), make_dataset(x[70:], y[70:], 20)
    print(train.element_spec[1].shape, int(tf.data.experimental.cardinality(test)))
    model = Classifier(10, 3, rng)
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(
        FLAGS.learning_rate, decay_steps=5, decay_rate=0.9, staircase=True
    )
    lr = schedule if FLAGS.use_decay else FLAGS.learning_rate
    optimizer = {"adam": tf.keras.optimizers.Adam, "momentum": momentum}[FLAGS.optimizer](lr)
    step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    ckpt = tf.train.Checkpoint(step=step, optimizer=optimizer, net=model)
    manager = tf.train.CheckpointManager(ckpt, os.path.join(FLAGS.out_dir, "ckpts"), max_to_keep=2)
    ckpt.restore(manager.latest_checkpoint)
    print("Restored" if manager.latest_checkpoint else "Initializing from scratch.")
    train_loss = tf.keras.metrics.Mean("train_loss", dtype=tf.float32)
    test_accuracy = tf.keras.metrics.CategoricalAccuracy("test_accuracy")
    precision = tf.keras.metrics.Precision(class_id=1)
    auc = tf.keras.metrics.AUC(num_thresholds=50, multi_label=False)
    current = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    writer = tf.summary.create_file_writer(os.path.join(FLAGS.out_dir, current, "train"))

    @tf.function
    def train_step(features, labels):
        with tf.GradientTape() as tape:
            logits = model(features, training=True)
            loss = tf.reduce_mean(
                tf.keras.losses.categorical_crossentropy(labels, logits, from_logits=True, label_smoothing=0.1)
            )
            total = loss + tf.add_n(model.losses)
        gradients = tape.gradient(total, model.trainable_variables)
        gradients = [tf.clip_by_norm(g, 2.0) for g in gradients]
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        train_loss.update_state(loss)
        step.assign_add(1)
        return total

    for epoch in range(FLAGS.epochs):
        for features, labels in train:
            total = train_step(features, labels)
            if int(step) % 2 == 0:
                with writer.as_default(step=step):
                    tf.summary.scalar("total", total)
                    tf.summary.histogram("weights/d1", model.d1.kernel)
        for features, labels in test:
            predictions = tf.nn.softmax(model(features))
            test_accuracy(labels, predictions)
            precision.update_state(labels, predictions)
            auc.update_state(labels, predictions)
        with writer.as_default():
            tf.summary.scalar("accuracy", test_accuracy.result(), step=epoch)
            tf.summary.image("first", tf.reshape(features["image"][:2], [-1, 4, 4, 1]), step=epoch, max_outputs=1)
            tf.summary.text("note", tf.constant("epoch %d" % epoch), step=epoch)
        path = manager.save(checkpoint_number=epoch)
        template = "Epoch {}, Loss: {:.4f}, Test: {:.2f}, Precision: {:.4f}, AUC: {:.4f}, rate {:.5f}"
        print(
            template.format(
                epoch + 1,
                train_loss.result(),
                test_accuracy.result() * 100,
                precision.result(),
                auc.result(),
                float(schedule(optimizer.iterations)),
            )
        )
        train_loss.reset_state(), test_accuracy.reset_state(), precision.reset_state(), auc.reset_state()
    print([os.path.basename(p) for p in manager.checkpoints], os.path.basename(path))
    writer.flush()
    writer.close()
    folder = os.path.join(FLAGS.out_dir, current, "train")
    tags = {}
    for name in os.listdir(folder):
        for event in tf.compat.v1.train.summary_iterator(os.path.join(folder, name)):
            for value in event.summary.value:
                tags.setdefault(value.tag, []).append(event.step)
                if value.tag == "accuracy":
                    print(event.step, float(tf.make_ndarray(value.tensor)))
    print(sorted(tags.items()))
    variables = tf.train.list_variables(manager.latest_checkpoint)
    print(len(variables) > 5, ("step/.ATTRIBUTES/VARIABLE_VALUE", []) in variables)
    new_step = tf.Variable(0, dtype=tf.int64)
    tf.train.Checkpoint(step=new_step).restore(manager.latest_checkpoint).expect_partial()
    print(int(new_step))


def momentum(lr):
    return tf.keras.optimizers.SGD(lr, momentum=0.9, nesterov=True)


if __name__ == "__main__":
    main()
