"""From split statements to the tree of program units and constructs.

What a single statement means belongs in ``statements``.
"""
