"""Storage: what each statement or nest reads and writes, as array regions; shapes, values, aliases.

What a called procedure does to it belongs in ``effects``.
"""
