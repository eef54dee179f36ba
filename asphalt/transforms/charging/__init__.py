"""Instrumentation for simulated time: calls that charge the cost of a program's operations.

The charged cost is counted by ``analysis.cost``; runs belong in ``simulation``.
"""
