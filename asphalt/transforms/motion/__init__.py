"""Overlap windows, and code motion into them.

Whether two statements may change places belongs in ``analysis.dependence``.
"""
