"""Random numbers: what programs draw with seeds, beside what TensorFlow draws."""
