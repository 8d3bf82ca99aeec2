"""Memory and caches for running programs: reusable buffers, which arrays share memory, results kept for later calls.

In: sizes, arrays and keys. Out: buffers to write to, alias sets, kept results.
"""
