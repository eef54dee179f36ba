"""The eleven legality conditions of prepushing, a module each with its codes, and their judge.

What they ask about (regions, effects, messages) is answered by the packages below.  Conditions of
single transformations stand with these, in ``transforms``.
"""
