"""What the compiler works on: instructions, layouts of operands, kernels, and values as lowering sees them."""
