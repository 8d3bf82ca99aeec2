"""What runs need of the machine: the buffer pool, who owns which memory, caches.

In: sizes, arrays and keys. Out: buffers to write to, alias sets, what is kept to be used again.
"""
