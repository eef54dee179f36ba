"""The analytic performance model: what a unit costs on a network before and after a step.

Running programs on a simulated network belongs in ``simulation``.
"""
