"""TensorFlow 1 beside graphs and gradients: queues, hooks, slim, seq2seq, cells, layers, and the old metrics."""
