"""What both front ends need of TensorFlow's surface: names, spellings of arguments, operators, NumPy's protocol.

In: the engine's functions. Out: public functions with TensorFlow's names and signatures.
"""
