"""Mechanics of transformations: edits, new statements, declarations, names and comments.

The legality of an edit is decided elsewhere.
"""
