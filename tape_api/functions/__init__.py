"""``tf.function``: how a function is recorded, and what runs in its place."""
