"""Ops that only TensorFlow programs need: strings, pictures, CTC, candidates, the losses of ``tf.losses``."""
