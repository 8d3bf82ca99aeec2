"""The ops, each with its kernel and all its rules."""
