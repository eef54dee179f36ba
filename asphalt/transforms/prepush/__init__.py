"""Prepushing of exchanges: one module for each shape of a tile's messages."""
