"""The mechanics of every transformation: edits, new statements, declarations, names and comments.

Whether an edit is legal is not decided here.
"""
