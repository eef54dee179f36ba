"""Loop transformations: index-set splitting, peeling, fission, rotation, unrolling.

Loops that are cut into tiles together with their messages belong in ``tiling`` and ``prepush``.
"""
