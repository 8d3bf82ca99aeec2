"""What TensorFlow programs use beside gradients: distributions, sampled losses, CTC, modules, strings and pictures."""
