"""What every rank posts, sends and waits for, as a value, and the model checker for it.

It knows numbers of ranks, tiles and blocks only: no Fortran, no source (``tiling`` makes plans
from that).
"""
