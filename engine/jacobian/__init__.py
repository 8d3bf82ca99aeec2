"""Jacobians: planned once, sparse where they are, computed in as few sweeps as their structure allows."""
