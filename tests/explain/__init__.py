"""`explain`: breakages with the reasons that must be found, and what surrounds it."""
