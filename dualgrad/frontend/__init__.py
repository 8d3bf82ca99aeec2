"""Code that `graph_api` and `tape_api` share: TensorFlow's names, arguments and operators, and NumPy's protocol.

In: the engine's functions. Out: public functions with TensorFlow's names and signatures. Keras (`keras/`),
``tf.data`` (`data/`), sparse tensors (`sparse/`) and logging, flags and files (`platform/`) are here too, once for
both.
"""
