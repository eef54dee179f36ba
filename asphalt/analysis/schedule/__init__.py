"""What every rank posts, sends and waits for, as a value, and the model checker for it.

This package knows numbers of ranks, tiles and blocks only, no Fortran and no source: ``tiling``
makes the plans.
"""
