"""Formats of reports: text, drawings, timelines and diffs for people, JSON and SARIF.

The records themselves stand in ``diagnostics``; what is printed when, in ``cli``.
"""
