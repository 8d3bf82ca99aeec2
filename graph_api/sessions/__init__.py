"""Sessions: what they run, and what they keep between runs."""
