"""Who calls whom with which arguments, and under which conditions a statement is reached.

What a call does to its caller belongs in ``effects``, generic resolution in ``names``.
"""
