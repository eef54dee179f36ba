"""Procedures that exchange messages, expanded in place; calls for both directions opened.

Whether a call may be replaced belongs in ``analysis.inlining``.
"""
