"""Parts of TensorFlow beside gradients: distributions, sampled losses, CTC, modules, strings and pictures."""
