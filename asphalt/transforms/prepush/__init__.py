"""Prepushing of exchanges: one module for each shape of a tile's messages.

The geometry of a tile belongs in ``analysis.tiling``, its legality in ``analysis.conditions``.
"""
