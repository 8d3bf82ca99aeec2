"""Names of TensorFlow 1 in its eager mode."""
