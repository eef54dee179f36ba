"""The ``!$asphalt`` directives of a source, and the assumptions that they accept.

What a directive changes is decided where its fact is used.
"""
