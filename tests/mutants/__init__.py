"""Known ways to break the code, and the tests that notice each. ``python -m tests.mutants`` tries them."""
