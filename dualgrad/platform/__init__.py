"""Parts of TensorFlow's API beside tensors, for programs: logging, flags, mains, files, devices."""
