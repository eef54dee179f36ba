"""Text to IR: lossless source, scan, preprocessing, statements, the index of the whole tree.

Names and types belong in ``analysis.names``.
"""
