"""Updates of variables as parts of programs."""
