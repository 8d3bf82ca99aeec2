"""Parts of TensorFlow beside gradients: distributions, sampled losses, modules, strings and pictures."""
