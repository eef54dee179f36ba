"""The number of operations of each class that Fortran executes: arithmetic, memory references,
calls.

Their cost on a machine belongs in ``machine``, the gain of overlap in ``gain``.
"""
