"""Recurrent networks of TensorFlow 1: cells (``tf.nn.rnn_cell``), wrappers, and the loops that run them."""
