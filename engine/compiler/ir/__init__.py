"""Material of the compiler: instructions and what passes do to them, layouts, kernels, values as lowering sees them."""
