"""Polynomials and integer sets: what can be computed about subscripts and bounds.

The only package that knows isl.  What a Fortran expression means belongs in ``names`` and
``memory``.
"""
