"""SciPy's solvers as functions that can be differentiated: roots, minima, integrals, differential equations, splines."""
