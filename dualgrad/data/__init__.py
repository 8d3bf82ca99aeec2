"""``tf.data`` for both front ends: pipelines of arrays, and what the modes add to them."""
