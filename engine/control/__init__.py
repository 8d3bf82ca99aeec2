"""Control flow as ops: `cond_op`, loops, and closed functions whose shapes become known only when they run."""
