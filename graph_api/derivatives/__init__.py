"""Gradients, Jacobians and Hessians as tensors of a graph, and functions for SciPy's solvers."""
