"""``tf.linalg.LinearOperator*`` for both front ends."""
