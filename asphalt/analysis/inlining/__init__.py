"""Legality of inlining: whether the body of a procedure may replace a CALL, under which names.

The text that then stands in the caller is made in ``transforms.inlining``.
"""
