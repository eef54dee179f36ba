"""Whether two statements or iterations can be reordered.

Their accesses come from ``memory`` and ``effects``.
"""
