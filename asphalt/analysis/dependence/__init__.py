"""Whether two statements or iterations may change places.

What each reads and writes comes from ``memory`` and ``effects``.
"""
