"""SciPy's solvers inside derivatives."""
