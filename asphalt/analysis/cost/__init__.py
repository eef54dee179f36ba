"""How many operations of each class Fortran executes: arithmetic, memory references, calls.

What they cost on a machine belongs in ``machine``, what overlap saves in ``gain``.
"""
