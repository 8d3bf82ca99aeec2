"""TensorFlow's files, read and written without TensorFlow: checkpoints, records, event files, protocol buffers.

Everything here works on bytes, Python data and NumPy arrays; nothing knows of graphs or tensors.
"""
