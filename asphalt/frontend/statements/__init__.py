"""What each statement means: a logical line of Fortran to a ``What`` of the IR.

Nesting and units belong in ``structure``, meanings of names in ``analysis.names``.
"""
