"""Python's operators and NumPy's functions on values: ``x + 1``, ``x[2:]``, ``np.sin(x)``."""
