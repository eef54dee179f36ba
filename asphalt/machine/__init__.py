"""Models of machines: what operations cost, networks, and the platform files of SimGrid.

How often a program executes an operation belongs in ``analysis.cost``.
"""
