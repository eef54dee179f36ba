"""Runs programs on simulated clusters: calibrated costs, charged computation, times.

Models of machines and networks belong in ``machine``, estimates without a run in ``gain``.
"""
