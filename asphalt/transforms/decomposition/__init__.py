"""A collective operation as messages for each block.

Exchanges that are computed tile by tile belong in ``prepush``.
"""
