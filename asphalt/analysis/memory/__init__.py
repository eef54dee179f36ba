"""Array regions that statements and nests read and write; shapes, values and aliases of variables.

The effects of called procedures belong in ``effects``.
"""
