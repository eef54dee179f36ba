"""Exchanges of all ranks in tiles (prepushing): one module for each shape of what a tile sends."""
