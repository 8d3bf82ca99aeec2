# Layers that draw inside a data set's function, before a model that draws as well.
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(8)
images = np.random.rand(24, 8, 8, 3).astype("float32")
marks = np.random.randint(0, 3, (24, 8, 8, 1))


class Together(layers.Layer):
    def __init__(self, seed):
        super().__init__()
        self.of_images = layers.RandomFlip("horizontal", seed=seed)
        self.of_marks = layers.RandomFlip("horizontal", seed=seed)

    def call(self, image, mark):
        return self.of_images(image), self.of_marks(mark)


def halved(image, mark):
    return tf.image.resize(image, [4, 4]), tf.image.resize(mark, [4, 4], method="nearest")


moved = layers.RandomTranslation(0.2, 0.2, seed=4)
source = tf.data.Dataset.from_tensor_slices((images, marks)).cache().shuffle(50).batch(4)
source = source.map(Together(42)).map(lambda x, y: (moved(x, training=True), y)).map(halved).repeat()
model = tf.keras.Sequential([layers.Input((4, 4, 3)), layers.SeparableConv2D(8, 3, padding="same", activation="relu"), layers.Dropout(0.3)])
model.add(layers.Conv2D(3, 1))
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
for epoch, value in enumerate(model.fit(source, epochs=10, steps_per_epoch=6, verbose=0).history["loss"]):
    print(epoch, round(value, 6))
