"""The distributions of `scipy.stats` on values: densities and distribution functions, of arguments and parameters."""
