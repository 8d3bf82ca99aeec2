"""Material of the compiler: instructions, layouts of operands, kernels, and values as lowering sees them."""
