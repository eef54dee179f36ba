"""The control-flow graph of a program unit: dominance, paths, exits of loops and constructs.

What a statement reads or writes belongs in ``memory`` and ``data_flow``.
"""
