"""Writing: whole trees or in place, every file either old or new, nobody else's file lost.

The text of a file is made in ``unparse``.
"""
