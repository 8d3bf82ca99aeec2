"""Ops that only TensorFlow programs need: strings, pictures, candidates, the losses of ``tf.losses``."""
