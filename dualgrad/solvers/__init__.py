"""SciPy's solvers as differentiable functions: roots, minima, integrals, differential equations, splines."""
