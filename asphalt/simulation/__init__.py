"""Runs programs on simulated clusters: calibrated costs, charged computation, times."""
