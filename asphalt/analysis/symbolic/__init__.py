"""Polynomials and integer sets: what can be computed about subscripts and bounds.

This is the only package that imports isl.  What a Fortran expression means belongs in ``names`` and
``memory``.
"""
