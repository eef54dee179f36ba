"""The meaning of the same statements to fparser and fortls, compared with asphalt's own.

fparser is imported here only; fortls in ``source_tree.index``.
"""
